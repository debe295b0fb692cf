/**
 * One connection to the file, set up the way every connection here is: WAL, explicit sync, foreign keys, no waiting in
 * the driver (its busy wait blocks the event loop and starves; see `writer.ts` for how we wait).
 */
import { closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite'
import { StoreUnusable } from '../../errors.ts'
import { asStoreError, isNotADatabase } from './errors.ts'

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
  /** Looks at the file before anything is written to it; throws to refuse it. */
  inspect?: (database: Database) => void
}

export function openDatabase({
  path,
  durability,
  readOnly = false,
  busyTimeoutMs = 0,
  inspect,
}: OpenDatabase): Database {
  const missing = !existsSync(path)
  try {
    if (missing && readOnly) throw new StoreUnusable(`There is no store at ${path}.`, { path })
    if (missing) mkdirSync(dirname(path), { recursive: true })
    if (!missing) refuseOtherFiles(path)
    const connection = connect(path, { readOnly, busyTimeoutMs })
    try {
      refuseOldSqlite(connection)
      const database = wrapped(connection, path, readOnly)
      inspect?.(database)
      if (!readOnly) setUp(connection, durability)
      return database
    } catch (error) {
      connection.close()
      throw error
    }
  } catch (error) {
    throw asStoreError(error, path)
  }
}

/** SQLite takes a file too short for a header for an empty one and would write over it. */
function refuseOtherFiles(path: string): void {
  const magic = Buffer.from('SQLite format 3\0')
  const file = openSync(path, 'r')
  try {
    const start = Buffer.alloc(magic.length)
    const length = readSync(file, start, 0, magic.length, 0)
    if (length === 0 || start.equals(magic)) return
    throw new StoreUnusable(
      `${path} is not a Colloquy store, or its first page is damaged. Nothing was overwritten; choose another path, or try 'colloquy verify --salvage NEW'.`,
      { path },
    )
  } finally {
    closeSync(file)
  }
}

function connect(path: string, { readOnly, busyTimeoutMs }: { readOnly: boolean; busyTimeoutMs: number }) {
  const open = (address: string) => {
    const connection = new DatabaseSync(address, {
      readOnly,
      timeout: busyTimeoutMs,
      enableForeignKeyConstraints: true,
    })
    try {
      connection.exec('pragma cache_size = -16000')
      if (readOnly) connection.prepare('select count(*) from sqlite_schema').get()
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }
  try {
    return open(path)
  } catch (error) {
    // In a folder that cannot be written there is no room for the shared memory of a WAL. Nobody can be writing then
    // either, so the file may be read as it is, unless a WAL holds what is newer.
    const hasWal = existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0
    if (!readOnly || hasWal || isNotADatabase(error)) throw error
    return open(`${pathToFileURL(path)}?immutable=1`)
  }
}

let sqliteVersion: string | undefined

function refuseOldSqlite(connection: DatabaseSyncInstance): void {
  sqliteVersion ??= String(connection.prepare('select sqlite_version() as version').get().version)
  const version = sqliteVersion
  if (!isOlder(version, oldestSqlite)) return
  throw new StoreUnusable(
    `SQLite ${version} is too old: before ${oldestSqlite} a WAL shared by several processes can be corrupted. Update @photostructure/sqlite.`,
    { version, oldest: oldestSqlite },
  )
}

function setUp(connection: DatabaseSyncInstance, durability: 'full' | 'relaxed'): void {
  connection.exec('pragma journal_mode = wal')
  connection.exec(durability === 'full' ? settings.full : settings.relaxed)
}

/**
 * The sync of each commit; without fullfsync macOS acknowledges a sync that sits in the drive's cache. The worker
 * beside the engine checkpoints, and the automatic one is for when it cannot keep up. Erased and purged content must
 * not linger in free pages.
 */
const common = 'pragma wal_autocheckpoint = 16000; pragma secure_delete = on;'
const settings = {
  full: `pragma synchronous = full; pragma fullfsync = on; ${common}`,
  relaxed: `pragma synchronous = normal; ${common}`,
}

function wrapped(connection: DatabaseSyncInstance, path: string, readOnly: boolean): Database {
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
