/** The tables of the index. They are made again when they are of another log, or of another version of this program. */
import { randomUUID } from 'node:crypto'
import type { Database } from '../database.ts'
import { inTransaction } from '../transaction.ts'
import { landmarkSchema } from '../upkeep/landmarks.ts'
import { spendingSchema } from '../upkeep/spending.ts'

const schemaVersion = '6'

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
  -- A number made of its id: a third of the size. Messages that share a number are told apart by the log.
  message integer not null
);
-- Not in the log: an append would write another page for a look-up that is rare.
create index docs_by_message on docs (message);
create index docs_by_conversation on docs (conversation, version);
create virtual table words using fts5 (text, place, content = '', tokenize = 'porter unicode61 remove_diacritics 2');
create virtual table titles using fts5 (title, tokenize = 'trigram');
create table phases (conversation integer primary key, phase text not null) without rowid;
create table participants (
  conversation integer not null,
  name integer not null,
  primary key (conversation, name)
) without rowid;
${landmarkSchema}
${spendingSchema}`

/**
 * Messages that are about to be erased, with their content: the process that reads of it in the log has to remove their
 * words. This table stays when the others are made again, because an erasing process may be waiting.
 */
const leaving = `
create table if not exists leaving (
  position integer primary key,
  event text not null,
  -- The number of processes that are erasing it.
  wanted integer not null
)`

/** Makes the tables, again if they are of another log or of another version. */
export function prepareSchema(database: Database, epoch: string): void {
  const identity = `${schemaVersion} ${epoch}`
  inTransaction(database, () => {
    database.exec(leaving)
    const stored = tableExists(database, 'meta')
      ? (database.prepare(`select value from meta where name = 'identity'`).get() as [string] | undefined)
      : undefined
    if (stored?.[0] !== identity) {
      startOver(database)
      database.prepare('insert or replace into meta (name, value) values (?, ?)').run('identity', identity)
    }
  })
}

/** Makes empty tables. Runs inside a transaction. */
export function startOver(database: Database): void {
  const identity = tableExists(database, 'meta')
    ? (database.prepare(`select value from meta where name = 'identity'`).get() as [string] | undefined)
    : undefined
  for (const table of ['meta', 'names', 'docs', 'words', 'titles', 'phases', 'participants', 'landmarks', 'spent'])
    database.exec(`drop table if exists main.${table}`)
  database.exec(schema)
  const put = database.prepare('insert into meta (name, value) values (?, ?)')
  put.run('position', '0')
  // Other processes that cached numbers of names see that these are new tables.
  put.run('generation', randomUUID())
  if (identity) put.run('identity', identity[0])
  // Erased words must not linger in the index's own pages.
  for (const table of ['words', 'titles'])
    database.exec(`insert into ${table} (${table}, rank) values ('secure-delete', 1)`)
  // The place of a message says nothing about how well it matches.
  database.exec(`insert into words (words, rank) values ('rank', 'bm25(1.0, 0.0)')`)
  // Merging less often makes feeding cheaper. `tidy` merges the rest when the store is idle.
  database.exec(`insert into words (words, rank) values ('automerge', 8)`)
}

function tableExists(database: Database, name: string): boolean {
  return database.prepare('select 1 from main.sqlite_schema where name = ?').get(name) !== undefined
}
