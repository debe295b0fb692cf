/** Changes the rows that upkeep changes, in a transaction that holds the write lock of the file. */
import type { Appended, Proposal } from '../../../log/event-log.ts'
import { workItemKey } from '../../../log/events/work-item.ts'
import { checksum } from '../../../log/records/stored-row.ts'
import type {
  ConversationPlace,
  EventRow,
  KeyRow,
  LaneRow,
  PurgeRow,
  RowChanges as RowChangesPort,
} from '../../../log/rows.ts'
import type { ConversationHead, ConversationInfo } from '../../../log/views/conversation.ts'
import { expiryOf, type SessionHead, sessionKey } from '../../../log/views/session.ts'
import { wipedDigest } from '../../common/proposal.ts'
import type { Database } from '../database.ts'
import { infoColumns } from '../heads/conversations.ts'
import { headStore } from '../heads.ts'
import { lastPosition } from '../position.ts'
import { reader } from '../read/read.ts'
import { appender } from '../write/append.ts'
import { eventRecorder } from '../write/record-events.ts'
import { RowReader } from './row-reader.ts'

const minute = 60_000

function statements(database: Database) {
  const eventAt = '(select position from events where conversation = ? and version = ?)'
  return {
    lastPosition: database.prepare(`select ${lastPosition()}`),
    keepPosition: database.prepare(`update meta set value = ${lastPosition()} where name = 'position_floor'`),
    skipPositions: database.prepare(`update meta set value = ${lastPosition()} + ? where name = 'position_floor'`),
    event: database.prepare(
      'select position, at, lane, type, message from events where conversation = ? and version = ?',
    ),
    setContent: database.prepare('update events set body = ?, salt = ?, crc = ? where position = ?'),
    dropUses: database.prepare(`delete from blob_uses where position = ${eventAt}`),
    dropAllUses: database.prepare(
      'delete from blob_uses where position in (select position from events where conversation = ?)',
    ),
    dropUnusedBlobs: database.prepare(
      'delete from blobs where not exists (select 1 from blob_uses u where u.blob = blobs.blob)',
    ),
    wipeKeys: database.prepare(`
      update keys set digest = '${wipedDigest}' where project = (select project from projects where id = ?)
        and conversation_id = ? and first_version <= ?3 and last_version >= ?3`),
    addKey: database.prepare(`
      insert or ignore into keys (project, key, digest, conversation_id, first_version, last_version, session_id)
      values (?, ?, ?, ?, ?, ?, ?)`),
    addPurge: database.prepare(`
      insert into purges (project, conversation_id, archive, events, hash, at, actor, channel, request, reason, restored_at)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    markRestored: database.prepare(`
      update purges set restored_at = ? where project = (select project from projects where id = ?)
        and conversation_id = ? and restored_at is null`),
    dropEvents: database.prepare('delete from events where conversation = ?'),
    drop: ['lanes', 'sessions', 'conversations'].map(table =>
      database.prepare(`delete from ${table} where conversation = ?`),
    ),
    setRecent: database.prepare('update conversations set recent_at = ? where conversation = ?'),
    addLane: database.prepare('insert into lanes (conversation, audience_key, kind, audience) values (?, ?, ?, ?)'),
    addEvent: database.prepare(`
      insert into events (position, conversation, version, type, schema, at, actor, channel, request, message,
        lane, messages, tokens, input, output, crc, salt, body, digest, hash)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    addBlob: database.prepare('insert or ignore into blobs (project, digest, json) values (?, ?, ?)'),
    useBlob: database.prepare(`
      insert or ignore into blob_uses (blob, position) select blob, ? from blobs where project = ? and digest = ?`),
    addSession: database.prepare(`
      insert or ignore into sessions (session_key, agent, status, expires_at, head, project, conversation, id)
      values (?, ?, ?, ?, ?, ?, ?, ?)`),
    // One active session of a key: of two the older gives way, as in the log.
    setSession: database.prepare(`
      update or ignore sessions set session_key = ?, agent = ?, status = ?, expires_at = ?, head = ?, project = ?
      where conversation = ? and id = ?`),
    dropSession: database.prepare('delete from sessions where conversation = ? and id = ?'),
    setInfo: database.prepare(`
      update conversations set status = ?, info = ?, due_at = ?, work_state = ?, work_priority = ?, work_type = ?,
        work_feature = ? where conversation = ?`),
    // Another conversation may have come to be about the same; then that one keeps the key.
    setWork: database.prepare('update or ignore conversations set work_key = ? where conversation = ?'),
    setAudience: database.prepare('update lanes set audience = ? where lane = ?'),
  }
}

export class RowChanges extends RowReader implements RowChangesPort {
  readonly #sql: ReturnType<typeof statements>
  readonly #heads: ReturnType<typeof headStore>
  readonly #append: (proposal: Proposal) => Appended
  /** The rows of the lanes that this transaction added, by the numbers their caller gave them. */
  readonly #lanes = new Map<number, number>()
  #position = 0
  #now = 0

  constructor(database: Database, epoch: string) {
    super(database)
    this.#sql = statements(database)
    this.#heads = headStore(database)
    const shared = { database, heads: this.#heads, epoch: () => epoch }
    this.#append = appender({
      ...shared,
      clock: () => this.#now,
      read: reader(shared),
      // Upkeep writes under no lease.
      checkFence: () => undefined,
      record: eventRecorder({ ...shared, nextPosition: () => ++this.#position, onStored: () => undefined }),
    })
  }

  /** Begins a transaction: nothing that an earlier one read counts any more. */
  begin(): void {
    this.#heads.forget()
    this.#lanes.clear()
    this.#position = (this.#sql.lastPosition.get() as [number])[0]
  }

  async append(proposal: Proposal, now: number): Promise<Appended> {
    this.#now = now
    return this.#append(proposal)
  }

  async setContent(
    place: ConversationPlace,
    version: number,
    content?: { body: string; salt: Uint8Array },
  ): Promise<void> {
    const conversation = this.numberOf(place)
    const row = this.#sql.event.get(conversation, version) as
      | [number, number, number | null, string, string | null]
      | undefined
    if (!row) throw new Error(`the event at version ${version} that should be written again is not there`)
    const [position, at, lane, type, message] = row
    const body = content?.body ?? null
    this.#sql.setContent.run(
      body,
      content?.salt ?? null,
      checksum({ version, at, lane, type, message, body }),
      position,
    )
    if (content) return
    this.#sql.dropUses.run(conversation, version)
    this.#sql.dropUnusedBlobs.run()
  }

  async wipeKeys({ project, conversationId }: ConversationPlace, version: number): Promise<void> {
    this.#sql.wipeKeys.run(project, conversationId, version)
  }

  async addKeys(project: string, keys: readonly KeyRow[]): Promise<void> {
    const row = this.#heads.ensureProject(project, Date.now())
    for (const { key, digest, conversationId, firstVersion, lastVersion, sessionId } of keys) {
      this.#sql.addKey.run(row, key, digest, conversationId, firstVersion, lastVersion, sessionId)
    }
  }

  async addPurge(project: string, purge: PurgeRow): Promise<void> {
    const { conversationId, archive, events, hash, at, actor, channel, requestId, reason, restoredAt } = purge
    this.#sql.addPurge.run(
      ...[this.#heads.ensureProject(project, at), conversationId, archive, events, hash, at, actor, channel],
      ...[requestId ?? null, reason ?? null, restoredAt ?? null],
    )
  }

  async copyPurges(project: string, purges: readonly PurgeRow[]): Promise<void> {
    for (const purge of purges) {
      // `verify` counts positions: those of a purge are taken by its events.
      this.#sql.skipPositions.run(purge.events)
      await this.addPurge(project, purge)
    }
  }

  async markRestored({ project, conversationId }: ConversationPlace, at: number): Promise<void> {
    this.#sql.markRestored.run(at, project, conversationId)
  }

  async removeConversation(place: ConversationPlace): Promise<number> {
    const conversation = this.numberOf(place)
    // Positions are never used again, even if the newest events are the ones that go.
    this.#sql.keepPosition.run()
    this.#sql.dropAllUses.run(conversation)
    const events = this.#sql.dropEvents.run(conversation).changes
    for (const drop of this.#sql.drop) drop.run(conversation)
    this.#sql.dropUnusedBlobs.run()
    this.#heads.forget()
    return events
  }

  async addConversation(head: ConversationHead, hash: Uint8Array): Promise<void> {
    const { row } = this.#heads.createConversation(head, hash, Date.parse(head.info.createdAt))
    const activeAt = Date.parse(head.activeAt)
    this.#sql.setRecent.run(activeAt - (activeAt % minute), row)
  }

  async addLanes(place: ConversationPlace, lanes: readonly LaneRow[]): Promise<void> {
    const conversation = this.numberOf(place)
    for (const { lane, audienceKey, kind, audience } of lanes) {
      const { lastInsertRowid } = this.#sql.addLane.run(conversation, audienceKey, kind, audience)
      this.#lanes.set(lane, Number(lastInsertRowid))
    }
  }

  async addEvents(place: ConversationPlace, events: readonly EventRow[]): Promise<void> {
    const { project, conversation } = this.find(place)!
    for (const event of events) {
      const { version, type, schema, at, actor, channel, request, message, sums, salt, body, digest, hash } = event
      const position = ++this.#position
      const lane = event.lane === null ? null : this.#lanes.get(event.lane)!
      const crc = checksum({ version, at, lane, type, message, body })
      this.#sql.addEvent.run(
        ...[position, conversation, version, type, schema, at, actor, channel, request, message, lane],
        ...[sums?.messages ?? null, sums?.tokens ?? null, sums?.input ?? null, sums?.output ?? null],
        ...[crc, salt, body, digest, hash],
      )
      for (const [blob, json] of event.blobs) {
        this.#sql.addBlob.run(project, blob, Buffer.from(json))
        this.#sql.useBlob.run(position, project, blob)
      }
    }
  }

  async putSessions(
    place: ConversationPlace,
    sessions: ReadonlyArray<{ head: SessionHead; usedAt: number }>,
  ): Promise<void> {
    const { project, conversation } = this.find(place)!
    for (const { head, usedAt } of sessions) {
      const expiresAt = expiryOf(head, usedAt) ?? null
      const columns = [sessionKey(head), head.agentName, head.status, expiresAt, JSON.stringify(head), project]
      this.#sql.setSession.run(...columns, conversation, head.id)
      this.#sql.addSession.run(...columns, conversation, head.id)
    }
  }

  async removeSession(place: ConversationPlace, id: string): Promise<void> {
    this.#sql.dropSession.run(this.numberOf(place), id)
  }

  async setInfo(place: ConversationPlace, info: ConversationInfo): Promise<void> {
    const conversation = this.numberOf(place)
    const { workItem } = info
    const feature = 'featureId' in workItem ? workItem.featureId : null
    this.#sql.setInfo.run(...infoColumns(info), workItem.type, feature, conversation)
    this.#sql.setWork.run(workItemKey(workItem), conversation)
  }

  /** The newest event is read from the log itself. */
  async setNewest(): Promise<boolean> {
    return false
  }

  async setAudience(_: ConversationPlace, lane: number, audience: string): Promise<void> {
    this.#sql.setAudience.run(audience, lane)
  }
}
