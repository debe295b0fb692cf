/**
 * Reads a file for import: an archive of Colloquy; a list of messages with roles, bare or inside a document; a session
 * of Claude Code, Codex, pi or opencode. Pure: everything is parsed before anything is written.
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
  /** Entries that should be messages and are not, with position and reason. */
  problems: readonly string[]
  /** Number of messages on abandoned lines: retries and sub-agents. */
  aside: number
  /** Set for an archive of Colloquy, which can be restored as it was. */
  archive?: ArchiveHeading
  /** True for issues of beads, which are work items and hold no messages. */
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

/** Adds the tool's name to a result, taken from its call. */
function named(part: Part, names: ReadonlyMap<string, string>): Part {
  if (part.type !== 'tool-result' || part.name !== undefined) return part
  const name = names.get(part.callId)
  return name === undefined ? part : { ...part, name }
}

/** The session's title; the latest one wins. */
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
