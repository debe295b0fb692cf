/** Registers this server among those of the same store, with its metrics. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Colloquy } from '../../index.ts'
import type { LivingNode } from '../../log/nodes.ts'
import type { Streams } from '../live/streams.ts'
import { version } from '../version.ts'

const announceEveryMs = 10_000
/** Three announcements may be missed before it counts as gone: a busy machine is not a dead one. */
const validForMs = 35_000

export interface NodeRegister {
  list(): Promise<Array<LivingNode & { isHere: boolean }>>
  close(): Promise<void>
}

/** Names this process among those that serve one store. */
export const nodeName = `${hostname()} ${process.pid}`

export function nodeRegister({
  colloquy,
  streams,
  onFailure,
}: {
  colloquy: Colloquy
  streams: Streams
  onFailure: (error: unknown) => void
}): NodeRegister {
  const own = randomUUID()
  const startedAt = new Date(performance.timeOrigin).toISOString()
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  let isClosed = false

  function figures(): Record<string, number> {
    const { writes, models, runs } = colloquy.queues()
    const sum = (count: (model: (typeof models)[number]) => number) => models.reduce((all, one) => all + count(one), 0)
    const delayNanoseconds = delay.percentile(99)
    return {
      memoryBytes: process.memoryUsage.rss(),
      loopDelayMs: Number.isFinite(delayNanoseconds) ? Math.round(delayNanoseconds / 1e4) / 100 : 0,
      subscribers: streams.count,
      writesWaiting: writes.waiting,
      runs,
      modelCalls: sum(model => model.inside),
      modelCallsWaiting: sum(model => model.waiting),
    }
  }

  async function announce(): Promise<void> {
    const facts = { name: nodeName, version, startedAt, figures: figures() }
    await colloquy.nodes.announceNode({ id: own, facts, forMs: validForMs })
    delay.reset()
  }

  /** One after the other, and serving never waits for it: who is not in the register serves all the same. */
  let announcing: Promise<void> = announce().catch(onFailure)
  const timer = setInterval(() => {
    announcing = announcing.then(() => (isClosed ? undefined : announce())).catch(onFailure)
  }, announceEveryMs).unref()

  return {
    async list() {
      await announcing
      const known = await colloquy.nodes.nodes()
      // Its own figures are those of now.
      return known.map(node =>
        node.id === own ? { ...node, figures: figures(), isHere: true } : { ...node, isHere: false },
      )
    },
    async close() {
      isClosed = true
      clearInterval(timer)
      await announcing
      delay.disable()
      await colloquy.nodes.forgetNode(own).catch(() => undefined)
    },
  }
}
