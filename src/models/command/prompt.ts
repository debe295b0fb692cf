/**
 * A request as one text, for programs that read a prompt without roles.
 *
 * Messages are quoted in fences that they cannot close. The message to answer comes last, unquoted.
 */

import type { RequestMessage, RequestPart } from '../../request/text/provider-message.ts'
import { fence, oneLine } from '../../request/text/quote-untrusted.ts'
import type { ModelRequest } from '../model.ts'

export function promptText({ system, messages }: Pick<ModelRequest, 'system' | 'messages'>): string {
  const last = messages.at(-1)
  const endsWithUser =
    last?.role === 'user' && last.content.every(part => part.type === 'text' || part.type === 'image')
  const history = endsWithUser ? messages.slice(0, -1) : messages
  const earlier = history.map((message, index) => fence(textOf(message), `prompt ${index}`, message.role))
  return [
    system,
    earlier.length === 0 ? '' : `# Conversation so far\n\n${earlier.join('\n')}`,
    endsWithUser ? `${earlier.length === 0 ? '' : '# Answer this\n\n'}${textOf(last)}` : 'Continue from here.',
  ]
    .filter(piece => piece !== '')
    .join('\n\n')
}

function textOf({ content }: RequestMessage): string {
  return content
    .map(partText)
    .filter(piece => piece !== '')
    .join('\n\n')
}

function partText(part: RequestPart): string {
  switch (part.type) {
    case 'text':
      return part.text
    // The text names the image.
    case 'image':
    case 'reasoning':
      return ''
    case 'tool-call':
      return `[call ${oneLine(part.name)} ${oneLine(part.callId)}] ${JSON.stringify(part.input)}`
    case 'tool-result':
      return `[result ${oneLine(part.callId)}${part.isError ? ' error' : ''}] ${part.text}`
    default:
      return part satisfies never
  }
}
