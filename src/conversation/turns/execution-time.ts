/**
 * Time that agents are at work on a conversation.
 *
 * An agent at work holds a lease that its process renews. An execution whose lease ran out has crashed: the next
 * reader closes it at the last event of its agent.
 */

import { LeaseLost } from '../../errors.ts'
import { closeCrashed, startExecution, stopExecution } from '../../log/commands/execution.ts'
import { parseInput } from '../../log/commands/input.ts'
import type { Engine, WriteOptions } from '../../log/engine.ts'
import { Id } from '../../log/events/id.ts'
import { isOfType, type RecordedEvent } from '../../log/events/recorded-event.ts'
import type { Lease } from '../../log/leases.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { RunningExecution } from '../../log/views/execution-time.ts'
import { timerMs } from '../../timers.ts'
import type { ConversationAccess } from '../access/conversation-access.ts'
import { checkAsked } from '../access/input-schemas.ts'
import type { Execution, ExecutionTime } from './turn-views.ts'

/** Renews the leases of what runs in this process. One for all projects of an open store. */
export interface ExecutionKeeper {
  readonly leaseMs: number
  keep(project: string, executionId: string, lease: Lease): void
  release(executionId: string): Promise<void>
  /** Gives every lease back: what was not stopped is found dead by the next who looks. */
  close(): Promise<void>
}

export function executionKeeper({ store }: Engine, leaseMs: number): ExecutionKeeper {
  const kept = new Map<string, { project: string; name: string; generation: number }>()
  let timer: NodeJS.Timeout | undefined
  const renew = () => {
    for (const [id, lease] of kept) {
      store.renew({ ...lease, forMs: leaseMs }).catch(error => {
        // A lease that is lost is for others to take; whatever else went wrong may go right the next time.
        if (error instanceof LeaseLost) kept.delete(id)
      })
    }
  }
  const keeper: ExecutionKeeper = {
    leaseMs,
    keep(project, id, { name, generation }) {
      kept.set(id, { project, name, generation })
      timer ??= setInterval(renew, timerMs(leaseMs / 3)).unref()
    },
    async release(id) {
      const lease = kept.get(id)
      kept.delete(id)
      if (lease) await store.release(lease)
    },
    async close() {
      clearInterval(timer)
      await Promise.allSettled([...kept.keys()].map(id => keeper.release(id)))
    },
  }
  return keeper
}

export class Executions {
  readonly #access: ConversationAccess
  readonly #keeper: ExecutionKeeper

  constructor(access: ConversationAccess, keeper: ExecutionKeeper) {
    this.#access = access
    this.#keeper = keeper
  }

  async start(conversationId: string, agent: string, options: WriteOptions | undefined): Promise<Execution> {
    parseInput(Id, agent)
    const { engine, scope } = this.#access
    const { project } = scope
    const head = await this.#access.head(conversationId)
    // A repeated call under the same key is the same execution, and so holds its lease.
    const executionId = options?.idempotencyKey ?? engine.newId()
    const name = leaseName(conversationId, agent)
    const lease = await engine.store.claim({ project, name, holder: executionId, forMs: this.#keeper.leaseMs })
    try {
      const dead = await this.#lastSeen(head, one => one.agent === agent)
      const decide = startExecution(conversationId, { executionId, agent }, dead)
      const asked = ['startExecution', conversationId, agent]
      const { events } = await this.#access.execute(conversationId, { decide, asked, options })
      const started = events.find(recorded => isOfType(recorded, 'execution.started'))!
      this.#keeper.keep(project, started.event.executionId, lease)
      return { executionId: started.event.executionId, agent, startedAt: started.at }
    } catch (error) {
      await engine.store.release({ project, name, generation: lease.generation })
      throw error
    }
  }

  /** Returns the time of the conversation with it. */
  async stop(
    conversationId: string,
    which: { agent: string; executionId?: string },
    options: WriteOptions | undefined,
  ): Promise<ExecutionTime> {
    checkAsked('stopped', which)
    const decide = stopExecution(conversationId, which)
    const asked = ['stopExecution', conversationId, which]
    const { conversation, events } = await this.#access.execute(conversationId, { decide, asked, options })
    for (const recorded of events)
      if (isOfType(recorded, 'execution.stopped')) await this.#keeper.release(recorded.event.executionId)
    return this.#time(conversation ?? (await this.#access.head(conversationId)))
  }

  async time(conversationId: string): Promise<ExecutionTime> {
    const head = await this.#access.head(conversationId)
    return this.#time((await this.settle(head)) > 0 ? await this.#access.head(conversationId) : head)
  }

  /** Closes what is dead. Returns how many were. */
  async settle(head: ConversationHead, options?: WriteOptions): Promise<number> {
    const { engine, scope } = this.#access
    const dead = new Set<string>()
    for (const { id, agent } of head.info.execution?.running ?? []) {
      const lease = await engine.store.holderOf({ project: scope.project, name: leaseName(head.info.id, agent) })
      if (lease?.holder !== id) dead.add(id)
    }
    if (dead.size === 0) return 0
    const lastSeen = await this.#lastSeen(head, one => dead.has(one.id))
    return this.#access.settle(head.info.id, closeCrashed(lastSeen), options)
  }

  /** When the agents of some executions last did something that the log knows of. */
  async #lastSeen(head: ConversationHead, isMeant: (one: RunningExecution) => boolean): Promise<Map<string, number>> {
    const open = (head.info.execution?.running ?? []).filter(isMeant)
    const seen = new Map<string, number>()
    if (open.length === 0) return seen
    const first = Math.min(...open.map(one => one.version))
    const missing = new Map(open.map(one => [one.agent, one]))
    const limit = 500
    for (let to = head.version; to > first && missing.size > 0; to -= limit) {
      const from = Math.max(first + 1, to - limit + 1)
      const range = {
        project: this.#access.scope.project,
        conversationId: head.info.id,
        from,
        to,
        limit,
        backwards: true,
      }
      for (const recorded of await this.#access.engine.store.read(range)) {
        const agent = agentOf(recorded)
        const one = agent === undefined ? undefined : missing.get(agent)
        if (!one || recorded.version < one.version) continue
        seen.set(one.id, Date.parse(recorded.at))
        missing.delete(one.agent)
      }
    }
    for (const one of missing.values()) seen.set(one.id, Date.parse(one.startedAt))
    return seen
  }

  #time({ info }: ConversationHead): ExecutionTime {
    const { totalMs, agents, running } = info.execution ?? { totalMs: 0, agents: {}, running: [] }
    const now = this.#access.engine.clock()
    const time: ExecutionTime = {
      totalMs,
      agents: { ...agents },
      isActive: running.length > 0,
      running: running.map(({ id, agent, startedAt }) => ({ executionId: id, agent, startedAt })),
    }
    for (const { agent, startedAt } of running) {
      const ms = Math.max(0, now - Date.parse(startedAt))
      time.totalMs += ms
      time.agents[agent] = (time.agents[agent] ?? 0) + ms
    }
    return time
  }
}

function leaseName(conversationId: string, agent: string): string {
  return `execution ${conversationId} ${agent}`
}

/** The agent that did it, as far as the event says. */
function agentOf({ event }: RecordedEvent): string | undefined {
  if (event.type === 'message.added') return event.role === 'assistant' ? event.author : undefined
  if (event.type === 'delegation.started') return event.from
  if (event.type === 'execution.stopped' || !('agent' in event)) return undefined
  return event.agent
}
