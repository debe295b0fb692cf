/** What a dispatcher of this process works with: the queue, leases and places, and the log. */
import { createHash } from 'node:crypto'
import { type KeptLease, keepAny } from '../../conversation/access/renewed-lease.ts'
import type { WorkAccess } from '../../conversation/work/work-access.ts'
import type { WorkManager } from '../../conversation/work/work-manager.ts'
import { ModelMissing } from '../../errors.ts'
import { endDispatch, startDispatch } from '../../log/commands/work/dispatch.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import { isOfType } from '../../log/events/recorded-event.ts'
import { TaskState } from '../../log/events/work/work.ts'
import { type WorkItem, workItemKey } from '../../log/events/work-item.ts'
import { printOf } from '../../log/views/text-sketch.ts'
import { agentFor } from '../../log/views/work/state-transitions.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import type { DispatchSettings } from './dispatch-settings.ts'
import type { Candidate, DispatcherDesk } from './dispatcher.ts'
import { backOff, findGuard, waitsUntil } from './guards.ts'
import { settleWaiting } from './waiting-beads.ts'
import { workChanges } from './work-changes.ts'
import type { DispatchedItem, TaskWorker, Worker } from './worker.ts'

interface DispatchDeskParts {
  engine: Engine
  scope: Scope
  access: WorkAccess
  work: WorkManager
  agents: AgentManager
  settings: DispatchSettings
  /** Who does what: of kinds that have none nothing is taken. */
  workers: { bead: Worker; task?: TaskWorker }
  node: string
}

/** As many are asked for at once: of those that others have, one is passed over without a question each. */
const mostCandidates = 200

export function dispatchDesk(parts: DispatchDeskParts): DispatcherDesk {
  const { engine, scope, access, work, agents, settings, workers, node } = parts
  const { project } = scope
  const { guards } = settings
  const changes = workChanges(engine.store, project)
  let hasParked = false
  /** When items that failed here may be tried again. */
  const later = new Map<string, number>()

  const keep = (names: readonly string[]) => keepAny(engine, { project, names, holder: node, forMs: settings.leaseMs })

  async function placesFor(agent: string): Promise<readonly string[][]> {
    const places: string[][] = []
    if (settings.perProject !== null) places.push(numbered('dispatch place', settings.perProject))
    const model = await agents.model(agent).catch(error => {
      // Whoever does the work says so.
      if (error instanceof ModelMissing) return undefined
      throw error
    })
    const most = model && settings.perModel[model.name]
    if (most !== undefined) places.push(numbered(`dispatch model ${digestOf(model!.name)}`, most))
    return places
  }

  return {
    node,
    now: engine.clock,
    async ready() {
      const kinds = workers.task ? (['task', 'bead'] as const) : (['bead'] as const)
      const items = await work.ready({ kinds, limit: mostCandidates })
      const chosen = await workers.task?.choose(items.flatMap(({ item }) => (item.type === 'task' ? [item] : [])))
      return items
        .filter(({ item }) => item.type === 'bead' || chosen?.has(JSON.stringify([item.featureId, item.taskId])))
        .map(({ item, title, state, priority }): Candidate => ({ item, title, state, priority, lease: leaseOf(item) }))
    },
    claim: keep,
    async agentFor({ item, state }) {
      const head = await access.find(item)
      // Whom a task is given to its state says; its work looks after the rest.
      if (item.type === 'task') return agentFor('task', state) ?? 'dev'
      const given = head?.info.work?.type === 'bead' ? (head.info.work.agent ?? settings.agent) : undefined
      return head?.info.dispatches?.next?.agent ?? given ?? 'dev'
    },
    async place(agent) {
      const taken: KeptLease[] = []
      const release = async () => {
        await Promise.allSettled(taken.map(one => one.release()))
      }
      for (const names of await placesFor(agent)) {
        const lease = await keep(names)
        if (!lease) {
          await release()
          return undefined
        }
        taken.push(lease)
      }
      return { release }
    },
    async start({ item, title }, agent, lease) {
      const dispatchId = engine.newId()
      const before = (await access.find(item))?.info.dispatches?.next
      const decide = startDispatch({
        item,
        dispatchId,
        agent,
        node,
        ...statesOf(item),
        guard: state => findGuard(state, agent, guards),
        waitsUntil: state => waitsUntil(state, guards),
        conversation: access.newConversation(title),
      })
      const { events, conversation } = await access.write(item, decide, [], { fence: lease.fence })
      const started = events.find(recorded => isOfType(recorded, 'dispatch.started'))
      if (started) {
        const message = before?.agent === agent ? before.message : undefined
        const { work: standing, dispatches } = conversation!.info
        const state = standing?.state ?? started.event.state
        const hop = dispatches!.hops
        const job = { dispatchId, item, title, state, agent, hop, fence: lease.fence }
        return { state: 'started', job: message === undefined ? job : { ...job, message } }
      }
      const moved = events.find(recorded => isOfType(recorded, 'work.moved'))
      hasParked ||= moved !== undefined
      if (moved) return { state: 'parked', reason: moved.event.reason ?? '' }
      const until = waitsUntil(conversation?.info.dispatches, guards)
      if (until > engine.clock()) later.set(lease.name, until)
      return { state: 'left' }
    },
    work: (job, signal) => (job.item.type === 'bead' ? workers.bead(job, signal) : workers.task!.work(job, signal)),
    async end(job, done) {
      const { dispatchId, item, agent, title, fence } = job
      const { outcome, reason, summary, text, next, sessionId } = done
      const decide = endDispatch({
        item,
        dispatchId,
        agent,
        sessionId,
        outcome,
        ...(reason !== undefined && { reason }),
        ...(summary !== undefined && { summary }),
        ...(text !== undefined && { print: printOf(text.slice(0, 20_000)) }),
        ...(next && { next }),
        to: done.to ?? (item.type === 'bead' ? beadStates[outcome] : outcome === 'parked' ? 'blocked' : undefined),
        waitMs: state => Math.max(guards.coolDownMs, outcome === 'failed' ? backOff(state, guards) : 0),
        conversation: access.newConversation(title),
      })
      const { conversation } = await access.write(item, decide, [], { fence })
      hasParked ||= outcome === 'parked'
      const notBefore = conversation?.info.work?.attempts?.notBefore
      if (notBefore !== undefined) later.set(leaseOf(item), Date.parse(notBefore))
    },
    async settle() {
      // Said by others comes with the log; what was parked here is known at once.
      if (!changes.concernedParked() && !hasParked) return []
      hasParked = false
      return settleWaiting(access, work)
    },
    async nextTry(ofAll) {
      const now = engine.clock()
      for (const [name, until] of later) if (until <= now) later.delete(name)
      const known = [...later.values()]
      if (ofAll) {
        for await (const { info } of access.walk({
          type: 'bead',
          states: ['open', 'in_progress'],
          status: ['active'],
        })) {
          const notBefore = info.work?.attempts?.notBefore
          if (notBefore !== undefined && Date.parse(notBefore) > now) known.push(Date.parse(notBefore))
        }
      }
      return known.length === 0 ? undefined : Math.min(...known)
    },
    changed: signal => changes.next(signal),
    close: () => changes.close(),
  }
}

const beadStates = { done: 'done', parked: 'parked', continues: undefined, failed: undefined, stopped: undefined }

/** Where an item must be to be taken, where it goes then, and where when a guard keeps it. Tasks are moved by their work. */
function statesOf({ type }: DispatchedItem) {
  if (type === 'bead') return { states: ['open', 'in_progress'], to: 'in_progress', parkedIn: 'parked' }
  const states = TaskState.options.filter(state => agentFor('task', state) !== undefined)
  return { states, to: undefined, parkedIn: 'blocked' }
}

/** Ids may be as long as a lease's name may be, so the name has their digest. */
export function leaseOf(item: WorkItem): string {
  return `work ${digestOf(workItemKey(item))}`
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name} ${index + 1}`)
}
