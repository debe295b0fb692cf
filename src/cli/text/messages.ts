/** A message as a person reads it: who to whom, when, and what was said; calls and results of tools on a line each. */
import type { Message, Part } from '../../index.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { columns, style } from '../terminal/terminal.ts'
import { cut, wrap } from '../terminal/text-width.ts'
import { localTime } from './format.ts'

const indent = '  '
/** A message longer than this is cut unless all of it is asked for. */
const mostLines = 20
const mostCharacters = 8_000
/** Room for a folded part where nothing else limits it. */
const foldedWidth = 160

export function messageLines(message: Message, { whole = false } = {}): string[] {
  return [heading(message), ...body(message, whole).map(line => (line === '' ? '' : indent + line))]
}

function heading(message: Message): string {
  const { version, timestamp, role, internal, pinned, missing } = message
  const remarks = [
    message.author === role || missing ? undefined : role,
    localTime(timestamp),
    internal && 'internal',
    pinned && 'pinned',
    message.replyTo && `reply to ${safeLine(message.replyTo)}`,
    message.id && safeLine(message.id),
  ]
  const who = missing ? style.dim('?') : style.bold(whoToWhom(message))
  return `${style.cyan(`#${version}`)}  ${who}  ${style.dim(remarks.filter(Boolean).join(' · '))}`
}

export function whoToWhom({
  author,
  addressees,
  audience,
}: Pick<Message, 'author' | 'addressees' | 'audience'>): string {
  const named = addressees?.length ? addressees : audience.to === 'agents' ? audience.agents : []
  return safeLine(named.length > 0 ? `${author} → ${named.join(', ')}` : author)
}

function body(message: Message, whole: boolean): string[] {
  if (message.missing) {
    const { because, reason } = message.missing
    if (because === 'damaged') return [style.red(`(damaged: ${safeLine(reason)})`)]
    return [style.dim(because === 'erased' ? '(erased)' : `(not known to this version: ${safeLine(reason)})`)]
  }
  const room = columns() - indent.length
  return message.parts.flatMap(part =>
    part.type === 'text'
      ? textLines(part.text, room, whole)
      : [style.dim(cut(foldedPart(part), Math.min(room, foldedWidth)))],
  )
}

function textLines(text: string, room: number, whole: boolean): string[] {
  if (whole) return wrap(safeText(text), room)
  const lines = wrap(safeText(text.slice(0, mostCharacters)).trimEnd(), room)
  if (lines.length <= mostLines && text.length <= mostCharacters) return lines
  const more = `… ${text.length.toLocaleString('en')} characters in all; --full shows them`
  return [...lines.slice(0, mostLines), style.dim(more)]
}

/** A part on one line. */
export function foldedPart(part: Part): string {
  switch (part.type) {
    case 'text':
      return safeLine(part.text.slice(0, mostCharacters))
    case 'tool-call':
      return safeLine(`[call ${part.name} ${brief(part.input)}]`)
    case 'tool-result':
      return safeLine(
        `[${part.isError ? 'failure' : 'result'}${part.name ? ` ${part.name}` : ''} ${brief(part.output)}]`,
      )
    case 'reasoning':
      return safeLine(`[reasoning ${part.text.slice(0, mostCharacters)}]`)
    case 'file':
      return safeLine(`[file ${part.name}${(part.path ?? part.url) ? ` ${part.path ?? part.url}` : ''}]`)
  }
}

/** A message on one line. */
export function foldedMessage(message: Pick<Message, 'author' | 'addressees' | 'audience' | 'parts'>): string {
  return `${whoToWhom(message)}: ${message.parts.map(foldedPart).join(' ')}`
}

function brief(value: unknown): string {
  return cut(
    safeLine((typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, mostCharacters)),
    foldedWidth,
  )
}
