/**
 * Tokens: the owner's in a file of its own, made on first start, and further ones with a project and a scope in a
 * book that holds digests only. Both files are readable by their owner alone.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { ServerRefused } from '../../errors.ts'
import { Id } from '../../log/events/id.ts'
import type { Principal, TokenScope } from './principal.ts'

/** The least length of a token on an address that others can reach: it cannot be guessed. */
export const longEnough = 32

export function newToken(): string {
  return `clq_${randomBytes(32).toString('base64url')}`
}

/** Returns the file of the owner's token: in the folder of the store, or else in the project's own. */
export function tokenPlace(store: string, root: string): string {
  const path = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : ''
  return join(path === '' || path === ':memory:' ? join(root, '.colloquy') : dirname(resolve(path)), 'token')
}

/** Reads the owner's token, or makes one if there is none. */
export function ownersToken(file: string): string {
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    // `wx`: of two processes that start first at once, one makes the token and the other reads it.
    try {
      writeFileSync(file, `${newToken()}\n`, { mode: 0o600, flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
  const token = readFileSync(file, 'utf8').trim()
  if (token.length < 16)
    throw new ServerRefused(`The token in ${file} is too short. Remove the file: a new one is made.`)
  return token
}

const BookEntry = z.strictObject({
  id: z.string(),
  name: Id,
  digest: z.string(),
  scope: z.enum(['read', 'write', 'admin']),
  projects: z.union([z.literal('all'), z.array(Id)]),
  createdAt: z.string(),
  revokedAt: z.string().optional(),
})
export type BookEntry = z.infer<typeof BookEntry>

export interface TokenBook {
  list(): BookEntry[]
  /** Returns the token this once; it is stored nowhere. */
  add(entry: { name: string; scope: TokenScope; projects: 'all' | string[] }): { token: string; entry: BookEntry }
  /** Returns false when no valid token has this id or name. */
  revoke(idOrName: string): boolean
}

/** Opens the book next to a token file. It is read again when the file has changed, so revoking works at once. */
export function tokenBook(tokenFile: string, clock: () => number = Date.now): TokenBook {
  const file = join(dirname(tokenFile), 'tokens.json')
  let read: { stamp: string; entries: BookEntry[] } | undefined

  function list(): BookEntry[] {
    const stats = statSync(file, { throwIfNoEntry: false })
    if (!stats) return []
    const stamp = `${stats.mtimeMs} ${stats.size} ${stats.ino}`
    if (read?.stamp !== stamp) {
      try {
        read = { stamp, entries: z.array(BookEntry).parse(JSON.parse(readFileSync(file, 'utf8'))) }
      } catch {
        // A damaged book lets no token in.
        read = { stamp, entries: [] }
      }
    }
    return read.entries
  }

  function write(entries: BookEntry[]): void {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const half = `${file}.${randomBytes(4).toString('hex')}`
    writeFileSync(half, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600 })
    renameSync(half, file)
  }

  return {
    list,
    add({ name, scope, projects }) {
      const token = newToken()
      const entry = {
        id: randomBytes(6).toString('hex'),
        name,
        digest: digestOf(token).toString('base64url'),
        scope,
        projects,
        createdAt: new Date(clock()).toISOString(),
      }
      write([...list(), BookEntry.parse(entry)])
      return { token, entry }
    },
    revoke(idOrName) {
      const entries = list()
      const isMeant = (entry: BookEntry) =>
        entry.revokedAt === undefined && (entry.id === idOrName || entry.name === idOrName)
      if (!entries.some(isMeant)) return false
      const revokedAt = new Date(clock()).toISOString()
      write(entries.map(entry => (isMeant(entry) ? { ...entry, revokedAt } : entry)))
      return true
    },
  }
}

/** Returns the holder of a token. Digests of equal length are compared, in constant time. */
export function whoHolds(
  token: string,
  owner: { digest: Uint8Array; name: string },
  book?: TokenBook,
): Principal | undefined {
  const shown = digestOf(token)
  if (timingSafeEqual(shown, owner.digest)) {
    return { name: owner.name, scope: 'admin', projects: 'all', by: 'token' }
  }
  for (const { digest, name, scope, projects, revokedAt } of book?.list() ?? []) {
    const known = Buffer.from(digest, 'base64url')
    if (known.length !== shown.length || !timingSafeEqual(shown, known) || revokedAt !== undefined) continue
    return { name, scope, projects, by: 'token' }
  }
  return undefined
}

export function digestOf(token: string): Buffer {
  // By way of text: a buffer made by the hash would take a piece of memory of its own.
  return Buffer.from(hash('sha256', token, 'binary'), 'latin1')
}
