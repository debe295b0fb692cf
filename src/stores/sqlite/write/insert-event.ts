/** Puts one event into the log: its row, its lane's running sums, and the blobs it uses. */
import type { Audience } from '../../../log/events/audience.ts'
import { addSums } from '../../../log/records/lane.ts'
import type { Blob, Header } from '../../../log/records/record.ts'
import { checksum } from '../../../log/records/stored-row.ts'
import type { Database } from '../database.ts'
import type { ConversationEntry } from '../heads/head-cache.ts'
import type { HeadStore } from '../heads.ts'

/** The columns of an event's row that its header does not have. */
export interface EventContent {
  position: number
  /** The audience of a message, which its lane is for. */
  audience: Audience | undefined
  /** Null together when the content was erased. */
  salt: Uint8Array | null
  body: string | null
  digest: Uint8Array
  hash: Uint8Array
  blobs: readonly Blob[]
}

export function eventInserter(database: Database, heads: HeadStore) {
  const sql = {
    insert: database.prepare(`
      insert into events (position, conversation, version, type, schema, at, actor, channel, request, message,
        lane, messages, tokens, input, output, crc, salt, body, digest, hash)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    findBlob: database.prepare('select blob from blobs where project = ? and digest = ?'),
    insertBlob: database.prepare('insert into blobs (project, digest, json) values (?, ?, ?)'),
    useBlob: database.prepare('insert or ignore into blob_uses (blob, position) values (?, ?)'),
  }

  return function insert(entry: ConversationEntry, projectRow: number, header: Header, content: EventContent): void {
    const { adds } = header
    const lane =
      header.lane && adds && content.audience ? heads.ensureLane(entry, header.lane, content.audience) : undefined
    if (lane && adds) lane.sums = addSums(lane.sums, adds)
    sql.insert.run(
      content.position,
      entry.row,
      header.version,
      header.type,
      header.schema,
      header.at,
      header.actor,
      header.channel,
      header.requestId ?? null,
      header.messageId ?? null,
      lane?.row ?? null,
      lane?.sums.messages ?? null,
      lane?.sums.tokens ?? null,
      lane?.sums.input ?? null,
      lane?.sums.output ?? null,
      checksum({
        version: header.version,
        at: header.at,
        lane: lane?.row ?? null,
        type: header.type,
        message: header.messageId ?? null,
        body: content.body,
      }),
      content.salt,
      content.body,
      content.digest,
      content.hash,
    )
    for (const blob of content.blobs) {
      const stored = sql.findBlob.get(projectRow, blob.digest) as [number] | undefined
      const row =
        stored?.[0] ?? Number(sql.insertBlob.run(projectRow, blob.digest, Buffer.from(blob.json)).lastInsertRowid)
      sql.useBlob.run(row, content.position)
    }
  }
}
