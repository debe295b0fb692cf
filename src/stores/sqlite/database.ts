/**
 * One connection to the file, with foreign keys on. The driver does not wait for locks, because that would block the
 * event loop; `write/writer.ts` waits instead.
 */
import { existsSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { StoreUnusable } from '../../errors.ts'
import { makeFolder } from '../common/make-folder.ts'
import { asStoreError, damaged, isUnreadable } from './errors.ts'
import { LazyStatement, type Statement } from './statement.ts'

export interface Database {
  readonly path: string
  readonly readOnly: boolean
  /** To be called once before the first write: switches to WAL and sets how commits are synced. */
  prepareToWrite(): void
  exec(sql: string): void
  /** Compiled when first used. */
  prepare(sql: string): Statement
  rollback(): void
  close(): void
}

/** Older ones can corrupt a WAL that several processes write, when one is reset at the wrong moment. */
const oldestSqlite = '3.51.3'

export interface OpenDatabase {
  path: string
  durability: 'full' | 'relaxed'
  readOnly?: boolean
  /** The driver waits this long for a lock. Only the worker does: it has its thread to itself. */
  busyTimeoutMs?: number
  /** Inspects the file before anything is written to it; throws to refuse it. */
  inspect?: (database: Database) => void
  /** Reads a file that was cut off, which SQLite otherwise refuses. */
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
    const file = statSync(path, { throwIfNoEntry: false })
    if (!file && readOnly) throw new StoreUnusable(`There is no store at ${path}.`, { path })
    if (file) refuseOtherFiles(path, file)
    else makeFolder(dirname(path))
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

/** The smallest file that can hold a database. SQLite takes a shorter one for empty and would write over it. */
const smallestDatabase = 512

/**
 * Reads only the size. The file must never be opened by other means than SQLite: closing it would drop every lock that
 * this process holds on it (POSIX).
 */
function refuseOtherFiles(path: string, file: Stats): void {
  if (file.isDirectory()) throw new StoreUnusable(`${path} is a folder. Name the file of a store in it.`, { path })
  // Opening a pipe would wait for its writer.
  if (!file.isFile()) throw new StoreUnusable(`${path} is no regular file. Name the file of a store.`, { path })
  const { size } = file
  if (size >= smallestDatabase) return
  if (size === 0) {
    // In this order: another process that makes a new store writes to the file before there is a log.
    if (!existsSync(`${path}-wal`) || statSync(path, { throwIfNoEntry: false })?.size !== 0) return
    throw damaged(path, 'it is empty, but its write-ahead log is there')
  }
  throw new StoreUnusable(`${path} is not a Colloquy store. Nothing was overwritten; choose another path.`, { path })
}

/**
 * Memory that the garbage collector sees on closed connections. The driver frees a connection's files only when its
 * statements are collected, and the collector cannot see how much hangs on them. The buffer is never written to, so it
 * takes no memory of the machine.
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
    // A folder that cannot be written has no room for the shared memory of a WAL. No process can be writing there either,
    // so the file may be read as it is, unless a WAL holds newer commits.
    const hasWal = existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0
    if (!readOnly || hasWal || !isUnreadable(error)) throw error
    return open(`${pathToFileURL(path)}?immutable=1`)
  }
}

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
 * The sync of each commit. Without fullfsync, macOS acknowledges a sync that sits in the drive's cache. The worker
 * checkpoints; the automatic checkpoint is for when it cannot keep up. `secure_delete` overwrites erased and purged
 * content in free pages.
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
  return {
    path,
    readOnly,
    prepareToWrite() {
      connection.exec('pragma journal_mode = wal')
      connection.exec(settings[durability])
    },
    exec: sql => connection.exec(sql),
    prepare: sql => new LazyStatement(connection, sql),
    rollback: () => connection.exec('rollback'),
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
