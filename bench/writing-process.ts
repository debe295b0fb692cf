/** One of the processes of `processes.ts`: opens the store when told where it is, and writes when told to go. */
import { newSession, openAt } from './support/ours.ts'
import { messages } from './support/text.ts'

export interface WriterOrders {
  path: string
  session: string
  writers: number
  forMs: number
}

export interface WriterReport {
  /** Ids of all acknowledged messages. */
  ids: string[]
  /** Duration of each append, in milliseconds. */
  waits: number[]
}

let begin: (() => Promise<WriterReport>) | undefined

process.on('message', async (message: WriterOrders | 'go') => {
  if (message !== 'go') {
    begin = await prepare(message)
    process.send?.('ready')
    return
  }
  if (begin) process.send?.(await begin())
})

async function prepare({ path, session, writers, forMs }: WriterOrders): Promise<() => Promise<WriterReport>> {
  const colloquy = await openAt(path)
  const next = messages(process.pid)
  // Loads the tokenizer's tables, which is not what is measured.
  const warmUp = await newSession(colloquy, `process ${process.pid}`)
  await colloquy.sessions.addMessage(warmUp, { role: 'user', content: next() })
  return async () => {
    const report: WriterReport = { ids: [], waits: [] }
    const end = performance.now() + forMs
    async function write(): Promise<void> {
      while (performance.now() < end) {
        const start = performance.now()
        const { id } = await colloquy.sessions.addMessage(session, { role: 'user', content: next() })
        report.waits.push(performance.now() - start)
        report.ids.push(id)
      }
    }
    await Promise.all(Array.from({ length: writers }, write))
    await colloquy.close()
    return report
  }
}
