/** Reads the lines of an exported archive. Pure; the server verifies that it is whole. */
import type { Part } from 'colloquy/client'
import { type Entry, type Fields, isFields, textIn } from './entries.ts'

export interface ArchiveHeading {
  project: string
  conversationId: string
}

export function headingIn(list: readonly Entry[]): ArchiveHeading | undefined {
  const { colloquy, project, conversationId } = list[0]?.fields ?? {}
  if (colloquy !== 'archive' || typeof project !== 'string' || typeof conversationId !== 'string') return undefined
  return { project, conversationId }
}

/** Returns the messages of an archive; other facts are left out. */
export function archivedMessages(list: readonly Entry[]): { title: string | undefined; entries: Entry[] } {
  const blobs = new Map<string, unknown>()
  const entries: Entry[] = []
  let title: string | undefined
  for (const { place, fields } of list) {
    if (typeof fields.blob === 'string' && typeof fields.json === 'string') blobs.set(fields.blob, parsed(fields.json))
    const body = typeof fields.body === 'string' ? parsed(fields.body) : undefined
    if (!isFields(body)) continue
    if (String(fields.type).startsWith('conversation.')) title = textIn(body, 'title') ?? title
    if (fields.type !== 'message.added') continue
    const at = typeof fields.at === 'number' ? { timestamp: fields.at } : {}
    entries.push({
      place,
      fields: { ...body, parts: undefined, text: undefined, content: contentOf(body, blobs), ...at },
    })
  }
  return { title, entries }
}

function contentOf(body: Fields, blobs: ReadonlyMap<string, unknown>): unknown {
  const parts = (Array.isArray(body.parts) ? [...body.parts] : []) as Part[]
  for (const use of Array.isArray(body.blobs) ? body.blobs : []) {
    const [index, field, digest] = use as [number, string, string]
    const part = parts[index]
    if (part) parts[index] = { ...part, [field]: blobs.get(digest) } as Part
  }
  return parts.length > 0 ? parts : body.text
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
