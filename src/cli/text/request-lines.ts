/** A request as a person reads it: names at the margin and texts indented, or the two prompts with a rule between. */
import type { AgentRequest, RequestPart } from '../../index.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { columns, style } from '../terminal/terminal.ts'

const indent = '  '

/** Names at the margin and texts indented, so that no text passes for the start of another message. */
export function requestLines({ system, messages }: Pick<AgentRequest, 'system' | 'messages'>): string[] {
  return [
    style.bold('system'),
    ...indented(system),
    ...messages.flatMap(({ role, content }) => [
      '',
      style.bold(role),
      ...content.flatMap(part => partLines(part, { isNamed: content.length > 1 || part.type !== 'text' })),
    ]),
  ]
}

export function promptText({ systemPrompt, userPrompt }: Pick<AgentRequest, 'systemPrompt' | 'userPrompt'>): string {
  return `${safeText(systemPrompt)}\n\n${rule()}\n\n${safeText(userPrompt)}\n`
}

function rule(): string {
  return style.dim('─'.repeat(Math.min(columns(), 80)))
}

function partLines(part: RequestPart, { isNamed }: { isNamed: boolean }): string[] {
  const { name, text } = described(part)
  return [...(isNamed ? [style.cyan(` ${safeLine(name)}`)] : []), ...indented(text)]
}

function described(part: RequestPart): { name: string; text: string } {
  switch (part.type) {
    case 'text':
      return { name: 'text', text: part.text }
    case 'reasoning':
      return { name: 'reasoning', text: part.text }
    case 'image':
      return { name: `image ${part.name}`, text: part.path ?? part.mediaType }
    case 'tool-call':
      return { name: `call ${part.name} (${part.callId})`, text: JSON.stringify(part.input) ?? '' }
    case 'tool-result': {
      const name = part.name === undefined ? '' : ` ${part.name}`
      return { name: `${part.isError ? 'failure' : 'result'}${name} (${part.callId})`, text: part.text }
    }
  }
}

function indented(text: string): string[] {
  return safeText(text)
    .split('\n')
    .map(line => (line === '' ? '' : indent + line))
}
