/** The tables of the index, made anew whenever it is of another log or of another kind. */
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
  -- A number made of its id: a third of the size, and the log tells those apart that share one.
  message integer not null
);
-- Here and not in the log: an append would write a page more for a look-up that is seldom made.
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
 * Messages that are about to be erased, as they are: the index keeps no text, and whichever process hears from the log
 * that one was erased has to take its words out. Not made anew with the rest: somebody may be waiting for it.
 */
const leaving = `
create table if not exists leaving (
  position integer primary key,
  event text not null,
  -- How many want it to be erased.
  wanted integer not null
)`

/** Makes the tables, anew if the log is another one than was indexed or the index is of another kind. */
export function prepareSchema(database: Database, epoch: string): void {
  const identity = `${schemaVersion} ${epoch}`
  inTransaction(database, () => {
    database.exec(leaving)
    const known = tableExists(database, 'meta')
      ? (database.prepare(`select value from meta where name = 'identity'`).get() as [string] | undefined)
      : undefined
    if (known?.[0] !== identity) {
      startOver(database)
      database.prepare('insert or replace into meta (name, value) values (?, ?)').run('identity', identity)
    }
  })
}

/** Empty tables. Runs inside a transaction. */
export function startOver(database: Database): void {
  const identity = tableExists(database, 'meta')
    ? (database.prepare(`select value from meta where name = 'identity'`).get() as [string] | undefined)
    : undefined
  for (const table of ['meta', 'names', 'docs', 'words', 'titles', 'phases', 'participants', 'landmarks', 'spent'])
    database.exec(`drop table if exists main.${table}`)
  database.exec(schema)
  const put = database.prepare('insert into meta (name, value) values (?, ?)')
  put.run('position', '0')
  // Tells those who have the tables open, and remember numbers of names, that these are others.
  put.run('generation', randomUUID())
  if (identity) put.run('identity', identity[0])
  // Erased words must not linger in the index's own pages.
  for (const table of ['words', 'titles'])
    database.exec(`insert into ${table} (${table}, rank) values ('secure-delete', 1)`)
  // Where a message stands says nothing about how well it answers.
  database.exec(`insert into words (words, rank) values ('rank', 'bm25(1.0, 0.0)')`)
  // Merging half as often takes a fifth off what FTS5 costs; what a search would have to look through is put together
  // when nobody is waiting.
  database.exec(`insert into words (words, rank) values ('automerge', 8)`)
}

function tableExists(database: Database, name: string): boolean {
  return database.prepare('select 1 from main.sqlite_schema where name = ?').get(name) !== undefined
}
