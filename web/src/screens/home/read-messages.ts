/**
 * Messages out of a file that somebody brings along: a session of seed 000 or 002, a bare list of messages, JSON lines of
 * either, or the lines of our own export. Pure; what is no message is left out and counted.
 */

export interface ReadMessage {
  role: 'user' | 'assistant' | 'system'
  content: string
  author?: string
}

export interface ReadFile {
  title: string | undefined
  messages: readonly ReadMessage[]
  /** Entries that are no messages. */
  left: number
}

/** @throws {SyntaxError} when the text is neither JSON nor lines of it */
export function readMessages(text: string): ReadFile {
  const entries = entriesOf(text.replace(/^\uFEFF/, '').trim())
  const messages = entries.list.map(messageOf)
  const found = messages.filter(message => message !== undefined)
  return { title: entries.title, messages: found, left: messages.length - found.length }
}

type Fields = Record<string, unknown>

function entriesOf(text: string): { list: readonly unknown[]; title: string | undefined } {
  let whole: unknown
  try {
    whole = JSON.parse(text)
  } catch {
    return {
      list: text
        .split('\n')
        .filter(line => line.trim() !== '')
        .map(parseLine),
      title: undefined,
    }
  }
  if (Array.isArray(whole)) return { list: whole, title: undefined }
  const fields = isFields(whole) ? whole : {}
  const list = [fields.messages, fields.entries, fields.history].find(Array.isArray)
  const title = [fields.title, fields.name, fields.id].find(value => typeof value === 'string') as string | undefined
  return { list: (list as unknown[] | undefined) ?? [whole], title }
}

function parseLine(line: string, index: number): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new SyntaxError(`Line ${index + 1} is no JSON.`)
  }
}

function messageOf(entry: unknown): ReadMessage | undefined {
  if (!isFields(entry)) return undefined
  // A line of our export has the fact inside; one of Claude Code has a message inside.
  const inner = isFields(entry.event) ? entry.event : isFields(entry.message) ? entry.message : entry
  const { role } = inner
  if (role !== 'user' && role !== 'assistant' && role !== 'system') return undefined
  const content = contentOf(inner.content ?? inner.parts ?? inner.text)
  if (content === '') return undefined
  return { role, content, ...(typeof inner.author === 'string' && { author: inner.author }) }
}

function contentOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  return value
    .flatMap(part =>
      isFields(part) && typeof part.text === 'string' ? [part.text] : typeof part === 'string' ? [part] : [],
    )
    .join('\n\n')
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
