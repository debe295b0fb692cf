/**
 * What proposals on one conversation come to: decided one after the other on its head, as rows ready to be stored and
 * the head as it will be then. Nothing here talks to the server.
 */
import { hash as hashText } from 'node:crypto'
import { InvalidInput, NotFound, VersionConflict } from '../../errors.ts'
import type { Appended, Proposal } from '../../log/event-log.ts'
import type { ConversationEvent } from '../../log/events/event.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import { grownSums, type Lane, type LaneSums, noSums } from '../../log/records/lane.ts'
import { digestOf, encode, freshSalt, genesis, type Header, hashOf } from '../../log/records/record.ts'
import { checksum } from '../../log/records/stored-row.ts'
import { isoTime } from '../../log/time.ts'
import { type ConversationInfo, evolveConversation } from '../../log/views/conversation.ts'
import { teamDueAt } from '../../log/views/conversation-state.ts'
import { evolveSession, expiryOf, type SessionHead, sessionKey, sessionOf } from '../../log/views/session.ts'
import { LiveSession } from '../common/proposal.ts'
import type { BranchBase } from './branches.ts'
import {
  type ConversationEntry,
  hashed,
  type LaneEntry,
  laneKeyOf,
  laneNamed,
  lastActiveAt,
  workHash,
} from './heads.ts'
import type { Batch } from './insert-events.ts'
import { type Place, positionText } from './position.ts'
import { titleGrams } from './search-index.ts'

const minute = 60_000

/** The events that a proposal wants recorded, from the heads as they are. */
export function decided(
  proposal: Proposal,
  entry: ConversationEntry | undefined,
  session: SessionHead | undefined,
): readonly ConversationEvent[] {
  const { conversation, session: asked, expected } = proposal
  if (conversation === 'of-session' && !session) {
    throw new NotFound('session', asked && 'id' in asked ? asked.id : 'of that kind')
  }
  const version = entry?.head.version ?? 0
  const id = entry?.head.info.id ?? (conversation === 'of-session' ? session!.conversationId : conversation.id)
  if (expected !== 'any' && expected !== version) {
    throw new VersionConflict({ conversationId: id, expected, actual: version })
  }
  const events = proposal.decide({
    conversation: entry?.head,
    session: session && new LiveSession(session, () => lastActiveAt(entry, session)),
  })
  if (!entry && events.length > 0 && events[0]?.type !== 'conversation.created') throw new NotFound('conversation', id)
  return events
}

/** Sessions that events are about and that must be known before the events can be folded. */
export function sessionsIn(events: readonly ConversationEvent[]): string[] {
  const ids = new Set<string>()
  for (const event of events) {
    if (
      event.type !== 'message.added' &&
      event.type !== 'session.created' &&
      'sessionId' in event &&
      event.sessionId !== undefined
    )
      ids.add(event.sessionId)
  }
  return [...ids]
}

/** A conversation's part in a batch, while it grows. */
export interface Draft {
  readonly g: number
  readonly key: string
  readonly project: string
  readonly id: string
  /** As it was when the first of its proposals was decided. */
  readonly base: ConversationEntry | undefined
  /** The numbers of its project and conversation. */
  readonly numbers: { project: number; conversation: number }
  /** Of a branch that is new: where it goes on from. */
  branch: BranchBase | undefined
  /** As it will be. */
  entry: ConversationEntry | undefined
  /** Events whose position is known when they are written. */
  readonly recorded: Array<{ event: RecordedEvent; n: number; hash: Uint8Array }>
  /** Sessions to be written, and whether they are new. */
  readonly sessions: Map<string, { head: SessionHead; new: boolean; at: number }>
}

export function draftOn(
  g: number,
  { key, project, id }: { key: string; project: string; id: string },
  base: ConversationEntry | undefined,
  numbers: { project: number; conversation: number },
): Draft {
  return { g, key, project, id, base, numbers, branch: undefined, entry: base, recorded: [], sessions: new Map() }
}

/** Adds a proposal's events to the batch. Throws before it changes anything. */
export function addEvents(
  batch: Batch,
  draft: Draft,
  proposal: Proposal,
  { events, session, now }: { events: readonly ConversationEvent[]; session: SessionHead | undefined; now: number },
): Appended {
  const { g, project, id } = draft
  const { origin } = proposal
  const { project: p, conversation: c } = draft.numbers
  const at = isoTime(now)
  const lanes = new Map(draft.entry?.lanes)
  let sessions: ReadonlyMap<string, SessionHead> = draft.entry?.sessions ?? new Map()
  let head = draft.entry?.head
  let hash: Uint8Array = draft.entry?.hash ?? draft.branch?.hash ?? genesis(project, id)
  let sessionHead = session
  const recorded: RecordedEvent[] = []
  const added: Pick<Batch, 'rows' | 'lanes' | 'blobs'> = { rows: [], lanes: [], blobs: [] }
  const places: Draft['recorded'] = []
  const changed: Draft['sessions'] = new Map()

  for (const event of events) {
    const { type, schema, body, messageId, lane: laneName, adds, blobs } = encode(event)
    const version = (head?.version ?? draft.branch?.version ?? 0) + 1
    const salt = freshSalt()
    const digest = digestOf(salt, body)
    const { actor, channel, requestId } = origin
    const header: Header = {
      version,
      type,
      schema,
      at: now,
      actor,
      channel,
      requestId,
      messageId,
      lane: laneName,
      adds,
    }
    const link = hashOf(hash, header, digest)
    hash = link
    const n = batch.rows.length + added.rows.length
    const one: RecordedEvent = {
      project,
      conversationId: id,
      version,
      position: '',
      at,
      actor,
      channel,
      ...(requestId !== undefined && { requestId }),
      hash: link.toString('hex'),
      event,
    }
    head = evolveConversation(head, one)
    if (!head) throw new InvalidInput('events', 'a conversation starts with conversation.created')
    const lane =
      laneName && event.type === 'message.added' ? laneFor(laneName, event.audience, adds ?? noSums) : undefined
    added.rows.push({
      g,
      p,
      c,
      v: version,
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
      hash,
    })
    for (const { digest, json } of blobs) added.blobs.push({ g, p, c, v: version, digest, json })
    recorded.push(one)
    places.push({ event: one, n, hash })
    const about = sessionOf(one)
    const next = about === undefined ? undefined : evolveSession(sessions.get(about), one, head.info.workItem)
    if (next) {
      changed.set(next.id, { head: next, new: changed.get(next.id)?.new ?? !sessions.has(next.id), at: now })
      sessions = new Map(sessions).set(next.id, next)
      sessionHead = next
    }
  }

  for (const row of added.rows) batch.rows.push(row)
  batch.lanes.push(...added.lanes)
  batch.blobs.push(...added.blobs)
  draft.recorded.push(...places)
  for (const [sessionId, one] of changed) {
    draft.sessions.set(sessionId, { ...one, new: draft.sessions.get(sessionId)?.new ?? one.new })
  }
  if (head) draft.entry = { key: draft.key, project: p, conversation: c, head, hash, lanes, sessions }
  return { conversation: head, session: sessionHead, events: recorded, replayed: false }

  function laneFor({ kind, audience: key }: Lane, audience: LaneEntry['audienceOf'], adds: LaneSums): LaneEntry {
    const known = laneNamed(lanes, kind, key)
    const made: LaneEntry = {
      key: known?.key ?? laneKeyOf(kind, key),
      kind,
      audience: key,
      lane: known?.lane ?? lanes.size + 1,
      audienceOf: audience,
      sums: grownSums(known?.sums ?? noSums, adds),
      lastAt: now,
    }
    if (!known) added.lanes.push({ g, p, c, lane: made.lane, key, kind, audience: JSON.stringify(audience) })
    lanes.set(made.key, made)
    return made
  }
}

/** The rows of a draft that are written once, however many proposals it holds. */
export function closeDraft(batch: Batch, draft: Draft, lockKey: string): void {
  const { g, base, branch, entry, numbers } = draft
  const { project: p, conversation: c } = numbers
  if (!entry || draft.recorded.length === 0) {
    batch.groups.push({ g, k: lockKey, p, c })
    return
  }
  const { info } = entry.head
  const at = Date.parse(entry.head.activeAt)
  const recent = minuteOf(at)
  batch.groups.push({
    g,
    k: lockKey,
    p,
    c,
    expected: base?.head.version ?? 0,
    version: entry.head.version,
    hash: entry.hash,
    at,
    ...((!base || info !== base.head.info || recent > minuteOf(Date.parse(base.head.activeAt))) && { recent }),
    ...(info !== base?.head.info && {
      status: info.status,
      info: JSON.stringify(info),
      grams: titleGrams(p, info.title),
      due: teamDueAt(info) ?? null,
      ...(info.work && standing(info.work)),
    }),
    ...(!base && {
      id: info.id,
      work: workHash(info.workItem),
      kind: info.workItem.type,
      ...(info.workItem.type === 'task' && { feature: info.workItem.featureId }),
      created: Date.parse(info.createdAt),
      ...(branch && { parent: branch.conversation, branched: branch.version }),
    }),
  })
  for (const { head, new: isNew, at: changedAt } of draft.sessions.values()) {
    batch.sessions.push({
      g,
      n: batch.sessions.length,
      p,
      c,
      id: head.id,
      key: hashed(sessionKey(head)),
      agent: head.agentName,
      status: head.status,
      expires: expiryOf(head, changedAt) ?? null,
      compactions: head.compactions,
      head: JSON.stringify(head),
      new: isNew,
    })
  }
}

/** Lists go by it, so that a busy conversation moves in them once a minute at the most. */
function minuteOf(at: number): number {
  return at - (at % minute)
}

/** Where a work item stands, in columns. */
export function standing(work: NonNullable<ConversationInfo['work']>): { state: string; priority: number } {
  return { state: work.state, priority: 'priority' in work ? work.priority : 0 }
}

/** Tells the events of a draft where they stand. */
export function placeEvents(draft: Draft, epoch: string, placeOf: (n: number) => Place): void {
  for (const { event, n, hash } of draft.recorded) event.position = positionText(epoch, placeOf(n), hash)
}

/** The lock of a conversation: 64 bits that the server takes for one. */
export function lockKeyOf(epoch: string, project: string, conversationId: string): string {
  const text = JSON.stringify([epoch, project, conversationId])
  return hashText('sha256', text, 'buffer').readBigInt64BE().toString()
}
