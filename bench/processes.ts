/** Several processes write one conversation: nothing lost, no version missing, no process starved. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, percentile } from './support/measure.ts'
import { newSession, openAt } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { count, milliseconds, perSecond } from './support/units.ts'
import type { WriterOrders, WriterReport } from './writing-process.ts'

export const processes: Benchmark = {
  name: 'processes',
  title: '4 processes on one file',
  about:
    'Each process runs 16 callers that write to the same conversation for a fixed time, every one waiting for its message. Afterwards every acknowledged message is looked for, and the versions are checked for gaps.',
  run: (sizes, tell) => inTemporaryFolder(folder => run(folder, sizes, tell)),
}

async function run(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const { count: processCount, writersEach, forMs } = sizes.processes
  const path = join(folder, 'ours.db')
  const colloquy = await openAt(path)
  const session = await newSession(colloquy, 'shared')
  tell(`${processCount} processes of ${writersEach} writers for ${forMs / 1000} s`)
  const reports = await write(processCount, { path, session, writers: writersEach, forMs })
  const stored = await colloquy.sessions.getAllMessages(session)
  await colloquy.close()

  const storedIds = new Set(stored.map(message => message.id))
  const acknowledged = reports.flatMap(report => report.ids)
  const lost = acknowledged.filter(id => !storedIds.has(id)).length
  const gaps = stored.filter((message, index) => index > 0 && message.version !== stored[index - 1]!.version + 1).length
  const twice = stored.length - storedIds.size
  const shares = reports.map(report => report.ids.length / acknowledged.length)
  const fairShare = 1 / reports.length
  const waits = reports.flatMap(report => report.waits)
  return [
    { what: 'all together', ours: perSecond(acknowledged.length / (forMs / 1000)) },
    {
      what: 'acknowledged and lost',
      ours: `${lost} of ${count(acknowledged.length)}`,
      measured: lost,
      target: { exactly: 0 },
    },
    {
      what: 'gaps and duplicates in the versions',
      ours: String(gaps + twice),
      measured: gaps + twice,
      target: { exactly: 0 },
    },
    {
      what: `share of each process (fair: ${(100 * fairShare).toFixed(0)} %)`,
      ours: shares.map(share => `${(100 * share).toFixed(0)} %`).join(', '),
      // No process starves: the slowest gets at least half of a fair share.
      measured: Math.min(...shares) / fairShare,
      target: { atLeast: 0.5 },
    },
    {
      what: 'wait of one message',
      ours: `p50 ${milliseconds(median(waits))}, p99 ${milliseconds(percentile(waits, 0.99))}, longest ${milliseconds(Math.max(...waits))}`,
    },
  ]
}

/** Starts all writers on the same signal, once each has its store open. */
async function write(processCount: number, orders: WriterOrders): Promise<WriterReport[]> {
  const file = fileURLToPath(new URL('./writing-process.ts', import.meta.url))
  const children = Array.from({ length: processCount }, () => fork(file, [], { execArgv: ['--import', 'tsx'] }))
  try {
    await Promise.all(children.map(child => ask(child, orders)))
    return await Promise.all(children.map(child => ask(child, 'go') as Promise<WriterReport>))
  } finally {
    for (const child of children) child.kill()
  }
}

async function ask(child: ChildProcess, what: WriterOrders | 'go'): Promise<unknown> {
  const exit = once(child, 'exit').then(([code]) => {
    throw new Error(`A writing process ended with ${code} before it reported.`)
  })
  child.send(what)
  const [reply] = (await Promise.race([once(child, 'message'), exit])) as [unknown]
  exit.catch(() => undefined)
  return reply
}
