/**
 * The full-text index: a file of its own beside the log, fed from it behind the commits.
 *
 * Apart from the log because indexing would triple what an append writes, and would hold the log's write lock. It holds
 * words and places but no text, knows how far it has read, and can be deleted at any time: it is built again from the
 * log. Several processes feed the same index; the lock on it makes them take turns.
 */
import { rmSync } from 'node:fs'
import { setImmediate as breathe } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { type Database, openDatabase } from '../database.ts'
import { sqliteCode } from '../errors.ts'
import { blobLoader, eventIn, type LoadBlob } from '../rows.ts'
import type { WorkerSettings } from './protocol.ts'
import { searchableText, splitScript } from './searchable.ts'

export interface SearchIndex {
  /** Connected to the index, with the log attached as `log`. */
  database: Database
  /** Takes in everything the log has by now. */
  feed(): Promise<undefined>
  /** Where the messages of an id stand: one place, but for ids that callers made and used in several projects. */
  find(messageId: string): number[]
  /** Drops what was purged. */
  forget(positions: readonly number[]): void
  close(): void
}

const schemaVersion = '1'
const batchSize = 200

const schema = `
create table meta (name text primary key, value text not null) without rowid;
create table names (name integer primary key, text text not null unique);
create table docs (
  position integer primary key,
  project integer not null,
  conversation integer not null,
  version integer not null,
  lane integer not null,
  at integer not null,
  author integer not null,
  role integer not null,
  phase integer,
  message text not null
);
-- Here and not in the log: an append would write a page more for a look-up that is seldom made.
create index docs_by_message on docs (message);
create index docs_by_place on docs (conversation, version);
create virtual table words using fts5 (text, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2');
create virtual table titles using fts5 (title, content = '', contentless_delete = 1, tokenize = 'trigram');
create table phases (conversation integer primary key, phase text not null) without rowid;
`

type FeedRow = [
  position: number,
  conversation: number,
  version: number,
  type: string,
  schema: number,
  at: number,
  message: string | null,
  lane: number | null,
  crc: number,
  body: string | null,
  project: number,
]

export function openSearchIndex(settings: WorkerSettings & { busyTimeoutMs: number }): SearchIndex {
  const path = `${settings.path}-search`
  try {
    return connect(path, settings)
  } catch (error) {
    // Damaged or not a database: it is only an index. 11 is SQLITE_CORRUPT, 26 SQLITE_NOTADB.
    const cause = error instanceof Error && error.cause ? error.cause : error
    if (![11, 26].includes(sqliteCode(cause) ?? 0)) throw error
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    return connect(path, settings)
  }
}

function connect(path: string, settings: WorkerSettings & { busyTimeoutMs: number }): SearchIndex {
  // What a power loss takes from the index is read again from the log.
  const database = openDatabase({ path, durability: 'relaxed', busyTimeoutMs: settings.busyTimeoutMs })
  try {
    database.exec('pragma wal_autocheckpoint = 1000')
    prepareSchema(database, settings.epoch)
    // Read-only, because `begin immediate` on the index would otherwise take the log's write lock too.
    database.prepare('attach ? as log').run(`${pathToFileURL(settings.path)}?mode=ro`)
    return searchIndex(database)
  } catch (error) {
    database.close()
    throw error
  }
}

/** Makes the tables, anew if the log is another one than was indexed or the index is of another kind. */
function prepareSchema(database: Database, epoch: string): void {
  const identity = `${schemaVersion} ${epoch}`
  database.exec('begin immediate')
  const [[tables]] = database.prepare(`select count(*) from sqlite_schema where name = 'meta'`).all() as [[number]]
  const known =
    tables > 0
      ? (database.prepare(`select value from meta where name = 'identity'`).get() as [string] | undefined)
      : undefined
  if (known?.[0] !== identity) {
    if (tables > 0)
      for (const table of ['meta', 'names', 'docs', 'words', 'titles', 'phases'])
        database.exec(`drop table if exists ${table}`)
    database.exec(schema)
    const put = database.prepare('insert into meta (name, value) values (?, ?)')
    put.run('identity', identity)
    put.run('position', '0')
    // Erased words must not linger in the index's own pages.
    database.exec(`insert into words (words, rank) values ('secure-delete', 1)`)
  }
  database.exec('commit')
}

function searchIndex(database: Database): SearchIndex {
  const sql = {
    begin: database.prepare('begin immediate'),
    commit: database.prepare('commit'),
    rollback: database.prepare('rollback'),
    position: database.prepare(`select value from meta where name = 'position'`),
    moveOn: database.prepare(`update meta set value = ? where name = 'position'`),
    events: database.prepare(`
      select e.position, e.conversation, e.version, e.type, e.schema, e.at, e.message, e.lane, e.crc, e.body, c.project
      from log.events e join log.conversations c using (conversation)
      where e.position > ? order by e.position limit ${batchSize}`),
    name: database.prepare('select name from names where text = ?'),
    insertName: database.prepare('insert into names (text) values (?)'),
    insertDoc: database.prepare(`
      insert or replace into docs (position, project, conversation, version, lane, at, author, role, phase, message)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    insertWords: database.prepare('insert or replace into words (rowid, text) values (?, ?)'),
    byMessage: database.prepare('select position from docs where message = ?'),
    docAt: database.prepare('select position from docs where conversation = ? and version = ?'),
    deleteDoc: database.prepare('delete from docs where position = ?'),
    deleteWords: database.prepare('delete from words where rowid = ?'),
    putTitle: database.prepare('insert or replace into titles (rowid, title) values (?, ?)'),
    phase: database.prepare('select phase from phases where conversation = ?'),
    putPhase: database.prepare('insert or replace into phases (conversation, phase) values (?, ?)'),
  }
  const blobs = blobLoader(database)
  const names = new Map<string, number>()

  function nameOf(text: string): number {
    const known = names.get(text)
    if (known !== undefined) return known
    const found = sql.name.get(text) as [number] | undefined
    const name = found ? found[0] : Number(sql.insertName.run(text).lastInsertRowid)
    if (names.size > 10_000) names.clear()
    names.set(text, name)
    return name
  }

  function remove(position: number): void {
    sql.deleteDoc.run(position)
    sql.deleteWords.run(position)
  }

  function take(row: FeedRow): void {
    const [position, conversation, version, type, schema, at, message, lane, crc, body, project] = row
    const load: LoadBlob = digest => blobs(project)(digest)
    const event = eventIn({ version, at, lane, type, schema, message, crc, body }, load)
    switch (event.type) {
      case 'message.added': {
        if (lane === null) return
        const phase = sql.phase.get(conversation) as [string] | undefined
        const author = nameOf(event.author)
        const phaseName = phase ? nameOf(phase[0]) : null
        sql.insertDoc.run(
          position,
          project,
          conversation,
          version,
          lane,
          at,
          author,
          nameOf(event.role),
          phaseName,
          event.messageId,
        )
        sql.insertWords.run(position, searchableText(event.parts))
        return
      }
      case 'message.erased': {
        const doc = sql.docAt.get(conversation, event.version) as [number] | undefined
        if (doc) sql.deleteWords.run(doc[0])
        return
      }
      case 'erased':
        // It keeps its place, so that it can still be found by its id; its words are gone.
        if (lane !== null && event.messageId !== undefined) {
          sql.insertDoc.run(
            position,
            project,
            conversation,
            version,
            lane,
            at,
            nameOf(''),
            nameOf(''),
            null,
            event.messageId,
          )
        }
        return
      case 'conversation.created':
        sql.putTitle.run(conversation, splitScript(event.title))
        if (event.phase !== undefined) sql.putPhase.run(conversation, event.phase)
        return
      case 'conversation.annotated':
        if (event.title !== undefined) sql.putTitle.run(conversation, splitScript(event.title))
        return
      default:
        return
    }
  }

  /** One short transaction. Returns how many events it took. */
  function batch(): number {
    sql.begin.run()
    try {
      const [position] = sql.position.get() as [string]
      const rows = sql.events.all(Number(position)) as FeedRow[]
      for (const row of rows) take(row)
      const last = rows.at(-1)
      if (last) sql.moveOn.run(String(last[0]))
      sql.commit.run()
      return rows.length
    } catch (error) {
      names.clear()
      sql.rollback.run()
      throw error
    }
  }

  return {
    database,
    async feed() {
      while (batch() === batchSize) await breathe()
      return undefined
    },
    find: messageId => (sql.byMessage.all(messageId) as Array<[number]>).map(([position]) => position),
    forget(positions) {
      sql.begin.run()
      for (const position of positions) remove(position)
      sql.commit.run()
    },
    close: () => database.close(),
  }
}
