/**
 * A file that somebody brings along: an archive of ours; a list of messages with roles, bare or in a document, as APIs
 * and the seeds' systems have them; a session of Claude Code, Codex, pi or opencode. Pure: all of it is read and
 * understood before anything is written.
 */
import type { Part } from 'colloquy/client'
import { firstWords } from '../../../format.ts'
import { type ArchiveHeading, archivedMessages, headingIn } from './archive-lines.ts'
import { type Entry, entriesOf, textIn } from './entries.ts'
import { messageOf, type ReadMessage } from './message-of.ts'
import { threadOf } from './thread.ts'

export interface ReadFile {
  title: string | undefined
  messages: readonly ReadMessage[]
  /** Entries that should be messages and are none, with the reason, by their places. */
  problems: readonly string[]
  /** Messages on lines that were left: another try, an agent aside. */
  aside: number
  /** It is an archive of ours: it can be brought back as it was. */
  archive?: ArchiveHeading
  /** Issues of beads: work, and no messages. */
  isBeads?: boolean
}

/** @throws {SyntaxError} naming the line that cannot be read */
export function readFile(text: string): ReadFile {
  const { list, title, odd } = entriesOf(text)
  const archive = headingIn(list)
  if (archive) {
    const archived = archivedMessages(list)
    return { ...readEntries(archived.entries), title: archived.title, aside: 0, archive }
  }
  const thread = threadOf(list)
  const { messages, problems } = readEntries(thread?.entries ?? list)
  return {
    title: title ?? titleIn(list) ?? openingOf(messages),
    messages,
    problems: [...odd.map(place => `${place}: it is no object`), ...problems],
    aside: thread?.aside ?? 0,
    ...(list.some(({ fields }) => fields.issue_type !== undefined && fields.status !== undefined) && { isBeads: true }),
  }
}

function readEntries(entries: readonly Entry[]): { messages: ReadMessage[]; problems: string[] } {
  const messages: ReadMessage[] = []
  const problems: string[] = []
  const names = new Map<string, string>()
  for (const { place, fields } of entries) {
    const read = messageOf(fields)
    if (read === 'other') continue
    if ('problem' in read) {
      problems.push(`${place}: ${read.problem}`)
      continue
    }
    for (const part of read.parts) if (part.type === 'tool-call') names.set(part.callId, part.name)
    messages.push({ ...read, parts: read.parts.map(part => named(part, names)) })
  }
  return { messages, problems }
}

/** A result says which tool it is of, as its call does. */
function named(part: Part, names: ReadonlyMap<string, string>): Part {
  if (part.type !== 'tool-result' || part.name !== undefined) return part
  const name = names.get(part.callId)
  return name === undefined ? part : { ...part, name }
}

/** What a session was called, the latest name first. */
function titleIn(list: readonly Entry[]): string | undefined {
  const found = list.map(({ fields }) =>
    ['custom-title', 'ai-title', 'summary', 'session_info'].includes(String(fields.type))
      ? textIn(fields, 'customTitle', 'title', 'aiTitle', 'summary', 'name')
      : undefined,
  )
  return found.findLast(title => title !== undefined)
}

function openingOf(messages: readonly ReadMessage[]): string | undefined {
  for (const { role, parts } of messages) {
    const [text] = parts.flatMap(part => (part.type === 'text' && !part.text.startsWith('<') ? [part.text] : []))
    if (role === 'user' && text !== undefined) return firstWords(text, 60)
  }
  return undefined
}
