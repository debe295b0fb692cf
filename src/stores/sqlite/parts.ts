/** The parts of an open store, put together. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import type { StoreOptions } from '../../log/store.ts'
import { whenFree } from './busy.ts'
import { type Database, openDatabase } from './database.ts'
import { readEpoch } from './epoch.ts'
import { asStoreError, isBusy } from './errors.ts'
import { Guard } from './guard.ts'
import { type HeadStore, headStore } from './heads.ts'
import { makeSchema, refuseOtherSchema } from './open-schema.ts'
import { type LogPages, logPages } from './read/log-pages.ts'
import { type ReadEvents, reader } from './read/read.ts'
import { Subscriptions } from './read/subscribe.ts'
import { sameFile } from './same-file.ts'
import { refuseAlone, type WorkerClient, workerClient } from './worker/client.ts'
import { Housekeeping } from './worker/housekeeping.ts'
import { commitsBeforeGrowth, growWal } from './worker/wal.ts'
import { type Append, appender } from './write/append.ts'
import { type LeaseKeeper, leaseKeeper } from './write/leases.ts'
import { eventRecorder } from './write/record-events.ts'
import { Writer } from './write/writer.ts'

export interface SqliteOptions extends StoreOptions {
  /** Opens without writing, not even a schema. */
  readOnly?: boolean
}

export interface Parts {
  database: Database
  heads: HeadStore
  pages: LogPages
  read: ReadEvents
  leases: LeaseKeeper
  subscriptions: Subscriptions
  append: Append
  writer: Writer
  worker: WorkerClient
  housekeeping: Housekeeping
  guard: Guard
  clock: () => number
  /** Throws when the file at the path is another one than the one that is open. */
  refuseOtherFile(): void
  close(): Promise<void>
}

interface Place {
  file: string
  durability: 'full' | 'relaxed'
  readOnly: boolean
  /** The folder of a store that goes away when it is closed. */
  temporaryFolder: string | undefined
}

/** @throws {StoreUnusable} when the file cannot be opened, or is not a store of today's schema */
export async function openParts(path: string, options: SqliteOptions): Promise<Parts> {
  refuseAlone()
  const { clock, busyTimeoutMs = 10_000 } = options
  const place = placeOf(path, options)
  const { file, durability, readOnly } = place
  const database = await whenFree(() => openStore(place), busyTimeoutMs)
  // No other process looks for a temporary file.
  const refuseOtherFile = place.temporaryFolder ? () => undefined : sameFile(file)
  const epoch = epochOf(database)
  const heads = headStore(database)
  const pages = logPages({ database, heads, epoch })
  const read = reader({ database, heads, epoch })
  const leases = leaseKeeper({ database, heads, clock })
  const subscriptions = new Subscriptions({ path: file, heads, pages })
  const worker = workerClient(file, () => {
    refuseOtherFile()
    return { path: file, durability, epoch: epoch(), readOnly }
  })
  const housekeeping = new Housekeeping({ worker, readOnly, standAsideFor: work => writer.standAsideFor(work) })

  let position = 0
  let transactions = 0
  const writer = new Writer({
    database,
    busyTimeoutMs,
    prepare() {
      epoch()
      database.prepareToWrite()
      // Copies of content that SQLite makes to undo a statement stay out of the file system.
      database.exec('pragma temp_store = memory')
    },
    begun() {
      refuseOtherFile()
      const othersWrote = heads.refresh()
      position = pages.lastRow()
      if (++transactions === commitsBeforeGrowth && !place.temporaryFolder) growWal(file)
      return othersWrote
    },
    failed: heads.forget,
    committed(writes) {
      subscriptions.wake()
      housekeeping.committed(writes)
    },
  })
  const guard = new Guard({ path: file, readOnly, busyTimeoutMs, heads, writer })
  const record = eventRecorder({
    database,
    heads,
    epoch,
    nextPosition: () => ++position,
    onStored: characters => housekeeping.stored(characters),
  })
  const append = appender({ database, heads, clock, read, checkFence: leases.checkFence, record })

  async function close(): Promise<void> {
    guard.close()
    await writer.close()
    housekeeping.stop()
    subscriptions.close()
    await worker.close()
    if (transactions > 0) moveIntoFile(database)
    database.close()
    if (place.temporaryFolder) rmSync(place.temporaryFolder, { recursive: true, force: true })
    // The driver frees what hung on closed connections between two turns of the event loop.
    await breathe()
  }

  return {
    ...{ database, heads, pages, read, leases, subscriptions, append, writer, worker, housekeeping, guard, clock },
    refuseOtherFile,
    close,
  }
}

/**
 * `:memory:` is a file in the system's temporary folder, because a worker cannot share a database in memory. It is not
 * synced.
 */
function placeOf(path: string, { durability = 'full', readOnly = false }: SqliteOptions): Place {
  if (path !== ':memory:') return { file: realPath(path), durability, readOnly, temporaryFolder: undefined }
  const temporaryFolder = mkdtempSync(join(tmpdir(), 'colloquy-'))
  return { file: join(temporaryFolder, 'colloquy.db'), durability: 'relaxed', readOnly, temporaryFolder }
}

/** The path that a link leads to: under two names a store would have two search indexes. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return resolve(path)
  }
}

function openStore({ file, durability, readOnly }: Place): Database {
  const database = openDatabase({ path: file, durability, readOnly, inspect: refuseOtherSchema })
  try {
    if (!readOnly) makeSchema(database)
    return database
  } catch (error) {
    database.close()
    throw asStoreError(error, file)
  }
}

/** Reads the epoch when it is first needed. */
function epochOf(database: Database): () => string {
  let epoch: string | undefined
  return () => {
    try {
      epoch ??= readEpoch(database)
      return epoch
    } catch (error) {
      // SQLite's own error tells a busy file, which is waited for.
      throw isBusy(error) ? error : asStoreError(error, database.path)
    }
  }
}

/**
 * Leaves everything in the one file, so that a copy of it is a backup, and notes how far the log went, so that `verify`
 * notices when its end is cut off. Where other processes are at work, the last of them does it.
 */
function moveIntoFile(database: Database): void {
  try {
    database.exec(`
      update meta set value = (select max(coalesce(max(position), 0), cast(meta.value as integer)) from events)
      where name = 'position_floor' and cast(value as integer) < (select coalesce(max(position), 0) from events)`)
    database.exec('pragma wal_checkpoint(truncate)')
  } catch {
    // No acknowledged write depends on it.
  }
}
