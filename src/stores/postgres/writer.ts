/**
 * Group commit: what is asked for while another call is under way shares the next one. Each call is one round trip and
 * one transaction of its own, so nothing is locked while this process thinks, sleeps or is gone.
 *
 * Decisions are made on heads that are kept here and may be out of date. The call compares versions: a conversation that
 * somebody else moved on is refused, read again and decided again. A refusal by a decision counts only when it was made
 * on heads that were read for it.
 *
 * When the connection is lost in the middle of a call, nobody knows whether it was committed. The same call is sent
 * again, rows, salts and hashes included: if it was committed, its own hash stands at the version it wanted, and that is
 * the answer; if not, it is written now.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { StoreBusy, StoreClosed } from '../../errors.ts'
import type { Appended, Proposal } from '../../log/event-log.ts'
import type { WriteQueue } from '../../log/store.ts'
import { refuseOddText } from '../common/proposal.ts'
import { lockKeyOf, placeEvents } from './append.ts'
import type { Run } from './database.ts'
import { type Drafted, drafter, type Reservations } from './drafting.ts'
import { asStoreError, isCollision, isConstraint, isLostConnection } from './errors.ts'
import { type Batch, insertEvents } from './insert-events.ts'
import { type Sent, type SettlingInput, settling } from './settling.ts'
import { type Group, largestBatch, type Waiting } from './waiting.ts'

export interface Writer {
  append(proposal: Proposal): Promise<Appended>
  /** The same inside a transaction of the caller's, which holds the conversation's lock. */
  appendWithin(run: Run, proposal: Proposal): Promise<Appended>
  queue(): WriteQueue
  /** Resolves when nothing is waiting any more; refuses what comes later. */
  close(): Promise<void>
}

/** After so many times in vain, the conversation's lock is taken first: slower, but it comes to an end. */
const triesWithoutLock = 3

/** Fewer than this are better off in one call. */
const worthHalving = 16

export interface WriterInput extends SettlingInput {
  base: number
  clock: () => number
  /** The time that leases are measured by; null for the server's. */
  leaseClock: () => number | null
  busyTimeoutMs: number
  /** How many calls may be under way at once. */
  calls: number
  /** What must be over before anything is written: subscriptions that are finding out where they start. */
  started(): Promise<unknown> | undefined
}

export function writer(input: WriterInput): Writer {
  const { database, heads, projects, epoch, base, busyTimeoutMs, calls, started } = input
  const { settle, tellRefused, refuseLast, answerUnwritten } = settling(input, again)
  const { headsKnown, headsFor, draft } = drafter({ ...input, refuseLast, answerUnwritten })
  let queue: Waiting[] = []
  /** The most that waited since somebody last asked. */
  let most = 0
  /** Those whose conversation is in a call under way; they come first when a call is over. */
  let blocked: Waiting[] = []
  let underWay = 0
  /** Of the last call. */
  let lastSize = 0
  let scheduled = false
  let closed = false
  let idle: (() => void) | undefined
  /** Conversations in calls under way; others wait for them here rather than at the server. */
  const busy = new Set<string>()

  function append(proposal: Proposal): Promise<Appended> {
    if (closed) return Promise.reject(new StoreClosed())
    try {
      refuseOddText(proposal)
    } catch (error) {
      return Promise.reject(error)
    }
    return new Promise<Appended>((resolve, reject) => {
      const deadline = performance.now() + busyTimeoutMs
      queue.push({ proposal, resolve, reject, deadline, alone: false, fresh: false, tries: 0 })
      most = Math.max(most, queue.length + blocked.length)
      schedule()
    })
  }

  function schedule(): void {
    if (scheduled || underWay >= calls || queue.length === 0) return
    scheduled = true
    // Who appends one after the other is not kept waiting for others: those who are ready by now have asked.
    if (underWay === 0 && lastSize === 1) process.nextTick(flush)
    else setImmediate(flush)
  }

  function flush(): void {
    scheduled = false
    if (queue.length === 0 || underWay >= calls) return
    const first = queue[0]!
    const unlucky = first.tries >= triesWithoutLock && first.at
    const taken = unlucky ? takeAll(unlucky) : queue.splice(0, first.alone ? 1 : groupSize())
    underWay++
    lastSize = taken.length
    const working = unlucky ? workLocked(taken, unlucky) : work(taken)
    working
      .catch(error => {
        for (const waiting of taken) waiting.reject(asStoreError(error, database.place.name))
      })
      .finally(() => {
        underWay--
        queue = [...blocked, ...queue]
        blocked = []
        if (queue.length > 0) schedule()
        else if (underWay === 0) idle?.()
      })
    schedule()
  }

  /** Half of many, when nothing is under way: while the server writes them, the other half is decided here. */
  function groupSize(): number {
    const waiting = queue.length
    return Math.min(
      largestBatch.proposals,
      underWay === 0 && waiting >= worthHalving ? Math.ceil(waiting / 2) : waiting,
    )
  }

  /** Everything that waits for one conversation. */
  function takeAll({ project, id }: NonNullable<Waiting['at']>): Waiting[] {
    const isThere = ({ at }: Waiting) => at?.project === project && at.id === id
    const taken = queue.filter(isThere).slice(0, largestBatch.proposals)
    const rest = new Set(taken)
    queue = queue.filter(waiting => !rest.has(waiting))
    return taken
  }

  /** The same under the conversation's lock, in a transaction of several round trips: nobody can come between. */
  async function workLocked(taken: Waiting[], { project, id }: NonNullable<Waiting['at']>): Promise<void> {
    let drafted: Drafted | undefined
    let sent: Sent = { tx: 0, refused: [], isRepeated: false }
    const fresh = taken.map(waiting => ({ ...waiting, fresh: true }))
    try {
      await database.transaction(async run => {
        await run('select pg_advisory_xact_lock($1)', [lockKeyOf(epoch, project, id)])
        drafted = await draft(run, fresh, await headsFor(run, fresh))
        if (drafted.batch.groups.length > 0) sent = { ...sent, ...(await insertEvents(run, base, drafted.batch)) }
      })
    } catch (error) {
      heads.forget(project, id)
      const isUnknown = error instanceof Error && isLostConnection(error.cause)
      if (!isUnknown || !drafted || drafted.batch.groups.length === 0) throw error
      // Perhaps it was committed: then its hash is there; if not, it is decided again.
      sent = {
        tx: 0,
        refused: drafted.groups.map(group => ({ g: group.draft.g, why: 'moved', what: null })),
        isRepeated: true,
      }
    }
    const { batch, groups, held } = drafted!
    queue.unshift(...held)
    if (batch.groups.length > 0) await settle(batch, groups, sent)
    else for (const group of groups) tellRefused(group)
  }

  async function work(taken: Waiting[]): Promise<void> {
    const starting = started()
    if (starting) await starting
    const found = headsKnown(taken) ?? (await headsFor(database.read, taken))
    const own = new Set<string>()
    const reservations: Reservations = {
      take(key) {
        if (busy.has(key) && !own.has(key)) return false
        own.add(key)
        busy.add(key)
        return true
      },
      block: waiting => blocked.push(waiting),
    }
    try {
      const { batch, groups, held } = await draft(database.read, taken, found, reservations)
      queue.unshift(...held)
      await commit(batch, groups)
    } finally {
      for (const key of own) busy.delete(key)
    }
  }

  async function commit(batch: Batch, groups: readonly Group[]): Promise<void> {
    if (batch.groups.length > 0) {
      const sent = await send(batch, groups)
      if (!sent) return
      await settle(batch, groups, sent)
    } else for (const group of groups) tellRefused(group)
  }

  /** Sends the call until it is answered, or until nobody wants to wait any more. */
  async function send(batch: Batch, groups: readonly Group[]): Promise<Sent | undefined> {
    let isRepeated = false
    for (let tries = 0; ; tries++) {
      try {
        return { ...(await insertEvents(database.once, base, batch)), isRepeated }
      } catch (error) {
        const waiting = groups.flatMap(group => group.members.map(member => member.waiting))
        const deadline = Math.max(...waiting.map(one => one.deadline))
        const isLost = isLostConnection(error)
        isRepeated ||= isLost
        if ((isLost || isCollision(error)) && performance.now() < deadline) {
          await wait(Math.min(250, 5 * 2 ** tries) * (0.5 + Math.random()))
          continue
        }
        for (const { draft: one } of groups) {
          heads.forget(one.project, one.id)
          // The number that is known may be that of an empty project in whose place another was copied.
          projects.forget(one.project)
        }
        // One bad write must not take the others with it, and heads out of date must not be blamed on the caller.
        if (isConstraint(error) && (waiting.length > 1 || !waiting[0]!.alone)) {
          queue.unshift(...waiting.map(one => ({ ...one, alone: true, fresh: true })))
        } else for (const one of waiting) one.reject(asStoreError(error, database.place.name))
        return undefined
      }
    }
  }

  /** Back to the front of the queue, to be decided on heads that are read for it. */
  function again(waiting: readonly Waiting[]): void {
    const now = performance.now()
    const late = waiting.filter(one => one.deadline <= now)
    const message = `Others wrote to the same conversation again and again for ${busyTimeoutMs} ms. Nothing was written; try again.`
    for (const one of late) one.reject(new StoreBusy(message))
    const rest = waiting.filter(one => one.deadline > now)
    queue.unshift(...rest.map(one => ({ ...one, fresh: true, tries: one.tries + 1 })))
  }

  async function appendWithin(run: Run, proposal: Proposal): Promise<Appended> {
    let result: { appended: Appended } | { error: unknown } | undefined
    const waiting: Waiting = {
      proposal,
      resolve: appended => {
        result = { appended }
      },
      reject: error => {
        result = { error }
      },
      deadline: 0,
      alone: true,
      fresh: true,
      tries: 0,
    }
    const { batch, groups } = await draft(run, [waiting], await headsFor(run, [waiting]))
    if (batch.groups.length > 0) {
      const { tx, refused } = await insertEvents(run, base, batch)
      if (refused.length > 0) throw new Error(`a write that holds its lock was refused: ${JSON.stringify(refused)}`)
      for (const { draft: one } of groups) {
        placeEvents(one, epoch, n => ({ tx, n }))
        heads.forget(one.project, one.id)
      }
    }
    for (const group of groups) for (const { answer } of group.members) answer()
    if (result && 'appended' in result) return result.appended
    throw result?.error
  }

  async function close(): Promise<void> {
    closed = true
    if (queue.length > 0 || underWay > 0 || scheduled) await new Promise<void>(resolve => (idle = resolve))
  }

  return {
    append,
    appendWithin,
    queue() {
      const waiting = queue.length + blocked.length
      const seen = { waiting, most }
      most = waiting
      return seen
    },
    close,
  }
}
