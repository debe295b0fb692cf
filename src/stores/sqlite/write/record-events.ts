/** Puts decided events at the end of a conversation: chained, inserted, and folded into the heads. */
import { InvalidInput, NotFound } from '../../../errors.ts'
import type { Appended, Proposal } from '../../../log/event-log.ts'
import type { ConversationEvent } from '../../../log/events/event.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import { digestOf, type Encoded, freshSalt, genesis, type Header, hashOf } from '../../../log/records/record.ts'
import { isoTime } from '../../../log/time.ts'
import { type ConversationHead, evolveConversation } from '../../../log/views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from '../../../log/views/session.ts'
import type { Database } from '../database.ts'
import type { ConversationEntry, SessionEntry } from '../heads/head-cache.ts'
import type { HeadStore } from '../heads.ts'
import { positionText } from '../position.ts'
import { eventInserter } from './insert-event.ts'

/** Decided events, and the heads they were decided on. */
export interface Decided {
  conversationId: string
  entry: ConversationEntry | undefined
  session: SessionEntry | undefined
  events: readonly ConversationEvent[]
  encoded: readonly Encoded[]
  now: number
}

export type RecordEvents = (proposal: Proposal, decided: Decided) => Appended

export function eventRecorder({
  database,
  heads,
  epoch,
  nextPosition,
  onStored,
}: {
  database: Database
  heads: HeadStore
  epoch: () => string
  nextPosition: () => number
  /** Called with the number of characters of each event. */
  onStored(characters: number): void
}): RecordEvents {
  const insert = eventInserter(database, heads)

  return ({ project, origin }, { conversationId, entry, session, events, encoded, now }) => {
    const base = entry ? undefined : branchBase(heads, project, events[0]!)
    const projectRow = heads.ensureProject(project, now)
    const at = isoTime(now)
    const recorded: RecordedEvent[] = []
    let version = entry?.head.version ?? base?.version ?? 0
    let hash: Uint8Array = entry?.hash ?? base?.hash ?? genesis(project, conversationId)
    let head: ConversationHead | undefined = entry?.head
    let current = entry
    let sessionHead: SessionHead | undefined = session?.head
    for (const [index, { body, blobs, ...described }] of encoded.entries()) {
      version++
      const header: Header = { ...described, ...origin, version, at: now }
      const salt = freshSalt()
      const digest = digestOf(salt, body)
      const link = hashOf(hash, header, digest)
      hash = link
      const position = nextPosition()
      const event: RecordedEvent = {
        project,
        conversationId,
        version,
        position: positionText(epoch(), position, hash),
        at,
        actor: origin.actor,
        channel: origin.channel,
        ...(origin.requestId !== undefined && { requestId: origin.requestId }),
        hash: link.toString('hex'),
        event: events[index]!,
      }
      head = evolveConversation(head, event)
      if (!head) throw new InvalidInput('events', 'a conversation starts with conversation.created')
      current ??= heads.createConversation(head, hash, now)
      const audience = event.event.type === 'message.added' ? event.event.audience : undefined
      insert(current, projectRow, header, { position, audience, salt, body, digest, hash, blobs })
      onStored(blobs.reduce((sum, blob) => sum + blob.json.length, body.length))
      sessionHead = saveSession(current, head, event, now) ?? sessionHead
      recorded.push(event)
    }
    heads.saveConversation(current!, head!, hash, now)
    return { conversation: head, session: sessionHead, events: recorded, replayed: false }
  }

  /** Folds an event into the session it is about, if it changes that one. */
  function saveSession(
    { row }: ConversationEntry,
    { info }: ConversationHead,
    event: RecordedEvent,
    now: number,
  ): SessionHead | undefined {
    const id = sessionOf(event)
    if (id === undefined) return undefined
    const next = evolveSession(heads.session(event.project, id)?.head, event, info.workItem)
    if (next) heads.saveSession(row, next, now)
    return next
  }
}

/** A branch goes on counting, and chaining, from where its parent is at the branch point. */
function branchBase(
  heads: HeadStore,
  project: string,
  event: ConversationEvent,
): { version: number; hash: Uint8Array } | undefined {
  if (event.type !== 'conversation.created' || !event.branchOf) return undefined
  const { conversationId, version } = event.branchOf
  const hash = heads.hashAt(project, event.branchOf)
  if (!hash) throw new NotFound('conversation', conversationId, `It has no version ${version} to branch off.`)
  return { version, hash }
}
