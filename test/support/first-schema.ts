/** Makes a closed file of today into one that the first schema left: to see that it is brought up to date, or read as it is. */
import { crc32 } from 'node:zlib'
import { DatabaseSync } from '@photostructure/sqlite'

export function toFirstSchema(path: string): void {
  const database = new DatabaseSync(path)
  try {
    database.exec(`
      drop table nodes;
      drop index conversations_by_work_state;
      drop index conversations_unreadable;
      drop index tasks_by_feature;
      drop index conversations_due;
      alter table conversations drop column due_at;
      drop trigger message_stands;
      drop table places;
      drop table recent;
      drop index facts_by_version;
      create unique index events_by_version on events (conversation, version);
      create unique index events_by_lane on events (lane, version, messages, tokens, input, output) where lane is not null;
      pragma user_version = 1`)
    toFirstChecksums(database)
  } finally {
    database.close()
  }
}

interface Row {
  position: number
  version: number
  lane: number | null
  at: number
  name: string
  body: string | null
}

/** They left out the upper part of the time. */
function toFirstChecksums(database: InstanceType<typeof DatabaseSync>): void {
  const put = database.prepare('update events set crc = ? where position = ?')
  const rows = database
    .prepare('select position, version, lane, at, coalesce(message, type) as name, body from events')
    .all() as unknown as Row[]
  for (const { position, version, lane, at, name, body } of rows) {
    let place = Math.imul(version, 0x9e3779b1) ^ Math.imul(lane ?? 0, 0x85ebca6b) ^ (at % 0x100000000)
    for (let i = 0; i < name.length; i++) place = Math.imul(place ^ name.charCodeAt(i), 0x01000193)
    put.run(crc32(body ?? '', place >>> 0), position)
  }
}
