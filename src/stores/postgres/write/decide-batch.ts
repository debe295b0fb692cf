/** Decides the proposals of a batch in turn, each on what those before it will have made of its conversation. */
import pg from 'pg'
import { ConversationPurged, LeaseLost, NotFound, VersionConflict } from '../../../errors.ts'
import type { Appended, Proposal } from '../../../log/event-log.ts'
import type { ConversationEvent } from '../../../log/events/event.ts'
import type { SessionHead } from '../../../log/views/session.ts'
import { LiveSession, missingConversation } from '../../common/proposal.ts'
import type { Run } from '../database.ts'
import { isLostConnection } from '../errors.ts'
import { type Heads, lastActiveAt, workHash } from '../heads.ts'
import type { BatchFacts, UsedKey } from './batch-facts.ts'
import { branchBase } from './branches.ts'
import { Draft } from './draft.ts'
import type { KeyRow } from './insert-rows.ts'

export type Outcome =
  | { kind: 'appended'; appended: Appended }
  /** The key was used before: what it recorded then is the answer. */
  | { kind: 'replayed'; used: UsedKey }
  | { kind: 'refused'; error: unknown }

export interface DecidedBatch {
  /** One for each proposal; undefined where it has to wait for another batch. */
  outcomes: Array<Outcome | undefined>
  drafts: Draft[]
  keys: KeyRow[]
  /** Projects that must be there before any of it can be written. */
  missingProjects: Set<string>
}

/** More characters in one transaction would hold its conversations, and the memory for it, for too long. */
const maxCharacters = 8_000_000

/**
 * Runs in the transaction that has read the facts.
 *
 * A used key counts first, then a lease that is lost, then what the decision says.
 */
export async function decideBatch(
  run: Run,
  proposals: readonly Proposal[],
  facts: BatchFacts,
  clock: () => number,
): Promise<DecidedBatch> {
  const batch = new Batch(run, facts, clock)
  const outcomes: Array<Outcome | undefined> = []
  for (const [index, proposal] of proposals.entries()) outcomes.push(await batch.take(proposal, facts.heads[index]!))
  const { drafts, keys, missingProjects } = batch
  return { outcomes, drafts: drafts.filter(draft => draft.recorded.length > 0), keys, missingProjects }
}

class Batch {
  readonly drafts: Draft[] = []
  readonly keys: KeyRow[] = []
  readonly missingProjects = new Set<string>()
  readonly #run: Run
  readonly #facts: BatchFacts
  readonly #clock: () => number
  readonly #byId = new Map<string, Draft>()
  readonly #byWork = new Map<string, Draft>()
  readonly #keysTaken = new Set<string>()
  #characters = 0
  #places = 0

  constructor(run: Run, facts: BatchFacts, clock: () => number) {
    this.#run = run
    this.#facts = facts
    this.#clock = clock
  }

  async take(proposal: Proposal, heads: Heads): Promise<Outcome | undefined> {
    const { project, once, fence } = proposal
    const number = this.#facts.projects.get(project)
    const used = once && number !== undefined ? this.#facts.usedKey(number, once.key) : undefined
    if (used) return { kind: 'replayed', used }
    if (fence && (number === undefined || !this.#facts.isHeld(number, fence))) {
      return { kind: 'refused', error: new LeaseLost(fence) }
    }
    if (this.#characters > maxCharacters) return undefined
    if (once && this.#keysTaken.has(`${project}\0${once.key}`)) return undefined
    try {
      return await this.#decide(proposal, heads)
    } catch (error) {
      if (isLostConnection(error) || error instanceof pg.DatabaseError) throw error
      return { kind: 'refused', error: await this.#asPurged(proposal, error) }
    }
  }

  async #decide(proposal: Proposal, heads: Heads): Promise<Outcome> {
    const { project, once } = proposal
    const draft = this.#draftFor(proposal, heads)
    const session = sessionNow(draft, proposal, heads.session)
    const now = this.#clock()
    const events = decide(proposal, draft, session)
    if (events.length === 0 && !once) return { kind: 'appended', appended: unchanged(draft, session) }
    await this.#prepare(draft, events)
    const number = this.#facts.projects.get(project)
    if (number === undefined) {
      this.missingProjects.add(project)
      return { kind: 'appended', appended: unchanged(draft, session) }
    }
    const appended =
      events.length === 0
        ? unchanged(draft, session)
        : draft.add({ origin: proposal.origin, events, session, now }, this.#places)
    this.#keep(draft, proposal)
    this.#places += events.length
    for (const event of events) this.#characters += charactersOf(event)
    if (once) {
      const last = draft.head?.version ?? 0
      this.#keysTaken.add(`${project}\0${once.key}`)
      this.keys.push({
        project: number,
        key: once.key,
        digest: once.digest,
        conversation_id: draft.id,
        first_version: last - events.length + 1,
        last_version: last,
        session_id: appended.session?.id ?? null,
      })
    }
    return { kind: 'appended', appended }
  }

  /** The draft that the batch has of this conversation already, or one that begins with what is stored. */
  #draftFor({ project, conversation, session: asked }: Proposal, { entry, session }: Heads): Draft {
    const named = conversation === 'of-session' ? undefined : conversation
    const created = !named && !session && asked && 'id' in asked ? this.#draftWith(project, asked.id) : undefined
    if (created) return created
    const id = entry?.id ?? named?.id ?? session?.conversationId ?? ''
    const work = named?.workItem && workHash(named.workItem)
    return (
      this.#byId.get(`${project}\0${id}`) ??
      (work === undefined ? undefined : this.#byWork.get(`${project}\0${work}`)) ??
      new Draft(project, id, this.#facts.projects.get(project) ?? 0, entry)
    )
  }

  /** The draft in which an earlier decision of this batch created a session. */
  #draftWith(project: string, sessionId: string): Draft | undefined {
    return this.drafts.find(draft => draft.project === project && draft.sessions.has(sessionId))
  }

  #keep(draft: Draft, { project }: Proposal): void {
    if (!draft.head || this.#byId.has(`${project}\0${draft.id}`)) return
    this.drafts.push(draft)
    this.#byId.set(`${project}\0${draft.id}`, draft)
    // A new conversation is found by its work item only, by those who do not know its id.
    if (!draft.base) this.#byWork.set(`${project}\0${workHash(draft.head.info.workItem)}`, draft)
  }

  /** Reads what folding the events needs: the version a new branch goes on from, and sessions that nothing named. */
  async #prepare(draft: Draft, events: readonly ConversationEvent[]): Promise<void> {
    if (!draft.head) {
      const base = await branchBase(this.#run, draft.projectNumber, events)
      if (base) draft.branchOff(base)
      return
    }
    const missing = sessionsIn(events).filter(id => !draft.sessions.has(id))
    if (missing.length === 0 || draft.conversation === 0) return
    const rows = await this.#run<[string, string]>(
      'select id, head from sessions where project = $1 and conversation = $2 and id = any($3::text[])',
      [draft.projectNumber, draft.conversation, missing],
    )
    for (const [id, head] of rows) draft.sessions.set(id, JSON.parse(head) as SessionHead)
  }

  /** The refusal, or that the conversation it misses was purged. */
  async #asPurged(proposal: Proposal, error: unknown): Promise<unknown> {
    const number = this.#facts.projects.get(proposal.project)
    const conversationId = missingConversation(proposal, error)
    if (conversationId === undefined || number === undefined) return error
    const archive = await purgedArchive(this.#run, number, conversationId)
    return archive === undefined ? error : new ConversationPurged({ conversationId, archive })
  }
}

/** Returns where a conversation was archived when it was purged, if it was. */
export async function purgedArchive(run: Run, project: number, conversationId: string): Promise<string | undefined> {
  const [row] = await run<[string]>(
    'select archive from purges where project = $1 and conversation_id = $2 order by purge desc limit 1',
    [project, conversationId],
  )
  return row?.[0]
}

function decide(proposal: Proposal, draft: Draft, session: SessionHead | undefined): readonly ConversationEvent[] {
  const { conversation, session: named, expected } = proposal
  const { entry } = draft
  if (conversation === 'of-session' && !session) {
    throw new NotFound('session', named && 'id' in named ? named.id : 'of that kind')
  }
  const version = entry?.head.version ?? 0
  if (expected !== 'any' && expected !== version) {
    throw new VersionConflict({ conversationId: draft.id, expected, actual: version })
  }
  const events = proposal.decide({
    conversation: entry?.head,
    session: session && new LiveSession(session, () => lastActiveAt(entry, session)),
  })
  if (!entry && events.length > 0 && events[0]?.type !== 'conversation.created') {
    throw new NotFound('conversation', draft.id)
  }
  return events
}

function unchanged(draft: Draft, session: SessionHead | undefined): Appended {
  return { conversation: draft.head, session, events: [], replayed: false }
}

/** The session as the decisions before this one have left it. */
function sessionNow(draft: Draft, { session }: Proposal, stored: SessionHead | undefined): SessionHead | undefined {
  if (!session) return undefined
  if ('id' in session) return draft.sessions.get(session.id) ?? stored
  const changed = draft.changedSession(session.key)
  if (changed) return changed
  const now = stored && (draft.sessions.get(stored.id) ?? stored)
  return now?.status === 'active' ? now : undefined
}

/** Sessions that events are about and that must be there before the events can be folded. */
function sessionsIn(events: readonly ConversationEvent[]): string[] {
  const ids = new Set<string>()
  for (const event of events) {
    if (event.type === 'message.added' || event.type === 'session.created') continue
    if ('sessionId' in event && event.sessionId !== undefined) ids.add(event.sessionId)
  }
  return [...ids]
}

/** About the characters that an event adds to the transaction. */
function charactersOf(event: ConversationEvent): number {
  let size = 200
  if (event.type !== 'message.added') return size
  for (const part of event.parts) if ('text' in part && part.text) size += part.text.length
  return size
}
