/**
 * A conversation while proposals on it are decided: as it is stored, and as it will be, with the rows that make the
 * difference. Nothing here talks to the server.
 */
import { InvalidInput } from '../../../errors.ts'
import type { Appended } from '../../../log/event-log.ts'
import type { ConversationEvent } from '../../../log/events/event.ts'
import type { Origin, RecordedEvent } from '../../../log/events/recorded-event.ts'
import { grownSums, type Lane, type LaneSums, noSums } from '../../../log/records/lane.ts'
import { type Blob, digestOf, encode, freshSalt, genesis, type Header, hashOf } from '../../../log/records/record.ts'
import { checksum } from '../../../log/records/stored-row.ts'
import { isoTime } from '../../../log/time.ts'
import { type ConversationHead, type ConversationInfo, evolveConversation } from '../../../log/views/conversation.ts'
import { stateDueAt } from '../../../log/views/conversation-state.ts'
import { evolveSession, expiryOf, type SessionHead, sessionKey, sessionOf } from '../../../log/views/session.ts'
import { type ConversationEntry, hashed, type LaneEntry, laneKeyOf, workHash } from '../heads.ts'
import { positionText } from '../position.ts'
import { titleGrams } from '../search-marks.ts'
import type { BranchBase } from './branches.ts'
import type { BlobRow, ConversationRow, EventRow, InfoRow, LaneRow, NewestEventRow, SessionRow } from './insert-rows.ts'

const minute = 60_000

/** A row whose conversation has its number once the conversation is inserted. */
type Unnumbered<Row> = Omit<Row, 'project' | 'conversation'>

interface ChangedSession {
  head: SessionHead
  isNew: boolean
  at: number
}

/** The events of one decision. */
export interface Decision {
  origin: Origin
  events: readonly ConversationEvent[]
  session: SessionHead | undefined
  now: number
}

export class Draft {
  readonly project: string
  readonly id: string
  /** The numbers of its project and of itself; that of a new conversation is 0 until it is inserted. */
  readonly projectNumber: number
  conversation: number
  /** As it is stored. */
  readonly base: ConversationEntry | undefined
  /** The version of the parent that a new branch goes on from. */
  branch: BranchBase | undefined
  head: ConversationHead | undefined
  hash: Uint8Array
  lanes: ReadonlyMap<string, LaneEntry>
  sessions: Map<string, SessionHead>
  readonly recorded: RecordedEvent[] = []
  readonly #changed = new Map<string, ChangedSession>()
  readonly #events: Array<Unnumbered<EventRow>> = []
  readonly #lanes: Array<Unnumbered<LaneRow>> = []
  readonly #blobs: Array<Unnumbered<BlobRow>> = []

  constructor(project: string, id: string, projectNumber: number, base: ConversationEntry | undefined) {
    this.project = project
    this.id = id
    this.projectNumber = projectNumber
    this.conversation = base?.conversation ?? 0
    this.base = base
    this.head = base?.head
    this.hash = base?.hash ?? genesis(project, id)
    this.lanes = base?.lanes ?? new Map()
    this.sessions = new Map(base?.sessions)
  }

  /** The conversation as the next decision sees it. */
  get entry(): ConversationEntry | undefined {
    const { id, head, hash, lanes, sessions, conversation, projectNumber: project } = this
    return head && { project, conversation, id, head, hash, lanes, sessions }
  }

  /** Makes it a branch. Its chain of hashes goes on from the parent's. */
  branchOff(base: BranchBase): void {
    this.branch = base
    this.hash = base.hash
  }

  /** The active session of a key that an earlier decision of this batch left behind. */
  changedSession(key: string): SessionHead | undefined {
    for (const { head } of this.#changed.values()) {
      if (head.status === 'active' && sessionKey(head) === key) return head
    }
    return undefined
  }

  /**
   * Adds the events of a decision. Throws before it changes anything.
   *
   * @param firstPlace the place of the first event in the transaction
   */
  add({ origin, events, session, now }: Decision, firstPlace: number): Appended {
    const next = new Addition(this)
    for (const event of events) next.take(event, { origin, now, n: firstPlace + next.events.length })
    this.head = next.head
    this.hash = next.hash
    this.lanes = next.lanes
    this.recorded.push(...next.recorded)
    this.#events.push(...next.events)
    this.#lanes.push(...next.newLanes)
    this.#blobs.push(...next.blobs)
    for (const [id, changed] of next.sessions) {
      this.sessions.set(id, changed.head)
      this.#changed.set(id, { ...changed, isNew: this.#changed.get(id)?.isNew ?? changed.isNew })
    }
    const lastSession = [...next.sessions.values()].at(-1)?.head
    return { conversation: this.head, session: lastSession ?? session, events: next.recorded, replayed: false }
  }

  /** Tells the events their positions, once their transaction has a number. */
  setPositions(epoch: string, tx: number): void {
    for (const [index, event] of this.recorded.entries()) {
      const { n, hash } = this.#events[index]!
      event.position = positionText(epoch, { tx, n }, hash)
    }
  }

  get eventRows(): EventRow[] {
    return this.#numbered(this.#events)
  }

  get laneRows(): LaneRow[] {
    return this.#numbered(this.#lanes)
  }

  get blobRows(): BlobRow[] {
    return this.#numbered(this.#blobs)
  }

  get newestEventRow(): NewestEventRow {
    const at = Date.parse(this.head!.activeAt)
    return {
      project: this.projectNumber,
      conversation: this.conversation,
      version: this.head!.version,
      hash: this.hash,
      active_at: at,
      recent_at: minuteOf(at),
    }
  }

  /** Undefined when the head says what it said before. */
  get infoRow(): InfoRow | undefined {
    const { info } = this.head!
    if (info === this.base?.head.info) return undefined
    return { conversation: this.conversation, ...infoColumns(this.projectNumber, info) }
  }

  get conversationRow(): ConversationRow {
    return conversationRow({ project: this.projectNumber, head: this.head!, hash: this.hash, branch: this.branch })
  }

  /** The rows of sessions that are new, or that are there already. */
  sessionRows({ isNew }: { isNew: boolean }): SessionRow[] {
    const rows: SessionRow[] = []
    for (const { head, at, isNew: one } of this.#changed.values()) {
      if (one !== isNew) continue
      rows.push(sessionRow({ project: this.projectNumber, conversation: this.conversation, head, at }))
    }
    return rows
  }

  #numbered<Row>(rows: readonly Unnumbered<Row>[]): Row[] {
    const { projectNumber: project, conversation } = this
    return rows.map(row => ({ ...row, project, conversation }) as Row)
  }
}

/** One decision's part of a draft, kept apart until all of it is known to be right. */
class Addition {
  head: ConversationHead | undefined
  hash: Uint8Array
  readonly lanes: Map<string, LaneEntry>
  readonly sessions = new Map<string, ChangedSession>()
  readonly recorded: RecordedEvent[] = []
  readonly events: Array<Unnumbered<EventRow>> = []
  readonly newLanes: Array<Unnumbered<LaneRow>> = []
  readonly blobs: Array<Unnumbered<BlobRow>> = []
  readonly #draft: Draft

  constructor(draft: Draft) {
    this.#draft = draft
    this.head = draft.head
    this.hash = draft.hash
    this.lanes = new Map(draft.lanes)
  }

  take(event: ConversationEvent, { origin, now, n }: { origin: Origin; now: number; n: number }): void {
    const { type, schema, body, messageId, lane: named, adds, blobs } = encode(event)
    const version = (this.head?.version ?? this.#draft.branch?.version ?? 0) + 1
    const { actor, channel, requestId } = origin
    const salt = freshSalt()
    const digest = digestOf(salt, body)
    const header: Header = { version, type, schema, at: now, actor, channel, requestId, messageId, lane: named, adds }
    this.hash = hashOf(this.hash, header, digest)
    this.#record({ ...header, requestId }, event)
    const lane = named && event.type === 'message.added' ? this.#laneFor(named, event.audience, adds!, now) : undefined
    this.events.push({
      version,
      n,
      type,
      schema,
      at: now,
      actor,
      channel,
      request: requestId ?? null,
      message: messageId ?? null,
      lane: lane?.lane ?? null,
      messages: lane?.sums.messages ?? null,
      tokens: lane?.sums.tokens ?? null,
      input: lane?.sums.input ?? null,
      output: lane?.sums.output ?? null,
      crc: checksum({ version, at: now, lane: null, type, message: messageId ?? null, body }),
      salt,
      body,
      digest,
      hash: this.hash,
    })
    this.#addBlobs(version, blobs)
  }

  #addBlobs(version: number, blobs: readonly Blob[]): void {
    for (const { digest, json } of blobs) this.blobs.push({ version, digest, json })
  }

  /** Folds the event into the heads. */
  #record({ version, at, actor, channel, requestId }: Header, event: ConversationEvent): void {
    const { project, id: conversationId } = this.#draft
    const recorded: RecordedEvent = {
      project,
      conversationId,
      version,
      position: '',
      at: isoTime(at),
      actor,
      channel,
      ...(requestId !== undefined && { requestId }),
      hash: Buffer.from(this.hash).toString('hex'),
      event,
    }
    this.recorded.push(recorded)
    this.head = evolveConversation(this.head, recorded)
    if (!this.head) throw new InvalidInput('events', 'a conversation starts with conversation.created')
    const about = sessionOf(recorded)
    if (about === undefined) return
    const before = this.sessions.get(about)?.head ?? this.#draft.sessions.get(about)
    const head = evolveSession(before, recorded, this.head.info.workItem)
    if (!head) return
    const isNew = this.sessions.get(head.id)?.isNew ?? !this.#draft.sessions.has(head.id)
    this.sessions.delete(head.id)
    this.sessions.set(head.id, { head, isNew, at })
  }

  #laneFor({ kind, audience }: Lane, audienceOf: LaneEntry['audienceOf'], adds: LaneSums, now: number): LaneEntry {
    const key = laneKeyOf(kind, audience)
    const stored = this.lanes.get(key)
    const lane: LaneEntry = {
      key,
      kind,
      audience,
      audienceOf,
      lane: stored?.lane ?? this.lanes.size + 1,
      sums: grownSums(stored?.sums ?? noSums, adds),
      lastAt: now,
    }
    if (!stored) {
      this.newLanes.push({ lane: lane.lane, audience_key: audience, kind, audience: JSON.stringify(audienceOf) })
    }
    this.lanes.set(key, lane)
    return lane
  }
}

export function conversationRow({
  project,
  head: { info, version, activeAt },
  hash,
  branch,
}: {
  project: number
  head: ConversationHead
  hash: Uint8Array
  branch: BranchBase | undefined
}): ConversationRow {
  const active = Date.parse(activeAt)
  return {
    ...infoColumns(project, info),
    id: info.id,
    work: workHash(info.workItem),
    kind: info.workItem.type,
    feature: info.workItem.type === 'task' ? info.workItem.featureId : null,
    created: Date.parse(info.createdAt),
    parent: branch?.conversation ?? null,
    branched: branch?.version ?? null,
    version,
    hash: Buffer.from(hash).toString('hex'),
    active,
    recent: minuteOf(active),
  }
}

/** @param at milliseconds of the last use of the session, from which its expiry counts */
export function sessionRow({
  project,
  conversation,
  head,
  at,
}: {
  project: number
  conversation: number
  head: SessionHead
  at: number
}): SessionRow {
  return {
    project,
    conversation,
    id: head.id,
    session_key: hashed(sessionKey(head)),
    agent: head.agentName,
    status: head.status,
    expires_at: expiryOf(head, at) ?? null,
    compactions: head.compactions,
    head: JSON.stringify(head),
  }
}

/** The columns that say what a head says. */
export function infoColumns(project: number, info: ConversationInfo): Omit<InfoRow, 'conversation'> {
  return {
    project,
    status: info.status,
    info: JSON.stringify(info),
    grams: titleGrams(project, info.title),
    due: stateDueAt(info) ?? null,
    state: info.work?.state ?? null,
    priority: info.work ? priorityOf(info.work) : null,
  }
}

function priorityOf(work: NonNullable<ConversationInfo['work']>): number {
  return 'priority' in work ? work.priority : 0
}

/** Lists go by it, so that a busy conversation moves in them once a minute at most. */
function minuteOf(at: number): number {
  return at - (at % minute)
}
