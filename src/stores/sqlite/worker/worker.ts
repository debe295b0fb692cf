/**
 * The worker thread of a store: search, upkeep, the feed of the index and checkpoints. It
 * has its own connections and works in short slices, so that neither appends nor streams wait.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { ColloquyError } from '../../../errors.ts'
import type { UpkeepInput, UpkeepResult } from '../../../log/upkeep-work.ts'
import { type Database, openDatabase } from '../database.ts'
import { sqliteCode } from '../errors.ts'
import { messageSearch } from '../search/message-search.ts'
import { isDamaged, openSearchIndex, removeSearchIndex } from '../search/open-search-index.ts'
import type { SearchIndex } from '../search/search-index.ts'
import { titleSearch } from '../search/title-search.ts'
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

/** Connections open with the first operation that needs them. */
let openLog: Database | undefined
function log(): Database {
  if (!openLog) {
    const database = openDatabase({ ...settings, busyTimeoutMs })
    try {
      database.prepareToWrite()
    } catch (error) {
      database.close()
      throw error
    }
    openLog = database
  }
  return openLog
}
let openIndex: SearchIndex | undefined
const index = () => (openIndex ??= openSearchIndex({ ...settings, busyTimeoutMs }))

function once<T>(make: () => T): () => T {
  let value: T | undefined
  return () => (value ??= make())
}
let openSearch: { messages: ReturnType<typeof messageSearch>; titles: ReturnType<typeof titleSearch> } | undefined
function search() {
  openSearch ??= { messages: messageSearch(index().database), titles: titleSearch(index().database) }
  return openSearch
}

/** Runs work on an index that is up to date. */
function indexed<T>(work: () => T | Promise<T>): Promise<T> {
  return repairing(async () => {
    await index().feed()
    return work()
  })
}

/** Runs work on the index. A damaged index is deleted and built again, once. */
async function repairing<T>(work: () => T | Promise<T>): Promise<T> {
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
  return runUpkeep({ rows: openRows, log, index, indexed, landmark })
})

async function landmark(query: UpkeepInput<'landmark'>): Promise<UpkeepResult<'landmark'>> {
  // An old version is in the index already. Only for a recent one is the index fed.
  const stored = await repairing(() => (index().isOfThisLog() ? index().landmark(query) : undefined))
  if (stored && query.version - stored.conversation.version < landmarkEvery) return stored
  return indexed(() => index().landmark(query))
}

/** Builds the index again. Returns the number of messages in it. */
async function reindex(): Promise<number> {
  await indexed(() => index().startOver())
  await index().feed()
  return index().size()
}

const checkpoint = once(() => checkpointer(log(), busyTimeoutMs))
const indexCheckpoint = () => checkpointer(index().database, busyTimeoutMs)
/** Between two tries writers get their turn. An erasing caller waits for readers less than a second. */
const scrubRetryMs = 80
const maxScrubTries = 10

const handlers: Handlers = {
  feed: () => repairing(() => index().takeBatch()),
  tidy: () => repairing(() => index().tidy()),
  copyLog: () => checkpoint().copy(),
  finishLog: () => checkpoint().finish(),
  search: query => indexed(() => search().messages(query)),
  titles: query => indexed(() => search().titles(query)),
  find: messageId => indexed(() => index().find(messageId)),
  upkeep: ({ operation, input }, onProgress) => upkeep()(operation, input as never, onProgress),
  async scrub() {
    // Feeding removes the words of erased messages.
    await indexed(() => undefined)
    for (let tries = 1; ; tries++) {
      const isClean = [indexCheckpoint().truncate(), checkpoint().truncate()].every(Boolean)
      if (isClean || tries === maxScrubTries) return isClean
      await pause(scrubRetryMs)
    }
  },
}

/** Operations that have not ended. They run between each other's slices. */
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
