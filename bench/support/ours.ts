/** Stores of ours with a history in them, built fast and then opened as users open them. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { type Colloquy, type OpenOptions, openColloquy } from 'colloquy'
import { messageBytes, messages } from './text.ts'

export type Tokens = 'exact' | 'fast'

export function openAt(path: string, options: OpenOptions = {}): Promise<Colloquy> {
  return openColloquy({ store: `sqlite:${path}`, project: 'bench', sweepEveryMs: null, ...options })
}

export async function newSession(colloquy: Colloquy, name: string): Promise<string> {
  const session = await colloquy.sessions.createSession({ type: 'feature', agentType: 'dev', featureId: name })
  return session.id
}

/** More at once would only wait: the largest group of one commit. */
const atOnce = 256

export async function addAll(colloquy: Colloquy, sessionId: string, texts: Iterable<string>): Promise<void> {
  let pending: Array<Promise<unknown>> = []
  for (const content of texts) {
    pending.push(colloquy.sessions.addMessage(sessionId, { role: 'user', content }))
    if (pending.length < atOnce) continue
    await Promise.all(pending)
    pending = []
  }
  await Promise.all(pending)
}

/** Resolves when the full-text index has taken in everything written before. */
export async function caughtUp(colloquy: Colloquy): Promise<void> {
  await colloquy.conversations.search({ text: 'zebra', limit: 1 })
}

/** A file with one session of so many messages, closed again. */
export async function buildHistory(
  path: string,
  size: number,
  seed: number,
): Promise<{ path: string; session: string }> {
  const colloquy = await openAt(path, { tokens: 'fast', durability: 'relaxed' })
  const session = await newSession(colloquy, 'history')
  const next = messages(seed)
  await addAll(
    colloquy,
    session,
    (function* () {
      for (let i = 0; i < size; i++) yield next()
    })(),
  )
  await colloquy.close()
  return { path, session }
}

/** A copy of a closed store: the log alone; its index is built again from it. */
export function copyStore(from: string, folder: string): string {
  const to = join(folder, 'copy.db')
  checkpoint(from)
  copyFileSync(from, to)
  return to
}

/** Moves the write-ahead log into the file: the driver closes a file only when it is collected. */
export function checkpoint(path: string): void {
  const database = new DatabaseSync(path)
  try {
    database.exec('pragma wal_checkpoint(truncate)')
  } finally {
    database.close()
  }
}

/**
 * Bytes that the baseline's rows carry after the text, so that they are as large as ours: the JSON of our body, our
 * salt, digest and hash.
 */
export function paddingLike(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const { bytes } = database
      .prepare(
        `select avg(octet_length(body) + octet_length(salt) + octet_length(digest) + octet_length(hash)) as bytes
         from (select * from events where type = 'message.added' order by position desc limit 100)`,
      )
      .get() as { bytes: number }
    return '0123456789abcdef'.repeat(64).slice(0, Math.max(0, Math.round(bytes) - messageBytes))
  } finally {
    database.close()
  }
}
