/**
 * One connection to the file, set up the way every connection here is: WAL, explicit sync, foreign keys, no waiting in
 * the driver (its busy wait blocks the event loop and starves; see `writer.ts` for how we wait).
 */
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite'
import { StoreUnusable } from '../../errors.ts'
import { asStoreError } from './errors.ts'

/** What SQLite takes. */
export type Value = string | number | null | Uint8Array

/** Rows come back as arrays: less to allocate than objects. */
export interface Statement {
  run(...values: Value[]): { changes: number; lastInsertRowid: number | bigint }
  get(...values: Value[]): unknown
  all(...values: Value[]): unknown[]
  iterate(...values: Value[]): IterableIterator<unknown>
}

export interface Database {
  readonly path: string
  readonly readOnly: boolean
  exec(sql: string): void
  /** Compiled when first used: opening a store and asking one thing should not compile what it never runs. */
  prepare(sql: string): Statement
  close(): void
}

/** Older ones can corrupt a WAL that several processes write, when one is reset at the wrong moment. */
const oldestSqlite = '3.51.3'

export interface OpenDatabase {
  path: string
  durability: 'full' | 'relaxed'
  readOnly?: boolean
  /** Only the worker beside the engine waits inside the driver. */
  busyTimeoutMs?: number
}

export function openDatabase({ path, durability, readOnly = false, busyTimeoutMs = 0 }: OpenDatabase): Database {
  try {
    if (!readOnly) mkdirSync(dirname(path), { recursive: true })
    else if (!existsSync(path)) throw new StoreUnusable(`There is no store at ${path}.`, { path })
    const connection = new DatabaseSync(path, { readOnly, timeout: busyTimeoutMs, enableForeignKeyConstraints: true })
    try {
      return setUp(connection, { path, durability, readOnly })
    } catch (error) {
      connection.close()
      throw error
    }
  } catch (error) {
    throw asStoreError(error, path)
  }
}

function setUp(
  connection: DatabaseSyncInstance,
  { path, durability, readOnly }: Required<Pick<OpenDatabase, 'path' | 'durability' | 'readOnly'>>,
): Database {
  const version = String(connection.prepare('select sqlite_version() as version').get().version)
  if (isOlder(version, oldestSqlite)) {
    throw new StoreUnusable(
      `SQLite ${version} is too old: before ${oldestSqlite} a WAL shared by several processes can be corrupted. Update @photostructure/sqlite.`,
      { version, oldest: oldestSqlite },
    )
  }
  if (!readOnly) {
    connection.exec('pragma journal_mode = wal')
    connection.exec(`pragma synchronous = ${durability === 'full' ? 'full' : 'normal'}`)
    // Without it macOS acknowledges a sync that sits in the drive's cache.
    if (durability === 'full') connection.exec('pragma fullfsync = on')
    // The worker beside the engine checkpoints; this is for when it cannot keep up.
    connection.exec('pragma wal_autocheckpoint = 16000')
    // Erased and purged content must not linger in free pages.
    connection.exec('pragma secure_delete = on')
  }
  connection.exec('pragma cache_size = -16000')
  return {
    path,
    readOnly,
    exec: sql => connection.exec(sql),
    prepare(sql) {
      let compiled: StatementSyncInstance | undefined
      const statement = () => {
        if (!compiled) {
          compiled = connection.prepare(sql)
          compiled.setReturnArrays(true)
        }
        return compiled
      }
      return {
        run: (...values) => statement().run(...values),
        get: (...values) => statement().get(...values),
        all: (...values) => statement().all(...values),
        iterate: (...values) => statement().iterate(...values),
      }
    },
    close: () => connection.close(),
  }
}

function isOlder(version: string, oldest: string): boolean {
  const [a, b] = [version, oldest].map(text => text.split('.').map(Number))
  for (let i = 0; i < 3; i++) {
    const difference = (a?.[i] ?? 0) - (b?.[i] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}
