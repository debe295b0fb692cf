/**
 * From proposals to a batch: their heads, known or read, and each decided in turn on what those before it will have made of
 * its conversation.
 */

import type { Appended, Proposal } from '../../log/event-log.ts'
import type { ConversationEvent } from '../../log/events/event.ts'
import { Recent } from '../../log/lru.ts'
import { type SessionHead, sessionKey } from '../../log/views/session.ts'
import { addEvents, closeDraft, type Draft, decided, draftOn, lockKeyOf, sessionsIn } from './append.ts'
import { branchBase } from './branches.ts'
import type { Database, Run } from './database.ts'
import { isLostConnection } from './errors.ts'
import { conversationKey, type Found, type HeadStore, workHash, workHashOf } from './heads.ts'
import { type Batch, emptyBatch } from './insert-events.ts'
import type { Projects } from './projects.ts'
import { type Group, largestBatch, type Waiting } from './waiting.ts'

export interface Drafted {
  batch: Batch
  groups: Group[]
  /** Those for another call: this one is large enough, or has their key in it. */
  held: Waiting[]
}

/** Which conversations a call may take up. */
export interface Reservations {
  /** Takes a conversation for this call; false when another call under way has it. */
  take(key: string): boolean
  /** Who waits for one that is taken. */
  block(waiting: Waiting): void
}

export type Drafter = ReturnType<typeof drafter>

export function drafter({
  database,
  heads,
  projects,
  epoch,
  clock,
  leaseClock,
  refuseLast,
  answerUnwritten,
}: {
  database: Database
  heads: HeadStore
  projects: Projects
  epoch: string
  clock: () => number
  leaseClock: () => number | null
  /** Tells a refusal, unless a used key or a lost lease counts before it. */
  refuseLast(waiting: Waiting, error: unknown): void
  /** Tells that nothing was to be written, unless a lost lease counts before it. */
  answerUnwritten(waiting: Waiting, appended: Appended): void
}) {
  const freeNumbers: number[] = []
  const locks = new Recent<string>(4096)

  /** What is kept, where all of it is: mostly so, and then nothing has to be waited for. */
  function headsKnown(taken: readonly Waiting[]): Array<Found & { fresh: boolean }> | undefined {
    const found: Array<Found & { fresh: boolean }> = []
    for (const { proposal, fresh } of taken) {
      const one = fresh ? undefined : heads.known(proposal)
      if (!one) return undefined
      found.push({ entry: one.entry, session: one.session, fresh: false })
    }
    return found
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
    return found.map(one => ({ entry: one!.entry, session: one!.session, fresh: false }))
  }

  /** Decides each proposal in turn on what those before it will have made of its conversation. */
  async function draft(
    run: Run,
    taken: readonly Waiting[],
    found: ReadonlyArray<Found & { fresh: boolean }>,
    reservations?: Reservations,
  ): Promise<Drafted> {
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
      const ownKey = entry?.key ?? conversationKey(project, id)
      const known = groups.get(ownKey) ?? (work ? byWork.get(work) : undefined)
      const key = known?.draft.key ?? ownKey
      if (characters > largestBatch.characters || (onceKey && keys.has(onceKey))) {
        held.push(waiting)
        continue
      }
      if (reservations && !reservations.take(key)) {
        reservations.block(waiting)
        continue
      }
      const group: Group = known ?? {
        draft: draftOn(groups.size, { key, project, id }, entry, {
          project: entry?.project ?? 0,
          conversation: entry?.conversation ?? 0,
        }),
        fresh,
        members: [],
      }
      const one = group.draft
      const session = sessionNow(one, proposal, foundSession)
      const answer = (isRefused: boolean, tell: () => void) => {
        group.members.push({ waiting, answer: tell, isRefused })
        groups.set(one.key, group)
      }
      try {
        const events = decided(proposal, one.entry, session)
        const now = clock()
        const isUnwritten = events.length === 0 && !once
        if (!isUnwritten && !isPrepared(one, events)) await prepare(run, one, events, now)
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
        if (fence && !isUnwritten) batch.fences.push({ g: one.g, p, ...fence, now: leaseClock() })
        for (const { event } of appended.events) characters += sizeOf(event as ConversationEvent)
        // Deciding for nothing is an answer like a refusal: it must have been made on what is there.
        answer(isUnwritten, () => (isUnwritten ? answerUnwritten(waiting, appended) : waiting.resolve(appended)))
        // One that is new: others may ask for it by its work item only.
        if (one.entry && !one.base) byWork.set(`${project}\0${workHashOf(one.entry.head.info)}`, group)
      } catch (error) {
        if (isLostConnection(error)) throw error
        answer(true, () => refuseLast(waiting, error))
      }
    }
    const all = [...groups.values()]
    for (const { draft: one, members, fresh } of all) {
      if (members.every(member => member.isRefused)) continue
      // The call compares versions where it writes events. A key that recorded none must have been decided on what is there.
      if (fresh || one.recorded.length > 0) closeDraft(batch, one, lockOf(one))
      else leaveOut(batch, one)
    }
    return { batch, groups: all, held }
  }

  /** Asked for with every append, and always the same. */
  function lockOf({ key, project, id }: Draft): string {
    let lock = locks.get(key)
    if (lock === undefined) {
      lock = lockKeyOf(epoch, project, id)
      locks.set(key, lock)
    }
    return lock
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

  return { headsKnown, headsFor, draft }
}

/** Whether everything that its rows need is known: mostly so, and then nothing has to be waited for. */
function isPrepared({ entry, numbers }: Draft, events: readonly ConversationEvent[]): boolean {
  if (!entry || numbers.project === 0 || numbers.conversation === 0) return false
  return sessionsIn(events).every(id => entry.sessions.has(id))
}

/** What nobody sends is decided again, on heads that are read for it. */
function leaveOut(batch: Batch, { g }: Draft): void {
  batch.keys = batch.keys.filter(key => key.g !== g)
  batch.fences = batch.fences.filter(fence => fence.g !== g)
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

/** About how much of the call an event takes. */
function sizeOf(event: ConversationEvent): number {
  if (event.type !== 'message.added') return 200
  let size = 200
  for (const part of event.parts) if ('text' in part && part.text) size += part.text.length
  return size
}
