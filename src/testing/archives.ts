/** Places for archives, in memory and failing, and archives as another program would write them. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { ArchivePlace } from '../log/archive-place.ts'
import { linesOf } from './builders.ts'

/** Keeps what is written, for the test to read back or look into. */
export function memoryArchives(): ArchivePlace & { files: Map<string, string[]> } {
  const files = new Map<string, string[]>()
  return {
    files,
    async write(name, lines) {
      const address = `memory:${name}:${randomUUID()}`
      files.set(address, await linesOf(lines))
      return address
    },
    async remove(address) {
      files.delete(address)
    },
    async *read(address) {
      yield* files.get(address) ?? []
    },
  }
}

/** Fails, as a full disk does, after it took `lines` lines. */
export function failingArchives(linesTaken: number): ArchivePlace {
  return {
    async write(_name, lines) {
      let lineCount = 0
      for await (const _ of lines) if (lineCount++ === linesTaken) break
      throw new Error('no room for archives')
    },
    async remove() {},
    async *read() {
      yield* []
    },
  }
}

interface WrittenEvent {
  type: string
  schema: number
  body: unknown
  messageId?: string
  lane?: { audienceKey: string; audience: unknown; kind: string }
  adds?: { messages: number; tokens: number; input: number; output: number }
}

/**
 * The lines of an archive with exactly these events, whatever their types, as a newer program might have written it.
 * The chain is computed here once more, from its description, so that it cannot change unnoticed.
 */
export function archiveLines(place: { project: string; conversationId: string }, events: WrittenEvent[]): string[] {
  let hash = sha256(JSON.stringify(['colloquy', 1, place.project, place.conversationId]))
  const lines = [JSON.stringify({ colloquy: 'archive', format: 1, ...place, events: events.length })]
  for (const [index, { type, schema, body: content, messageId, lane, adds }] of events.entries()) {
    const [version, at, actor, channel] = [index + 1, Date.parse('2026-01-01T12:00:00Z'), 'holder', 'test']
    const salt = randomBytes(16)
    const body = JSON.stringify(content)
    const digest = sha256(salt, body)
    const laneText = lane ? [lane.audienceKey, lane.kind] : null
    const sums = adds ? [adds.messages, adds.tokens, adds.input, adds.output] : null
    const header = [version, type, schema, at, actor, channel, null, messageId ?? null, laneText, sums]
    hash = sha256(hash, JSON.stringify(header), digest)
    const event = { version, type, schema, at, actor, channel, messageId, lane, adds, body }
    const proof = { salt: salt.toString('base64'), digest: digest.toString('base64'), hash: hash.toString('base64') }
    lines.push(JSON.stringify({ ...event, ...proof }))
  }
  lines.push(JSON.stringify({ end: true, events: events.length, hash: hash.toString('base64') }))
  return lines
}

function sha256(...parts: Array<string | Uint8Array>): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
