/** Records what a proposal decides. Runs inside the writer's transaction. */
import { ConversationPurged, InvalidInput, KeyReused, NotFound, VersionConflict } from '../../../errors.ts'
import type { Appended, Once, Proposal } from '../../../log/event-log.ts'
import type { ConversationEvent } from '../../../log/events/event.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import { addSums, grownSums, noSums } from '../../../log/records/lane.ts'
import { digestOf, type Encoded, encode, freshSalt, genesis, type Header, hashOf } from '../../../log/records/record.ts'
import { isoTime } from '../../../log/time.ts'
import { type ConversationHead, evolveConversation } from '../../../log/views/conversation.ts'
import type { Heads } from '../../../log/views/heads.ts'
import { evolveSession, sessionOf } from '../../../log/views/session.ts'
import { viewerOf } from '../../../log/visibility.ts'
import { isSameCall, LiveSession, missedBy, refuseOddText } from '../../common/proposal.ts'
import type { Database } from '../database.ts'
import type { ConversationEntry, HeadStore, SessionEntry } from '../heads.ts'
import { positionText } from '../position.ts'
import type { ReadEvents } from '../read/read.ts'
import { eventInserter } from './insert-event.ts'
import type { CheckFence } from './leases.ts'

export function appender({
  database,
  heads,
  epoch,
  clock,
  read,
  checkFence,
  nextPosition,
  onStored,
}: {
  database: Database
  heads: HeadStore
  epoch: () => string
  clock: () => number
  read: ReadEvents
  checkFence: CheckFence
  nextPosition: () => number
  /** Told of each event how many characters it takes. */
  onStored(characters: number): void
}) {
  const sql = {
    key: database.prepare(`
      select digest, conversation_id, first_version, last_version, session_id from keys where project = ? and key = ?`),
    insertKey: database.prepare(`
      insert into keys (project, key, digest, conversation_id, first_version, last_version, session_id)
      values (?, ?, ?, ?, ?, ?, ?)`),
    purge: database.prepare(`
      select archive from purges where project = ? and conversation_id = ? order by purge desc limit 1`),
  }

  const insert = eventInserter(database, heads)

  function append(proposal: Proposal): Appended {
    try {
      return appendToWhatIsThere(proposal)
    } catch (error) {
      const conversationId = missedBy(proposal, error)
      const archive = conversationId !== undefined && purgedArchive(heads.projectRow(proposal.project), conversationId)
      throw archive ? new ConversationPurged({ conversationId, archive }) : error
    }
  }

  /** Where a conversation was archived when it was purged, if it was. */
  function purgedArchive(projectRow: number | undefined, conversationId: string): string | undefined {
    return (sql.purge.get(projectRow ?? 0, conversationId) as [string] | undefined)?.[0]
  }

  function appendToWhatIsThere(proposal: Proposal): Appended {
    const { project, once, fence } = proposal
    refuseOddText(proposal)
    const projectRow = heads.projectRow(project)
    const earlier = once && projectRow !== undefined ? replay(proposal, projectRow, once) : undefined
    if (earlier) return earlier
    if (fence) checkFence(projectRow, fence)

    const session = findSession(proposal)
    const { entry, conversationId: id } = find(proposal, session)
    const version = entry?.head.version ?? 0
    if (proposal.expected !== 'any' && proposal.expected !== version) {
      throw new VersionConflict({ conversationId: id, expected: proposal.expected, actual: version })
    }
    const events = proposal.decide(headsOf(entry, session))
    if (events.length === 0) {
      // A key that recorded nothing must record nothing later either.
      if (once)
        rememberKey(once, heads.ensureProject(project, clock()), {
          id,
          first: version + 1,
          last: version,
          session: session?.head.id,
        })
      return { conversation: entry?.head, session: session?.head, events: [], replayed: false }
    }
    if (!entry && events[0]?.type !== 'conversation.created') {
      throw new NotFound('conversation', id)
    }
    const encoded = events.map(encode)
    refuseOverflow(entry, encoded)
    const now = clock()
    // Everything that can refuse has run: from here on the transaction is written to.
    const result = record(proposal, { id, entry, session, events, encoded, now })
    if (once) {
      rememberKey(once, heads.ensureProject(project, now), {
        id,
        first: result.events[0]!.version,
        last: result.events.at(-1)!.version,
        session: result.session?.id,
      })
    }
    return result
  }

  /**
   * The common case, one message more in a conversation that is known, as a single insert without a transaction around
   * it: a third less work per message. Undefined when there is more to do than that.
   *
   * It decides on heads that may be out of date, and is safe because positions are handed out one by one: if anybody
   * wrote since, the insert breaks the uniqueness of the position, nothing is written, and the caller goes the long way.
   */
  function appendLightly(proposal: Proposal): Appended | undefined {
    if (proposal.once || proposal.fence || proposal.expected !== 'any') return undefined
    refuseOddText(proposal)
    const session = findSession(proposal)
    const { entry, conversationId: id } = find(proposal, session)
    const now = clock()
    if (!entry || !heads.isRecent(entry, now)) return undefined
    const events = proposal.decide(headsOf(entry, session))
    const event = events.length === 1 ? events[0] : undefined
    if (event?.type !== 'message.added' || event.pinned) return undefined
    const encoded = encode(event)
    if (encoded.blobs.length > 0 || !encoded.lane || !heads.knowsLane(entry, encoded.lane)) return undefined
    refuseOverflow(entry, [encoded])
    return record(proposal, { id, entry, session, events, encoded: [encoded], now })
  }

  /** Asked beforehand, because a refusal writes nothing. As if all went to one lane, which is near enough. */
  function refuseOverflow(entry: ConversationEntry | undefined, encoded: readonly Encoded[]): void {
    let adds = noSums
    for (const one of encoded) {
      if (!one.lane || !one.adds) continue
      adds = addSums(adds, one.adds)
      grownSums((entry && heads.findLane(entry, one.lane)?.sums) ?? noSums, adds)
    }
  }

  interface ToRecord {
    id: string
    entry: ConversationEntry | undefined
    session: SessionEntry | undefined
    events: readonly ConversationEvent[]
    encoded: readonly Encoded[]
    now: number
  }

  function record({ project, origin }: Proposal, { id, entry, session, events, encoded, now }: ToRecord): Appended {
    const base = entry ? undefined : branchBase(project, events[0]!)
    const version = entry?.head.version ?? base?.version ?? 0
    const ordinal = heads.ensureProject(project, now)
    const recorded: RecordedEvent[] = []
    let current = entry
    let head: ConversationHead | undefined = entry?.head
    let hash: Uint8Array = entry?.hash ?? base?.hash ?? genesis(project, id)
    let sessionHead = session?.head
    const at = isoTime(now)

    for (let index = 0; index < encoded.length; index++) {
      const one = encoded[index]!
      const eventVersion = version + 1 + index
      const salt = freshSalt()
      const digest = digestOf(salt, one.body)
      const { type, schema, messageId, lane, adds } = one
      const header: Header = {
        version: eventVersion,
        type,
        schema,
        at: now,
        actor: origin.actor,
        channel: origin.channel,
        requestId: origin.requestId,
        messageId,
        lane,
        adds,
      }
      const link = hashOf(hash, header, digest)
      hash = link
      const position = nextPosition()
      const event: RecordedEvent = {
        project,
        conversationId: id,
        version: eventVersion,
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
      insert(current, ordinal, header, { position, audience, salt, body: one.body, digest, hash, blobs: one.blobs })
      recorded.push(event)
      onStored(one.body.length)
      for (const blob of one.blobs) onStored(blob.json.length)
      const about = sessionOf(event)
      if (about !== undefined) {
        const next = evolveSession(heads.session(project, about)?.head, event, head.info.workItem)
        if (next) {
          heads.saveSession(current.row, next, now)
          sessionHead = next
        }
      }
    }
    heads.saveConversation(current!, head!, hash, now)
    return { conversation: head, session: sessionHead, events: recorded, replayed: false }
  }

  /** A branch goes on counting, and chaining, where its parent is at the branch point. */
  function branchBase(project: string, event: ConversationEvent): { version: number; hash: Uint8Array } | undefined {
    if (event.type !== 'conversation.created' || !event.branchOf) return undefined
    const { conversationId, version } = event.branchOf
    const hash = heads.hashAt(project, event.branchOf)
    if (!hash) throw new NotFound('conversation', conversationId, `It has no version ${version} to branch off.`)
    return { version, hash }
  }

  function find(
    { project, conversation, session: asked }: Proposal,
    session: SessionEntry | undefined,
  ): { entry: ConversationEntry | undefined; conversationId: string } {
    if (conversation === 'of-session') {
      if (!session) throw new NotFound('session', asked && 'id' in asked ? asked.id : 'of that kind')
      const { conversationId } = session.head
      return { entry: heads.conversation(project, conversationId), conversationId }
    }
    const entry = conversation.workItem
      ? heads.conversationOf(project, conversation.workItem)
      : heads.conversation(project, conversation.id)
    return { entry, conversationId: entry?.head.info.id ?? conversation.id }
  }

  function findSession({ project, session }: Proposal): SessionEntry | undefined {
    if (!session) return undefined
    return 'id' in session ? heads.session(project, session.id) : heads.sessionByKey(project, session.key)
  }

  function headsOf(entry: ConversationEntry | undefined, session: SessionEntry | undefined): Heads {
    return {
      conversation: entry?.head,
      session:
        session &&
        new LiveSession(session.head, () => heads.lastActiveAt(entry?.row ?? 0, session.head, viewerOf(session.head))),
    }
  }

  function rememberKey(
    once: Once,
    projectRow: number,
    range: { id: string; first: number; last: number; session: string | undefined },
  ): void {
    sql.insertKey.run(projectRow, once.key, once.digest, range.id, range.first, range.last, range.session ?? null)
  }

  /** What the same key recorded before. */
  function replay({ project }: Proposal, projectRow: number, once: Once): Appended | undefined {
    const found = sql.key.get(projectRow, once.key) as [string, string, number, number, string | null] | undefined
    if (!found) return undefined
    const [digest, conversationId, first, last, sessionId] = found
    if (!isSameCall(digest, once)) throw new KeyReused(once.key)
    const entry = heads.conversation(project, conversationId)
    if (!entry) {
      const archive = purgedArchive(projectRow, conversationId)
      // A key that recorded nothing may be of a conversation that never was.
      if (archive !== undefined || last >= first)
        throw new ConversationPurged({ conversationId, archive: archive ?? 'unknown' })
    }
    return {
      conversation: entry?.head,
      session: sessionId === null ? undefined : heads.session(project, sessionId)?.head,
      events:
        entry && last >= first ? read({ project, conversationId, from: first, to: last, limit: last - first + 1 }) : [],
      replayed: true,
    }
  }

  return { append, appendLightly }
}
