/**
 * The embedded store: one SQLite file, several processes, no server.
 *
 * This thread appends and reads windows. Everything longer runs in the worker beside it.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import { ConversationPurged, IllegalState, StoreClosed, StoreReadOnly } from '../../errors.ts'
import type { Proposal } from '../../log/event-log.ts'
import type { Store, StoreOptions } from '../../log/store.ts'
import { upkeepCalls } from '../../log/upkeep/upkeep-calls.ts'
import type { Progress } from '../../log/upkeep.ts'
import type { RunUpkeep, UpkeepOperation } from '../../log/upkeep-work.ts'
import type { Message } from '../../log/views/message.ts'
import { whenFree } from './busy.ts'
import { type Database, openDatabase } from './database.ts'
import { readEpoch } from './epoch.ts'
import { asStoreError, isBusy } from './errors.ts'
import { headStore } from './heads.ts'
import { makeSchema, refuseOtherSchema } from './open-schema.ts'
import { directory } from './read/directory.ts'
import { reader } from './read/read.ts'
import { feed } from './read/subscribe.ts'
import { windowReader } from './read/windows.ts'
import { sameFile } from './same-file.ts'
import { snapshots } from './transaction.ts'
import { maintenance } from './upkeep/maintenance.ts'
import { refuseAlone, workerClient } from './worker/client.ts'
import { Housekeeping } from './worker/housekeeping.ts'
import { commitsBeforeGrowth, growWal } from './worker/wal.ts'
import { appender } from './write/append.ts'
import { leaseKeeper } from './write/leases.ts'
import { nodeRegister } from './write/nodes.ts'
import { type Writer, writer } from './write/writer.ts'

export { sqliteStatus } from './status.ts'
export { type Salvaged, salvage } from './upkeep/salvage.ts'

export interface SqliteOptions extends StoreOptions {
  /** Open without writing, not even a schema. */
  readOnly?: boolean
}

/**
 * Opens the store at a path, or a fresh one that goes away when it is closed (`:memory:`).
 *
 * `:memory:` is a file in the system's temporary folder, because a worker cannot share a database in memory; it is not
 * synced.
 */
export async function sqliteStore(path: string, options: SqliteOptions): Promise<Store> {
  refuseAlone()
  const temporary = path === ':memory:' ? mkdtempSync(join(tmpdir(), 'colloquy-')) : undefined
  const file = temporary ? join(temporary, 'colloquy.db') : realPath(path)
  const durability = temporary ? 'relaxed' : (options.durability ?? 'full')
  const { clock, readOnly = false, busyTimeoutMs = 10_000 } = options
  const database = await whenFree(() => openStore(file, durability, readOnly), busyTimeoutMs)
  // Nobody expects to find a temporary one again.
  const refuseOther = temporary ? () => undefined : sameFile(file)
  let identity: string | undefined
  /** Looked at when it is first needed: who only reads a window need not wait for it. */
  const epoch = () => {
    try {
      identity ??= readEpoch(database)
      return identity
    } catch (error) {
      // Who waits for the lock tells a busy file by SQLite's own error.
      throw isBusy(error) ? error : asStoreError(error, file)
    }
  }

  const heads = headStore(database)
  const read = reader({ database, heads, epoch })
  const events = feed({ database, heads, epoch })
  const windows = windowReader({ database, heads })
  const lists = directory({ database, heads })
  const keeper = leaseKeeper({ database, heads, clock })
  const side = workerClient(file, () => {
    refuseOther()
    return { path: file, durability, epoch: epoch(), readOnly }
  })

  let position = 0
  let generation = -1
  let closed = false
  /** Whoever closes it again waits for the same. */
  let closing: Promise<void> | undefined
  let wrote = false
  function takePosition(): void {
    position = events.lastRow()
    generation = heads.generation()
  }
  const housekeeping = new Housekeeping({ worker: side, readOnly, standAsideFor: work => write.standAsideFor(work) })
  const write: Writer = writer({
    database,
    busyTimeoutMs,
    prepare() {
      epoch()
      database.prepareToWrite()
      // What a statement might have to undo: small here, and neither a file nor a copy of content outside the store.
      database.exec('pragma temp_store = memory')
    },
    transactionsFirst: commitsBeforeGrowth,
    begun(transactions) {
      if (transactions === commitsBeforeGrowth && !temporary) growWal(file)
    },
    refresh() {
      refuseOther()
      heads.refresh()
      const othersWrote = heads.generation() !== generation
      if (othersWrote) takePosition()
      return othersWrote
    },
    forget() {
      heads.forget()
      // Taken anew at the next transaction: a file that just failed may fail again when read now.
      generation = -1
    },
    committed(writes) {
      wrote = true
      events.wake()
      housekeeping.committed(writes)
    },
  })
  const { append, appendLightly } = appender({
    database,
    heads,
    epoch,
    clock,
    read,
    checkFence: keeper.checkFence,
    nextPosition: () => ++position,
    onStored: characters => housekeeping.stored(characters),
  })
  const upkeep = maintenance({ database, heads, reading, writing })

  /** Reading sees what other processes wrote, and its errors are ours. */
  async function reading<T>(read: () => T): Promise<T> {
    if (closed) throw new StoreClosed()
    const attempt = () => {
      heads.refreshForReading()
      return read()
    }
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error)) throw asStoreError(error, file)
    }
    // Readers wait for nobody but for one who repairs the write-ahead log after another process died.
    return whenFree(attempt, busyTimeoutMs).catch(error => {
      throw asStoreError(error, file)
    })
  }

  const inSnapshot = snapshots(database)
  /** What takes several questions. What is kept is looked at within: it must not be older than what is read beside it. */
  function readingAtOnce<T>(read: () => T): Promise<T> {
    return reading(() =>
      inSnapshot(() => {
        heads.refresh()
        return read()
      }),
    )
  }

  function writing<T>(change: () => T, lightly?: () => T | undefined): Promise<T> {
    if (closed) return Promise.reject(new StoreClosed())
    if (readOnly) return Promise.reject(new StoreReadOnly(`${file} was opened for reading only.`, { path: file }))
    return write.submit(change, lightly)
  }

  /** Before the worker writes. */
  function refuseUnwritable(): void {
    if (closed) throw new StoreClosed()
    if (readOnly) throw new StoreReadOnly(`${file} was opened for reading only.`, { path: file })
    refuseOther()
  }

  async function message(project: string, id: string): Promise<Message | undefined> {
    const positions = await side.call('find', id)
    return reading(() =>
      positions.map(position => windows.message(project, id, position)).find(found => found !== undefined),
    )
  }

  const conversation = (project: string, id: string) => reading(() => heads.conversation(project, id)?.head)
  const calls = upkeepCalls({ run: runUpkeep as RunUpkeep, message, conversation, clock })

  /** Runs an operation of upkeep in the worker. */
  async function runUpkeep(operation: UpkeepOperation, input: unknown, onProgress?: Progress): Promise<unknown> {
    if (closed) throw new StoreClosed()
    if (writingOperations.has(operation)) refuseUnwritable()
    // What is still in the queue here is in the log before the worker reads it. And something is written, so that a repair
    // is refused where nothing can be.
    if (operation === 'repair') {
      await writing(() => database.exec("update meta set value = value where name = 'position_floor'"))
    }
    const isRemoval = operation === 'erase' || operation === 'rewrite' || operation === 'purge'
    try {
      const result = await side.call('upkeep', { operation, input }, onProgress)
      if (!isRemoval && operation !== 'restorePage') return result
      events.wake()
      if (!isRemoval) return result
      events.forget()
      const lingers = await scrubbed()
      return operation === 'rewrite' ? result : { ...(result as object), ...lingers }
    } catch (error) {
      // The process that erased it may have been cut off right behind it.
      if (isRemoval && error instanceof IllegalState) await scrubbed()
      throw error
    }
  }

  return {
    append: (proposal: Proposal) =>
      writing(
        () => append(proposal),
        () => appendLightly(proposal),
      ),
    read: range => reading(() => read(range)),
    subscribe(options) {
      if (closed) throw new StoreClosed()
      return events.subscribe(options)
    },
    position: () => reading(() => events.position()),

    ...keeper.leases({ reading, writing }),
    ...nodeRegister({ database, clock, reading, writing }),

    messages: (window, page) => readingAtOnce(() => windows.messages(window, page)),
    measure: window => readingAtOnce(() => windows.measure(window)),
    message,

    conversation,
    conversationOf: (project, item) => reading(() => heads.conversationOf(project, item)?.head),
    conversations: query => reading(() => lists.conversations(query)),
    workItems: query => reading(() => lists.workItems(query)),
    session: (project, id) => reading(() => heads.session(project, id)?.head),
    sessionByKey: (project, key) => reading(() => heads.sessionByKey(project, key)?.head),
    sessions: query => reading(() => lists.sessions(query)),
    projects: () => reading(() => lists.projects()),

    landmark: (project, conversationId, version) => side.call('landmark', { project, conversationId, version }),

    spending: project => side.call('spending', project),
    spendingOf: (project, conversationIds) => side.call('spendingOf', { project, conversationIds }),

    search(query) {
      housekeeping.searched()
      return side.call('search', query)
    },
    searchTitles: query => side.call('titles', query),

    upkeep: runUpkeep as RunUpkeep,
    ...calls,
    async purge(request) {
      try {
        return await calls.purge(request)
      } catch (error) {
        // The process that purged it may have been cut off right behind it.
        if (error instanceof ConversationPurged) await scrubbed()
        throw error
      }
    },
    expiring: (project, now, limit) => upkeep.expiring(project, now, limit),
    archivable: (project, due, page) => reading(() => upkeep.archivable(project, due, page)),
    due: (project, now, page) => reading(() => upkeep.due(project, now, page)),

    queue: () => write.queue(),
    close() {
      closing ??= closeAll()
      return closing
    },
  }

  /** What was removed must not linger in a write-ahead log either; as long as somebody reads there, it is tried again. */
  async function scrubbed(): Promise<{ lingers?: true }> {
    if (await side.call('scrub', undefined).catch(() => false)) return {}
    housekeeping.scrubLater()
    return { lingers: true }
  }

  async function closeAll(): Promise<void> {
    closed = true
    await write.close()
    housekeeping.stop()
    events.close()
    await side.close()
    if (wrote) settle(database)
    database.close()
    if (temporary) rmSync(temporary, { recursive: true, force: true })
    // What hung on connections that were closed before is let go between two turns of the event loop.
    await breathe()
  }
}

const writingOperations: ReadonlySet<UpkeepOperation> = new Set<UpkeepOperation>([
  ...(['repair', 'erase', 'rewrite', 'purge', 'restorePage', 'addKeys', 'addPurges'] as const),
])

/** Where a link leads: under two names a store would have two indexes, and what is erased would stay in one of them. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return resolve(path)
  }
}

function openStore(path: string, durability: 'full' | 'relaxed', readOnly: boolean): Database {
  const database = openDatabase({ path, durability, readOnly, inspect: refuseOtherSchema })
  try {
    if (!readOnly) makeSchema(database)
    return database
  } catch (error) {
    database.close()
    throw asStoreError(error, path)
  }
}

/**
 * Leaves everything in the one file, so that a copy of it is a backup, and notes how far the log went, so that `verify`
 * notices when its end is cut off. If others are at work, they will do it.
 */
function settle(database: Database): void {
  try {
    database.exec(`
      update meta set value = (select max(coalesce(max(position), 0), cast(meta.value as integer)) from events)
      where name = 'position_floor' and cast(value as integer) < (select coalesce(max(position), 0) from events)`)
    database.exec('pragma wal_checkpoint(truncate)')
  } catch {
    // Nothing that was acknowledged depends on it.
  }
}
