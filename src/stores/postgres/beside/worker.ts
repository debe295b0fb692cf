/** The worker beside the engine's thread: cuts texts into words and writes them, so that neither appends nor streams wait. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../database.ts'
import { searchIndex } from '../search/search-index.ts'
import { placeOf } from '../url.ts'
import type { FeedCall, FeedReply, FeedSettings } from './protocol.ts'

const { url, base, ...settings } = workerData as FeedSettings
const port = parentPort as MessagePort
// All it writes is derived from the log, and in order: what a crash takes away is taken in again.
const database = openDatabase({
  ...settings,
  durability: 'relaxed',
  place: placeOf(url),
  readOnly: false,
  connections: 1,
})
const index = searchIndex({ database, base })
const running = new Set<Promise<void>>()

port.on('message', (message: FeedCall | 'stop') => {
  if (message === 'stop') {
    Promise.all(running).then(async () => {
      await database.close()
      port.close()
    })
    return
  }
  const work = feed(message).finally(() => running.delete(work))
  running.add(work)
})

async function feed({ id, project }: FeedCall): Promise<void> {
  const reply = (message: FeedReply) => port.postMessage(message)
  try {
    await index.feed(project)
    reply({ id })
  } catch (error) {
    reply({ id, error: error instanceof Error ? error.message : String(error) })
  }
}
