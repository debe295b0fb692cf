/**
 * The baselines: SQLite with as little around it as possible. Same driver, same WAL, same `synchronous`, same bytes in a
 * row, rows found by the same kind of index; no hashes computed, no ids made, nothing counted, nothing checked.
 */
import { DatabaseSync } from '@photostructure/sqlite'

export interface BareRow {
  conversation: number
  version: number
  author: string
  role: string
  at: number
  body: string
}

export interface Bare {
  insert(row: BareRow): void
  /** Inserts in one transaction, for building histories. */
  insertAll(rows: Iterable<BareRow>): void
  /** The same insert when many callers share a commit: queued, committed once per tick, each told after the commit. */
  insertGrouped(row: BareRow): Promise<void>
  last(conversation: number, limit: number): unknown[]
  close(): void
}

const schema = `
create table if not exists messages (
  id integer primary key, conversation integer not null, version integer not null, author text not null,
  role text not null, at integer not null, body text not null);
create index if not exists messages_by_version on messages (conversation, version);`

export function bareStore(path: string): Bare {
  const database = new DatabaseSync(path)
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  database.exec(schema)
  const insertion = database.prepare(
    'insert into messages (conversation, version, author, role, at, body) values (?, ?, ?, ?, ?, ?)',
  )
  const selection = selectLast(database)
  const begin = database.prepare('begin immediate')
  const commit = database.prepare('commit')
  let queue: Array<{ row: BareRow; resolve: () => void }> = []

  const insert = ({ conversation, version, author, role, at, body }: BareRow) => {
    insertion.run(conversation, version, author, role, at, body)
  }

  function flush(): void {
    const group = queue
    queue = []
    begin.run()
    for (const { row } of group) insert(row)
    commit.run()
    for (const { resolve } of group) resolve()
  }

  return {
    insert,
    insertAll(rows) {
      begin.run()
      for (const row of rows) insert(row)
      commit.run()
    },
    insertGrouped(row) {
      return new Promise(resolve => {
        if (queue.push({ row, resolve }) === 1) setImmediate(flush)
      })
    },
    last: (conversation, limit) => selection.all(conversation, limit),
    close: () => database.close(),
  }
}

function selectLast(database: InstanceType<typeof DatabaseSync>) {
  return database.prepare(
    'select version, author, role, at, body from messages where conversation = ? order by version desc limit ?',
  )
}

/** Opens a file and asks one thing: what the least possible program does. */
export function bareOpenAndAsk(path: string, conversation: number, limit: number): () => void {
  const database = new DatabaseSync(path)
  database.exec('pragma synchronous = full')
  selectLast(database).all(conversation, limit)
  return () => database.close()
}

/** Rows for one conversation from texts, each padded to what a row of ours holds: its body and its hashes. */
export function* bareRows(
  texts: Iterable<string>,
  { conversation, after = 0, padding }: { conversation: number; after?: number; padding: string },
): Generator<BareRow> {
  let version = after
  for (const text of texts) yield bareRow(text, { conversation, version: ++version, padding })
}

export function bareRow(
  text: string,
  { conversation, version, padding }: { conversation: number; version: number; padding: string },
): BareRow {
  return { conversation, version, author: 'user', role: 'user', at: Date.now(), body: text + padding }
}

export function sqliteVersion(): string {
  const database = new DatabaseSync(':memory:')
  try {
    return String(database.prepare('select sqlite_version() as version').get().version)
  } finally {
    database.close()
  }
}
