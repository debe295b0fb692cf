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
import { ConversationPurged, KeyReused, LeaseLost, StoreBusy, StoreClosed } from '../../errors.ts'
import type { ConversationEvent } from '../../events/event.ts'
import type { Appended, Proposal } from '../../log/event-log.ts'
import { refuseOddText } from '../../log/proposal.ts'
import type { WriteQueue } from '../../log/store.ts'
import type { SessionHead } from '../../views/session.ts'
import { sessionKey } from '../../views/session.ts'
import { addEvents, closeDraft, type Draft, decided, draftOn, lockKeyOf, placeEvents, sessionsIn } from './append.ts'
import { branchBase } from './branches.ts'
import type { Database, Run } from './database.ts'
import { asStoreError, isCollision, isConstraint, isLostConnection } from './errors.ts'
import { type Found, type HeadStore, workHash } from './heads.ts'
import { type Batch, emptyBatch, insertEvents, type Refusal } from './insert-events.ts'
import type { Place } from './position.ts'
import type { Projects } from './projects.ts'
import type { ReadEvents } from './read.ts'

export interface Writer {
  append(proposal: Proposal): Promise<Appended>
  /** The same inside a transaction of the caller's, which holds the conversation's lock. */
  appendWithin(run: Run, proposal: Proposal): Promise<Appended>
  queue(): WriteQueue
  /** Resolves when nothing is waiting any more; refuses what comes later. */
  close(): Promise<void>
}

interface Waiting {
  proposal: Proposal
  resolve(appended: Appended): void
  reject(error: unknown): void
  deadline: number
  /** It shared a call that failed, and is tried again alone. */
  alone: boolean
  /** Its heads must be read again. */
  fresh: boolean
  /** How often its conversation had moved on, and where that is. */
  tries: number
  at?: { project: string; id: string }
}

/** A draft with those who wait for it. */
interface Group {
  draft: Draft
  /** Whether its base was read for this call. */
  fresh: boolean
  members: Array<{ waiting: Waiting; answer: () => void; isRefused: boolean }>
}

/** After so many times in vain, the conversation's lock is taken first: slower, but it comes to an end. */
const triesWithoutLock = 3

/** More in one call would hold its conversations, and the memory for it, for too long. */
const largestBatch = { proposals: 256, characters: 8_000_000 }

export function writer({
  database,
  heads,
  projects,
  epoch,
  base,
  clock,
  leaseClock,
  isHeld,
  busyTimeoutMs,
  calls,
  read,
  purgedArchive,
  committed,
  started,
}: {
  database: Database
  heads: HeadStore
  projects: Projects
  epoch: string
  base: number
  clock: () => number
  /** The time that leases are measured by; null for the server's. */
  leaseClock: () => number | null
  isHeld(project: number, fence: { name: string; generation: number }): Promise<boolean>
  busyTimeoutMs: number
  /** How many calls may be under way at once. */
  calls: number
  read: ReadEvents
  purgedArchive(project: number, conversationId: string): Promise<string>
  /** Called after each commit with the projects it wrote to, and how many events. */
  committed(projects: ReadonlySet<string>, events: number): void
  /** What must be over before anything is written: subscriptions that are finding out where they start. */
  started(): Promise<unknown> | undefined
}): Writer {
  let queue: Waiting[] = []
  /** The most that waited since somebody last asked. */
  let most = 0
  /** Those whose conversation is in a call under way; they come first when a call is over. */
  let blocked: Waiting[] = []
  let underWay = 0
  let scheduled = false
  let closed = false
  let idle: (() => void) | undefined
  /** Conversations in calls under way; others wait for them here rather than at the server. */
  const busy = new Set<string>()
  const freeNumbers: number[] = []

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
    setImmediate(flush)
  }

  function flush(): void {
    scheduled = false
    if (queue.length === 0 || underWay >= calls) return
    const first = queue[0]!
    const unlucky = first.tries >= triesWithoutLock && first.at
    const taken = unlucky ? takeAll(unlucky) : queue.splice(0, first.alone ? 1 : largestBatch.proposals)
    underWay++
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
    let drafted: Awaited<ReturnType<typeof draft>> | undefined
    let sent: Sent = { tx: 0, refused: [], isRepeated: false }
    const fresh = taken.map(waiting => ({ ...waiting, fresh: true }))
    try {
      await database.transaction(async run => {
        await run('select pg_advisory_xact_lock($1)', [lockKeyOf(epoch, project, id)])
        drafted = await draft(run, fresh, await headsFor(run, fresh), undefined)
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
    await started()
    const found = await headsFor(database.read, taken)
    const own = new Set<string>()
    try {
      const { batch, groups, held } = await draft(database.read, taken, found, own)
      queue.unshift(...held)
      await commit(batch, groups)
    } finally {
      for (const key of own) busy.delete(key)
    }
  }

  async function headsFor(run: Run, taken: readonly Waiting[]): Promise<Array<Found & { fresh: boolean }>> {
    const found = taken.map(({ proposal, fresh }) => (fresh ? undefined : heads.known(proposal)))
    const missing = taken.flatMap((waiting, index) => (found[index] ? [] : [{ waiting, index }]))
    if (missing.length > 0) {
      const asked = []
      for (const { waiting } of missing) {
        const { proposal } = waiting
        asked.push({ proposal, number: projects.known(proposal.project) ?? (await projects.find(proposal.project)) })
      }
      const loaded = await heads.load(run, asked)
      const answer: Array<Found & { fresh: boolean }> = found.map(one => ({
        entry: one?.entry,
        session: one?.session,
        fresh: false,
      }))
      for (const [at, { index }] of missing.entries()) answer[index] = { ...loaded[at]!, fresh: true }
      return answer
    }
    return found.map(one => ({ ...one!, fresh: false }))
  }

  /** Decides each proposal in turn on what those before it will have made of its conversation. */
  async function draft(
    run: Run,
    taken: readonly Waiting[],
    found: ReadonlyArray<Found & { fresh: boolean }>,
    own: Set<string> | undefined,
  ): Promise<{ batch: Batch; groups: Group[]; held: Waiting[] }> {
    const batch = emptyBatch()
    const groups = new Map<string, Group>()
    const byWork = new Map<string, Group>()
    const keys = new Set<string>()
    const held: Waiting[] = []
    let characters = 0
    for (const [index, waiting] of taken.entries()) {
      const { proposal } = waiting
      const { project, conversation, once, fence } = proposal
      const { entry, session: foundSession, fresh } = found[index]!
      const onceKey = once && `${project}\0${once.key}`
      const id =
        entry?.head.info.id ?? (conversation === 'of-session' ? (foundSession?.conversationId ?? '') : conversation.id)
      const work =
        conversation !== 'of-session' && conversation.workItem && `${project}\0${workHash(conversation.workItem)}`
      const known = groups.get(`${project}\0${id}`) ?? (work ? byWork.get(work) : undefined)
      const key = `${project}\0${known?.draft.id ?? id}`
      if (own && busy.has(key) && !own.has(key)) {
        blocked.push(waiting)
        continue
      }
      if (characters > largestBatch.characters || (onceKey && keys.has(onceKey))) {
        held.push(waiting)
        continue
      }
      const group: Group = known ?? {
        draft: draftOn(groups.size, project, id, entry, {
          project: entry?.project ?? 0,
          conversation: entry?.conversation ?? 0,
        }),
        fresh,
        members: [],
      }
      if (own) {
        own.add(key)
        busy.add(key)
      }
      const one = group.draft
      const session = sessionNow(one, proposal, foundSession)
      const answer = (isRefused: boolean, tell: () => void) => {
        group.members.push({ waiting, answer: tell, isRefused })
        groups.set(keyOf(one), group)
      }
      try {
        const events = decided(proposal, one.entry, session)
        const now = clock()
        if (events.length > 0 || once) await prepare(run, one, events, now)
        const appended =
          events.length === 0
            ? { conversation: one.entry?.head, session, events: [], replayed: false }
            : addEvents(batch, one, proposal, { events, session, now })
        const { project: p } = one.numbers
        if (once) {
          keys.add(onceKey!)
          const last = one.entry?.head.version ?? 0
          batch.keys.push({
            g: one.g,
            p,
            key: once.key,
            digest: once.digest,
            conversation: one.id,
            first: last - events.length + 1,
            last,
            session: appended.session?.id ?? null,
          })
        }
        if (fence && (events.length > 0 || once)) batch.fences.push({ g: one.g, p, ...fence, now: leaseClock() })
        for (const { event } of appended.events) characters += sizeOf(event as ConversationEvent)
        // Deciding for nothing is an answer like a refusal: it must have been made on what is there.
        answer(events.length === 0 && !once, () => waiting.resolve(appended))
        if (one.entry) byWork.set(`${project}\0${workHash(one.entry.head.info.workItem)}`, group)
      } catch (error) {
        if (isLostConnection(error)) throw error
        answer(true, () => refuseLast(waiting, error))
      }
    }
    const all = [...groups.values()]
    for (const { draft: one, members } of all) {
      if (members.some(member => !member.isRefused)) closeDraft(batch, one, lockKeyOf(epoch, one.project, one.id))
    }
    return { batch, groups: all, held }
  }

  /** The session as the drafts before this proposal have left it. */
  function sessionNow(
    { entry, sessions }: Draft,
    { session }: Proposal,
    found: SessionHead | undefined,
  ): SessionHead | undefined {
    if (!session) return undefined
    if ('id' in session) return entry?.sessions.get(session.id) ?? found
    for (const { head } of sessions.values()) {
      if (head.status === 'active' && sessionKey(head) === session.key) return head
    }
    const now = found && (entry?.sessions.get(found.id) ?? found)
    return now?.status === 'active' ? now : undefined
  }

  /** The numbers that a draft's rows need, what a new branch goes on from, and the sessions its events are about. */
  async function prepare(run: Run, draft: Draft, events: readonly ConversationEvent[], now: number): Promise<void> {
    const { numbers } = draft
    if (!draft.entry) draft.branch = await branchBase(run, await projects.find(draft.project), events)
    if (numbers.project === 0)
      numbers.project = projects.known(draft.project) ?? (await projects.ensure(draft.project, now))
    if (numbers.conversation === 0 && events.length > 0) numbers.conversation = await freshNumber()
    const missing = sessionsIn(events).filter(id => !draft.entry?.sessions.has(id))
    if (missing.length === 0 || !draft.entry) return
    const rows = await run<[string, string]>(
      'select id, head from sessions where project = $1 and conversation = $2 and id = any($3::text[])',
      [numbers.project, numbers.conversation, missing],
    )
    const sessions = new Map(draft.entry.sessions)
    for (const [id, head] of rows) sessions.set(id, JSON.parse(head) as SessionHead)
    draft.entry = { ...draft.entry, sessions }
  }

  async function freshNumber(): Promise<number> {
    if (freeNumbers.length === 0) {
      const [row] = await database.read<[number]>(`select nextval('conversation_numbers')`)
      for (let i = 31; i >= 0; i--) freeNumbers.push(row![0] + i)
    }
    return freeNumbers.pop()!
  }

  async function commit(batch: Batch, groups: readonly Group[]): Promise<void> {
    if (batch.groups.length > 0) {
      const sent = await send(batch, groups)
      if (!sent) return
      await settle(batch, groups, sent)
    } else for (const group of groups) tellRefused(group)
  }

  /** Nothing was to be written for a group: refusals made on heads that were read for them are told. */
  function tellRefused(group: Group): void {
    if (group.fresh) for (const { answer } of group.members) answer()
    else again(group.members.map(member => member.waiting))
  }

  interface Sent {
    tx: number
    refused: Refusal[]
    /** An earlier sending of the same call may have been committed. */
    isRepeated: boolean
  }

  /** Sends the call until it is answered, or until nobody wants to wait any more. */
  async function send(batch: Batch, groups: readonly Group[]): Promise<Sent | undefined> {
    const waiting = groups.flatMap(group => group.members.map(member => member.waiting))
    const deadline = Math.max(...waiting.map(one => one.deadline))
    let isRepeated = false
    for (let tries = 0; ; tries++) {
      try {
        return { ...(await insertEvents(database.once, base, batch)), isRepeated }
      } catch (error) {
        const isLost = isLostConnection(error)
        isRepeated ||= isLost
        if ((isLost || isCollision(error)) && performance.now() < deadline) {
          await wait(Math.min(250, 5 * 2 ** tries) * (0.5 + Math.random()))
          continue
        }
        for (const { draft: one } of groups) heads.forget(one.project, one.id)
        // One bad write must not take the others with it, and heads out of date must not be blamed on the caller.
        if (isConstraint(error) && (waiting.length > 1 || !waiting[0]!.alone)) {
          queue.unshift(...waiting.map(one => ({ ...one, alone: true, fresh: true })))
        } else for (const one of waiting) one.reject(asStoreError(error, database.place.name))
        return undefined
      }
    }
  }

  async function settle(batch: Batch, groups: readonly Group[], sent: Sent): Promise<void> {
    const written = new Set<string>()
    let events = 0
    for (const group of groups) {
      const { draft: one } = group
      if (!batch.groups.some(row => row.g === one.g)) {
        tellRefused(group)
        continue
      }
      const refusals = sent.refused.filter(refusal => refusal.g === one.g)
      let placeOf: ((n: number) => Place) | undefined = n => ({ tx: sent.tx, n })
      if (refusals.length > 0) placeOf = sent.isRepeated ? await placeOfEarlier(one) : undefined
      if (!placeOf) {
        await refuse(group, refusals)
        continue
      }
      placeEvents(one, epoch, placeOf)
      if (one.entry && one.recorded.length > 0) {
        heads.keep(one.entry)
        written.add(one.project)
        events += one.recorded.length
      }
      for (const { answer } of group.members) answer()
    }
    if (written.size > 0) committed(written, events)
  }

  /** Where the events stand if an earlier sending was committed after all: its hash is nobody else's. */
  async function placeOfEarlier({ numbers, recorded }: Draft): Promise<((n: number) => Place) | undefined> {
    const last = recorded.at(-1)
    if (!last) return undefined
    const [row] = await database.read<[number, number, string]>(
      `select tx, n, encode(hash, 'hex') from events where project = $1 and conversation = $2 and version = $3`,
      [numbers.project, numbers.conversation, last.event.version],
    )
    if (row?.[2] !== last.event.hash) return undefined
    const [tx, lastPlace] = row
    return n => ({ tx, n: n - last.n + lastPlace })
  }

  async function refuse({ draft: one, members }: Group, refusals: readonly Refusal[]): Promise<void> {
    heads.forget(one.project, one.id)
    const usedKeys = new Set(refusals.filter(({ why }) => why === 'key').map(({ what }) => what))
    const lost = new Set(refusals.filter(({ why }) => why === 'fence').map(({ what }) => what))
    const rest: Waiting[] = []
    for (const { waiting } of members) {
      const { once, fence } = waiting.proposal
      if (once && usedKeys.has(once.key)) {
        await replay(waiting.proposal, one.numbers.project).then(waiting.resolve, waiting.reject)
      } else if (fence && lost.has(`${fence.name} ${fence.generation}`)) waiting.reject(new LeaseLost(fence))
      else rest.push(waiting)
    }
    again(rest.map(waiting => ({ ...waiting, at: { project: one.project, id: one.id } })))
  }

  /** A key that was used before and a lease that is lost count before whatever the decision says. */
  function refuseLast(waiting: Waiting, error: unknown): void {
    const { proposal } = waiting
    const { project, once, fence } = proposal
    const number = projects.known(project)
    if ((!once && !fence) || number === undefined) {
      waiting.reject(error)
      return
    }
    const look = async () => {
      if (once && (await isUsed(number, once.key))) return replay(proposal, number)
      if (fence && !(await isHeld(number, fence))) throw new LeaseLost(fence)
      throw error
    }
    look().then(waiting.resolve, waiting.reject)
  }

  async function isUsed(project: number, key: string): Promise<boolean> {
    const [row] = await database.read<[boolean]>('select exists (select 1 from keys where project = $1 and key = $2)', [
      project,
      key,
    ])
    return row![0]
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

  /** What the same key recorded before. */
  async function replay({ project, once }: Proposal, number: number): Promise<Appended> {
    const [found] = await database.read<[string, string, number, number, string | null]>(
      `select digest, conversation_id, first_version, last_version, session_id from keys where project = $1 and key = $2`,
      [number, once!.key],
    )
    const [digest, conversationId, first, last, sessionId] = found!
    if (digest !== once!.digest) throw new KeyReused(once!.key)
    const [{ entry, session } = { entry: undefined, session: undefined }] = await heads.load(database.read, [
      {
        proposal: {
          project,
          conversation: { id: conversationId },
          ...(sessionId !== null && { session: { id: sessionId } }),
        } as Proposal,
        number,
      },
    ])
    if (!entry && last >= first) {
      throw new ConversationPurged({ conversationId, archive: await purgedArchive(number, conversationId) })
    }
    const events =
      entry && last >= first
        ? await read({ project, conversationId, from: first, to: last, limit: last - first + 1 })
        : []
    return { conversation: entry?.head, session, events, replayed: true }
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
    const { batch, groups } = await draft(run, [waiting], await headsFor(run, [waiting]), undefined)
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

function keyOf({ project, id }: Draft): string {
  return `${project}\0${id}`
}

/** About how much of the call an event takes. */
function sizeOf(event: ConversationEvent): number {
  if (event.type !== 'message.added') return 200
  let size = 200
  for (const part of event.parts) if ('text' in part && part.text) size += part.text.length
  return size
}
