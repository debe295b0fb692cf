/**
 * The worker beside the engine's thread: search, totals, verify, export, purge, restore, the full-text feed and
 * checkpoints, on connections of its own and in short slices, so that neither appends nor streams wait for them.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { ColloquyError } from '../../../errors.ts'
import { type Database, openDatabase } from '../database.ts'
import { sqliteCode } from '../errors.ts'
import { isDamaged, openSearchIndex, removeSearchIndex } from '../search/open-search-index.ts'
import { searcher } from '../search/search.ts'
import type { SearchIndex } from '../search/search-index.ts'
import { landmarkEvery } from '../upkeep/landmarks.ts'
import { type RowConnections, rowStore } from '../upkeep/row-store.ts'
import { runUpkeep } from '../upkeep/run-upkeep.ts'
import { checkpointer } from './checkpoint.ts'
import type { Call, Operation, Operations, Reply, WorkerSettings } from './protocol.ts'

type Handlers = {
  [O in Operation]: (
    input: Operations[O]['takes'],
    onProgress: (done: number, total: number) => void,
  ) => Operations[O]['gives'] | Promise<Operations[O]['gives']>
}

const settings = workerData as WorkerSettings
const port = parentPort as MessagePort
const busyTimeoutMs = 10_000

/** Each connection is opened when its first operation comes. */
let openLog: Database | undefined
function log(): Database {
  if (!openLog) {
    const opened = openDatabase({ ...settings, busyTimeoutMs })
    try {
      opened.prepareToWrite()
    } catch (error) {
      opened.close()
      throw error
    }
    openLog = opened
  }
  return openLog
}
let openIndex: SearchIndex | undefined
const index = () => (openIndex ??= openSearchIndex({ ...settings, busyTimeoutMs }))

const once = <T>(make: () => T) => {
  let made: T | undefined
  return () => (made ??= make())
}
let openSearch: ReturnType<typeof searcher> | undefined
const search = () => (openSearch ??= searcher(index()))

/** Works on an index that is up to date. */
function indexed<T>(work: () => T | Promise<T>): Promise<T> {
  return intact(async () => {
    await index().feed()
    return work()
  })
}

/** An index that turns out damaged is thrown away and built again, once. */
async function intact<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isDamaged(error)) throw error
    openIndex?.close()
    openIndex = undefined
    openSearch = undefined
    removeSearchIndex(settings.path)
    await index().feed()
    return await work()
  }
}
let openRows: RowConnections | undefined
const upkeep = once(() => {
  openRows = rowStore({ ...settings, busyTimeoutMs, reindex })
  return runUpkeep({ rows: openRows, log, index, indexed })
})

async function reindex(): Promise<number> {
  await indexed(() => index().startOver())
  await index().feed()
  return index().size()
}
const checkpoint = once(() => checkpointer(log(), busyTimeoutMs))
const indexCheckpoint = () => checkpointer(index().database, busyTimeoutMs)
/** So that writers get their turn between two tries, and whoever erases waits for readers no longer than a second. */
const betweenTriesMs = 80
const scrubTries = 10

const handlers: Handlers = {
  feed: () => intact(() => index().takeBatch()),
  tidy: () => intact(() => index().tidy()),
  copyLog: () => checkpoint().copy(),
  finishLog: () => checkpoint().finish(),
  search: query => indexed(() => search().messages(query)),
  titles: query => indexed(() => search().titles(query)),
  find: messageId => indexed(() => index().find(messageId)),
  async landmark(query) {
    // What is long past was taken in long ago; only for what is not is the index brought up to date.
    const known = await intact(() => (index().isOfThisLog() ? search().landmark(query) : undefined))
    if (known && query.version - known.conversation.version < landmarkEvery) return known
    return indexed(() => search().landmark(query))
  },
  upkeep: ({ operation, input }, onProgress) => upkeep()(operation, input as never, onProgress),
  spending: project => indexed(() => index().spending.ofProject(project)),
  spendingOf: ({ project, conversationIds }) =>
    indexed(() => index().spending.ofConversations(project, conversationIds)),
  async scrub() {
    // An erased message's words leave the index when it hears of it.
    await indexed(() => undefined)
    for (let tries = 1; ; tries++) {
      const isClean = [indexCheckpoint().truncate(), checkpoint().truncate()].every(Boolean)
      if (isClean || tries === scrubTries) return isClean
      await pause(betweenTriesMs)
    }
  },
}

/** A long operation takes a breath between its slices, and the others run then. */
const running = new Set<Promise<void>>()

port.on('message', (message: Call | 'stop') => {
  if (message === 'stop') {
    Promise.all(running).then(() => {
      port.close()
      openIndex?.close()
      openLog?.close()
      openRows?.close()
    })
    return
  }
  const work = run(message).finally(() => running.delete(work))
  running.add(work)
})

async function run({ id, operation, input }: Call): Promise<void> {
  const reply = (message: Reply) => port.postMessage(message)
  try {
    const handle = handlers[operation] as (input: unknown, progress: (done: number, total: number) => void) => unknown
    const value = await handle(input, (done, total) => reply({ id, kind: 'progress', done, total }))
    reply({ id, kind: 'result', value })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const errcode = sqliteCode(error)
    reply({
      id,
      kind: 'error',
      error: {
        message,
        ...(errcode !== undefined && { errcode }),
        ...(error instanceof ColloquyError && { code: error.code, facts: error.facts }),
      },
    })
  }
}
