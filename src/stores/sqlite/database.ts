/**
 * One connection to the file: WAL and an explicit sync before the first write, foreign keys, no waiting in the driver
 * (its busy wait blocks the event loop and starves; see `writer.ts` for how we wait).
 */
import { existsSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { StoreUnusable } from '../../errors.ts'
import { makeFolder } from '../common/make-folder.ts'
import { asStoreError, damaged, isUnreadable } from './errors.ts'
import { Line, LineStatement, type Statement } from './statement.ts'

export interface Database {
  readonly path: string
  readonly readOnly: boolean
  /** To be called once before the first write: who only reads need not pay for it. */
  prepareToWrite(): void
  exec(sql: string): void
  /** Compiled when first used: opening a store and asking one thing should not compile what it never runs. */
  prepare(sql: string): Statement
  /** Puts what was left for later. */
  settle(): void
  /** Also of what was left for later. */
  rollback(): void
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
  /** Read what is there of a file that was cut off; SQLite refuses it otherwise. */
  cutOff?: boolean
}

export function openDatabase({
  path,
  durability,
  readOnly = false,
  busyTimeoutMs = 0,
  inspect,
  cutOff = false,
}: OpenDatabase): Database {
  try {
    const there = statSync(path, { throwIfNoEntry: false })
    const missing = there === undefined
    if (missing && readOnly) throw new StoreUnusable(`There is no store at ${path}.`, { path })
    if (missing) makeFolder(dirname(path))
    else refuseOtherFiles(path, there)
    const connection = connect(path, { readOnly, busyTimeoutMs, cutOff })
    try {
      refuseOldSqlite(connection)
      const database = wrapped(connection, { path, readOnly, durability })
      inspect?.(database)
      return database
    } catch (error) {
      connection.close()
      throw error
    }
  } catch (error) {
    throw asStoreError(error, path)
  }
}

/** The smallest file that can hold a database; a shorter one SQLite takes for empty and would write over. */
const smallestDatabase = 512

/**
 * Only looks at the size. The file must never be opened by other means: closing it would drop every lock that this
 * process holds on it (POSIX), and other programs would think that nobody is using the store.
 */
function refuseOtherFiles(path: string, there: Stats): void {
  if (there.isDirectory()) throw new StoreUnusable(`${path} is a folder. Name the file of a store in it.`, { path })
  // Opening a pipe would wait for whoever writes to it.
  if (!there.isFile()) throw new StoreUnusable(`${path} is no regular file. Name the file of a store.`, { path })
  const { size } = there
  if (size >= smallestDatabase) return
  if (size === 0) {
    // In this order: whoever makes a new store at this moment writes to the file before there is a log.
    if (!existsSync(`${path}-wal`) || statSync(path, { throwIfNoEntry: false })?.size !== 0) return
    throw damaged(path, 'it is empty, but its write-ahead log is there')
  }
  throw new StoreUnusable(`${path} is not a Colloquy store. Nothing was overwritten; choose another path.`, { path })
}

/**
 * A closed connection keeps its files and its memory until the garbage collector has taken its statements, which the
 * driver has no other way to end, and the collector does not see what hangs on them: hundreds would pile up. So something
 * hangs on each closed one that it does see. Nobody writes to it, so it takes no memory of the machine.
 */
const weights = new WeakMap<DatabaseSyncInstance, Buffer>()
const weight = 2 * 1024 * 1024

function connect(
  path: string,
  { readOnly, busyTimeoutMs, cutOff }: { readOnly: boolean; busyTimeoutMs: number; cutOff: boolean },
): DatabaseSyncInstance {
  const open = (address: string) => {
    const connection = new DatabaseSync(address, {
      readOnly,
      timeout: busyTimeoutMs,
      enableForeignKeyConstraints: true,
      defensive: !cutOff,
    })
    try {
      if (cutOff) connection.exec('pragma writable_schema = on')
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
    if (!readOnly || hasWal || !isUnreadable(error)) throw error
    return open(`${pathToFileURL(path)}?immutable=1`)
  }
}

/** The same for every connection of a program. */
let isNewEnough = false

function refuseOldSqlite(connection: DatabaseSyncInstance): void {
  if (isNewEnough) return
  const version = String(connection.prepare('select sqlite_version() as version').get().version)
  isNewEnough = !isOlder(version, oldestSqlite)
  if (isNewEnough) return
  throw new StoreUnusable(
    `SQLite ${version} is too old: before ${oldestSqlite} a WAL shared by several processes can be corrupted. Update @photostructure/sqlite.`,
    { version, oldest: oldestSqlite },
  )
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

function wrapped(
  connection: DatabaseSyncInstance,
  { path, readOnly, durability }: { path: string; readOnly: boolean; durability: 'full' | 'relaxed' },
): Database {
  const line = new Line(connection)
  return {
    path,
    readOnly,
    prepareToWrite() {
      connection.exec('pragma journal_mode = wal')
      connection.exec(settings[durability])
    },
    exec(sql) {
      line.settle()
      connection.exec(sql)
    },
    prepare: sql => new LineStatement(line, sql),
    settle: () => line.settle(),
    rollback() {
      line.drop()
      connection.exec('rollback')
    },
    close() {
      connection.close()
      weights.set(connection, Buffer.allocUnsafeSlow(weight))
    },
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
