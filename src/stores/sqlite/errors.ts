/** Turns the driver's errors into ours, by SQLite's primary result code. */
import { statfsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import {
  ColloquyError,
  IllegalState,
  StoreBusy,
  StoreDamaged,
  StoreFailed,
  StoreFull,
  StoreReadOnly,
  StoreUnusable,
} from '../../errors.ts'
import { isDiskFull } from '../common/disk-full.ts'

const code = {
  error: 1,
  busy: 5,
  locked: 6,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  notADatabase: 26,
}

/** SQLite's primary result code, or undefined when the error did not come from SQLite. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & 0xff
  // The store writes no number that is too large for JavaScript.
  if (error instanceof RangeError && error.message.includes('too large to be represented')) return code.corrupt
  // The driver gives no code for an error while rows are fetched, only SQLite's message.
  if (!('code' in error) || error.code !== 'ERR_SQLITE_ERROR') return undefined
  return wordings.find(([words]) => error.message.includes(words))?.[1] ?? code.io
}

const wordings: ReadonlyArray<readonly [string, number]> = [
  ['malformed', code.corrupt],
  ['locked', code.busy],
  ['not a database', code.notADatabase],
  ['is full', code.full],
  ['readonly', code.readOnly],
  ['unable to open', code.cannotOpen],
  ['constraint failed', code.constraint],
]

export function isBusy(error: unknown): boolean {
  const primary = sqliteCode(error)
  return primary === code.busy || primary === code.locked
}

/** True when a row breaks a rule of its table: a unique, a foreign or a required column. */
export function isConstraint(error: unknown): boolean {
  return sqliteCode(error) === code.constraint
}

/** True when a folder that cannot be written keeps SQLite from opening the file. */
export function isUnreadable(error: unknown): boolean {
  const primary = sqliteCode(error)
  return primary === code.cannotOpen || primary === code.readOnly
}

/** True when a lock, a full disk or missing permissions keep the file from being written. */
export function isUnwritable(error: unknown): boolean {
  return isBusy(error) || [code.full, code.readOnly].includes(sqliteCode(error) ?? 0)
}

/** True when the file's own header or schema keeps SQLite from opening it. */
export function isBroken(error: unknown): boolean {
  const primary = sqliteCode(error instanceof ColloquyError ? error.cause : error)
  return primary === code.error || primary === code.corrupt || primary === code.notADatabase
}

/** The most telling code: SQLite reports an I/O error when a full disk has no room for its shared memory. */
function primaryCode(error: unknown, path: string): number | undefined {
  const primary = sqliteCode(error) ?? systemCode(error)
  return primary === code.io && hasNoRoom(path) ? code.full : primary
}

/** The code for an error of the operating system. */
function systemCode(error: unknown): number | undefined {
  if (isDiskFull(error)) return code.full
  if (!(error instanceof Error) || !('code' in error)) return undefined
  switch (error.code) {
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return code.readOnly
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'EISDIR':
    case 'ENAMETOOLONG':
      return code.cannotOpen
    default:
      return undefined
  }
}

/** True when the disk has less room than the smallest write-ahead log needs. */
function hasNoRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < 256 * 1024
  } catch {
    return false
  }
}

export function damaged(path: string, how: string): StoreDamaged {
  return new StoreDamaged(damagedText(path, how), { path })
}

function damagedText(path: string, how: string): string {
  return `${path} is damaged (${how}). Nothing was overwritten. 'colloquy verify --salvage NEW' rescues what can be read.`
}

export function asStoreError(error: unknown, path: string): Error {
  if (error instanceof ColloquyError) return error
  const primary = primaryCode(error, path)
  if (primary === undefined) return error instanceof Error ? error : new Error(String(error))
  const facts = { path, sqlite: error instanceof Error ? error.message : String(error) }
  const because: ErrorOptions = { cause: error }
  switch (primary) {
    case code.busy:
    case code.locked:
      return new StoreBusy(`${path} is locked by another process. Nothing was written; try again.`, facts, because)
    case code.full:
      return new StoreFull(
        `The disk that holds ${path} is full. Nothing was written; free some room and try again.`,
        facts,
        because,
      )
    case code.readOnly:
      return new StoreReadOnly(
        `${path} cannot be written. Check its permissions, those of its folder, and those of ${basename(path)}-wal.`,
        facts,
        because,
      )
    case code.corrupt:
      return new StoreDamaged(damagedText(path, facts.sqlite), facts, because)
    case code.constraint:
      return new IllegalState(
        'Another process changed the same row at the same moment. Nothing was written; try again.',
        facts,
        because,
      )
    case code.notADatabase:
      return new StoreUnusable(
        `${path} is not a Colloquy store, or its first page is damaged. Nothing was overwritten; choose another path, put back a backup, or try 'sqlite3 ${path} .recover'.`,
        facts,
        because,
      )
    case code.cannotOpen:
      return new StoreUnusable(
        `${path} cannot be opened. Check that its folder exists, and that both may be read and written.`,
        facts,
        because,
      )
    default:
      return new StoreFailed(
        `${path}: ${facts.sqlite}. Writes that were not acknowledged may or may not be stored.`,
        facts,
        because,
      )
  }
}
