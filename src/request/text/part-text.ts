/** A part of a message as text, for where no provider's own form of it fits. */
import type { FilePart, Part } from '../../log/events/part.ts'
import { whereOf } from './images.ts'
import { oneLine } from './quote-untrusted.ts'

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'reasoning':
      return ''
    case 'tool-call':
      return `[call ${oneLine(part.name)} ${oneLine(part.callId)}] ${JSON.stringify(part.input)}`
    case 'tool-result': {
      const output = typeof part.output === 'string' ? part.output : JSON.stringify(part.output)
      return `[result ${oneLine(part.callId)}${part.isError ? ' error' : ''}] ${output}`
    }
    case 'file':
      return fileText(part)
    default:
      return part satisfies never
  }
}

export function fileText(part: FilePart): string {
  const where = whereOf(part)
  const head = `[file ${oneLine(part.name)}${where ? ` at ${oneLine(where, 200)}` : ''}]`
  return part.text === undefined ? head : `${head}\n${part.text}`
}

export function partsText(parts: readonly Part[]): string {
  return parts
    .map(partText)
    .filter(text => text !== '')
    .join('\n\n')
}
