/** A part of a message as text, for where no provider's own form of it fits. */
import type { Part } from '../events/part.ts'
import { oneLine } from './fence.ts'

export function partText(part: Part): string {
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
      return `[file ${oneLine(part.name)}]${part.text === undefined ? '' : `\n${part.text}`}`
    default:
      return part satisfies never
  }
}

export function partsText(parts: readonly Part[]): string {
  return parts
    .map(partText)
    .filter(text => text !== '')
    .join('\n')
}
