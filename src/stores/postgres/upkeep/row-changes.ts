/** Changes the rows that upkeep changes, in a transaction that holds the conversation's lock. */

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
import type { SessionHead } from '../../../log/views/session.ts'
import { wipedDigest } from '../../common/proposal.ts'
import type { Run } from '../database.ts'
import { workHash } from '../heads.ts'
import { baseAt } from '../write/branches.ts'
import { conversationRow, infoColumns, sessionRow } from '../write/draft.ts'
import {
  addSessions,
  insertBlobs,
  insertConversations,
  insertEvents,
  insertKeys,
  insertLanes,
} from '../write/insert-rows.ts'
import { RowReader } from './row-reader.ts'

export interface RowChangesInput {
  run: Run
  /** The number of the project. */
  project: number
  /** Added to the server's transaction numbers. */
  base: number
  append: RowChangesPort['append']
}

export class RowChanges extends RowReader implements RowChangesPort {
  readonly #project: number
  readonly #base: number
  readonly append: RowChangesPort['append']
  /** Events that this transaction has added: the place of the next one. */
  #added = 0

  constructor({ run, project, base, append }: RowChangesInput) {
    super(run)
    this.#project = project
    this.#base = base
    this.append = append
  }

  async setContent(
    place: ConversationPlace,
    version: number,
    content?: { body: string; salt: Uint8Array },
  ): Promise<void> {
    const [row] = await this.ofConversation<[number, string, string | null, number | null]>(
      place,
      'select at, type, message, lane from events where project = $1 and conversation = $2 and version = $3',
      [version],
    )
    if (!row) throw new Error(`the event at version ${version} that should be written again is not there`)
    const [at, type, message, lane] = row
    const body = content?.body ?? null
    const crc = checksum({ version, at, lane: null, type, message, body })
    await this.ofConversation(
      place,
      'update events set body = $4, salt = $5, crc = $6 where project = $1 and conversation = $2 and version = $3',
      [version, body, content?.salt ?? null, crc],
    )
    if (!content) await this.#removeTraces(place, { version, at, message, lane })
  }

  /** Removes the words of an erased message, and the blobs that only it used. */
  async #removeTraces(
    place: ConversationPlace,
    { version, at, message, lane }: { version: number; at: number; message: string | null; lane: number | null },
  ): Promise<void> {
    // The row stays without words, also if another node is taking the message into the index at this moment.
    await this.ofConversation(
      place,
      `insert into docs (project, conversation, version, lane, at, author, role, message, length, words)
      values ($1, $2, $3, $4, $5, '', '', $6, 0, '')
      on conflict (project, conversation, version)
        do update set author = '', role = '', phase = null, length = 0, words = ''`,
      [version, lane, at, message],
    )
    // Heads kept from earlier times may quote it.
    await this.ofConversation(place, 'delete from landmarks where project = $1 and conversation = $2')
    const uses = await this.ofConversation<[string]>(
      place,
      'delete from blob_uses where project = $1 and conversation = $2 and version = $3 returning digest',
      [version],
    )
    await this.#removeUnusedBlobs(uses.map(([digest]) => digest))
  }

  async wipeKeys({ conversationId }: ConversationPlace, version: number): Promise<void> {
    await this.run(
      `update keys set digest = $4
      where project = $1 and conversation_id = $2 and first_version <= $3 and last_version >= $3`,
      [this.#project, conversationId, version, wipedDigest],
    )
  }

  async addKeys(_: string, keys: readonly KeyRow[]): Promise<void> {
    const rows = keys.map(({ key, digest, conversationId, firstVersion, lastVersion, sessionId }) => ({
      project: this.#project,
      key,
      digest,
      conversation_id: conversationId,
      first_version: firstVersion,
      last_version: lastVersion,
      session_id: sessionId,
    }))
    await insertKeys(this.run, rows, 'on conflict do nothing')
  }

  async addPurge(_: string, purge: PurgeRow): Promise<void> {
    const { conversationId, archive, events, hash, at, actor, channel, requestId, reason, restoredAt } = purge
    await this.run(
      `insert into purges
        (project, conversation_id, archive, events, hash, at, actor, channel, request, reason, restored_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        ...[this.#project, conversationId, archive, events, hash, at, actor, channel],
        ...[requestId ?? null, reason ?? null, restoredAt ?? null],
      ],
    )
  }

  async copyPurges(project: string, purges: readonly PurgeRow[]): Promise<void> {
    for (const purge of purges) await this.addPurge(project, purge)
  }

  async markRestored({ conversationId }: ConversationPlace, at: number): Promise<void> {
    await this.run(
      'update purges set restored_at = $3 where project = $1 and conversation_id = $2 and restored_at is null',
      [this.#project, conversationId, at],
    )
  }

  async removeConversation(place: ConversationPlace): Promise<number> {
    for (const table of ['docs', 'landmarks']) {
      await this.ofConversation(place, `delete from ${table} where project = $1 and conversation = $2`)
    }
    const uses = await this.ofConversation<[string]>(
      place,
      'delete from blob_uses where project = $1 and conversation = $2 returning digest',
    )
    const events = await this.ofConversation(
      place,
      'delete from events where project = $1 and conversation = $2 returning 1',
    )
    for (const table of ['lanes', 'sessions', 'conversations']) {
      await this.ofConversation(place, `delete from ${table} where project = $1 and conversation = $2`)
    }
    await this.#removeUnusedBlobs(uses.map(([digest]) => digest))
    return events.length
  }

  async addConversation(head: ConversationHead, hash: Uint8Array): Promise<void> {
    const { branchOf } = head.info
    const branch = branchOf && (await baseAt(this.run, this.#project, branchOf))
    await insertConversations(this.run, [conversationRow({ project: this.#project, head, hash, branch })])
  }

  async addLanes(place: ConversationPlace, lanes: readonly LaneRow[]): Promise<void> {
    const numbers = (await this.find(place))!
    await insertLanes(
      this.run,
      lanes.map(({ lane, audienceKey, kind, audience }) => ({
        ...{ ...numbers, lane, kind, audience },
        audience_key: audienceKey,
      })),
    )
  }

  async addEvents(place: ConversationPlace, events: readonly EventRow[]): Promise<void> {
    const numbers = (await this.find(place))!
    const rows = events.map(({ sums, blobs: _, isIntact: __, ...row }) => ({
      ...numbers,
      ...row,
      n: this.#added++,
      messages: sums?.messages ?? null,
      tokens: sums?.tokens ?? null,
      input: sums?.input ?? null,
      output: sums?.output ?? null,
      crc: checksum({ ...row, lane: null }),
    }))
    await insertEvents(this.run, this.#base, rows)
    await insertBlobs(
      this.run,
      events.flatMap(({ version, blobs }) =>
        [...blobs].map(([digest, json]) => ({ ...numbers, version, digest, json })),
      ),
    )
  }

  async putSessions(
    place: ConversationPlace,
    sessions: ReadonlyArray<{ head: SessionHead; usedAt: number }>,
  ): Promise<void> {
    const numbers = (await this.find(place))!
    await addSessions(
      this.run,
      sessions.map(({ head, usedAt }) => sessionRow({ ...numbers, head, at: usedAt })),
    )
  }

  async removeSession(place: ConversationPlace, id: string): Promise<void> {
    await this.ofConversation(place, 'delete from sessions where project = $1 and conversation = $2 and id = $3', [id])
  }

  async setInfo(place: ConversationPlace, info: ConversationInfo): Promise<void> {
    const columns = infoColumns(this.#project, info)
    await this.ofConversation(
      place,
      `update conversations
      set status = $3, work_type = $4, info = $5, due_at = $6, title_grams = $7, work_state = $9, work_priority = $10,
        work_feature = $11,
        -- Another conversation may have come to be about the same; then that one keeps the key.
        work_key = case when exists (
          select 1 from conversations o where o.project = $1 and o.work_key = $8 and o.conversation <> $2)
          then work_key else $8 end
      where project = $1 and conversation = $2`,
      [
        ...[info.status, info.workItem.type, columns.info, columns.due, columns.grams, workHash(info.workItem)],
        ...[columns.state, columns.priority, info.workItem.type === 'task' ? info.workItem.featureId : null],
      ],
    )
  }

  async setNewest(
    place: ConversationPlace,
    { version, hash, activeAt }: { version: number; hash: Uint8Array; activeAt: number },
  ): Promise<boolean> {
    await this.ofConversation(
      place,
      'update conversations set version = $3, hash = $4, active_at = $5 where project = $1 and conversation = $2',
      [version, hash, activeAt],
    )
    return true
  }

  async setAudience(place: ConversationPlace, lane: number, audience: string): Promise<void> {
    await this.ofConversation(
      place,
      'update lanes set audience = $4 where project = $1 and conversation = $2 and lane = $3',
      [lane, audience],
    )
  }

  async #removeUnusedBlobs(digests: readonly string[]): Promise<void> {
    if (digests.length === 0) return
    await this.run(
      `delete from blobs b where b.project = $1 and b.digest = any($2::text[])
        and not exists (select 1 from blob_uses u where u.project = b.project and u.digest = b.digest)`,
      [this.#project, digests],
    )
  }
}
