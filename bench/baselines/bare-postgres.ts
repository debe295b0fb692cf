/** Bare tables on a PostgreSQL: one to insert into, and one that holds a conversation in one row. */
import { createHash, randomBytes } from 'node:crypto'
import type pg from 'pg'
import { median, timed } from '../support/measure.ts'

export async function bareTable(client: pg.Client) {
  await client.query(`
    create table bare (id bigint generated always as identity primary key, conversation text not null,
      version integer not null, author text not null, role text not null, at bigint not null, body text not null,
      salt bytea not null, digest bytea not null, hash bytea not null);
    create index on bare (conversation, version);
    create table document (id text primary key, messages jsonb not null)`)
  let version = 0
  // As many bytes as a stored message has, hashes included; made once, so that making them is not measured.
  const salt = randomBytes(16)
  const hash = createHash('sha256').update(salt).digest()
  const bodyOf = (text: string) => JSON.stringify({ role: 'user', tokens: [100, 'fast'], text })

  return {
    insert: (text: string) =>
      client.query({
        name: 'bare',
        text: `insert into bare (conversation, version, author, role, at, body, salt, digest, hash)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
        values: ['c', ++version, 'user', 'user', Date.now(), bodyOf(text), salt, hash],
      }),
    insertMany: (texts: readonly string[]) =>
      client.query({
        name: 'grouped',
        text: `insert into bare (conversation, version, author, role, at, body, salt, digest, hash)
          select 'c', $1, 'user', 'user', $2, unnest($3::text[]), $4, $5, $5`,
        values: [++version, Date.now(), texts.map(bodyOf), salt, hash],
      }),
    /** Median of rewriting a conversation of so many messages for one more. */
    async rewriteDocument(size: number, text: () => string, atMostMs: number): Promise<number> {
      const all = JSON.stringify(Array.from({ length: size }, () => ({ role: 'user', content: text() })))
      const id = `document ${size}`
      await client.query('insert into document (id, messages) values ($1, $2)', [id, all])
      return median(
        await timed({ times: 20, atMostMs }, () =>
          client.query('update document set messages = messages || $2::jsonb where id = $1', [
            id,
            JSON.stringify([{ role: 'user', content: text() }]),
          ]),
        ),
      )
    },
  }
}
