/** Columns in the server's binary form come back from a real server as they were. */
import fc from 'fast-check'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { byteaColumn, int4Column, int8Column, textColumn } from '../../src/stores/postgres/array-column.ts'
import { Exchange } from '../../src/stores/postgres/exchange.ts'
import type { Statement } from '../../src/stores/postgres/wire.ts'
import { freshDatabase } from '../support/postgres.ts'

const integer = (most: number) => fc.integer({ min: -most, max: most })
const rows = fc.array(
  fc.record({
    small: fc.option(integer(0x7fff_ffff)),
    large: fc.option(integer(Number.MAX_SAFE_INTEGER)),
    lock: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    // What a body can have in it: neither NUL nor half a character.
    text: fc.option(
      fc.string({ unit: 'binary', maxLength: 3000 }).map(one => one.replaceAll('\0', ' ').toWellFormed()),
    ),
    bytes: fc.option(fc.uint8Array({ maxLength: 40 })),
  }),
  { maxLength: 20 },
)

it('numbers, texts and bytes, and their absence', async () => {
  const client = new pg.Client({ connectionString: await freshDatabase() })
  await client.connect()
  onTestFinished(() => client.end())
  const echo = `select small::integer, large::text, lock::text, text, bytes
    from unnest($1::integer[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[]) with ordinality
      as x(small, large, lock, text, bytes, n) order by n`
  await fc.assert(
    fc.asyncProperty(rows, async given => {
      const found = await client.query({
        name: 'echo',
        text: echo,
        values: [
          int4Column(given, row => row.small),
          int8Column(given, row => row.large),
          int8Column(given, row => row.lock),
          textColumn(given, row => row.text),
          byteaColumn(given, row => row.bytes),
        ],
      })
      const back = given.map(({ small, large, lock, text, bytes }) => ({
        small,
        large: large === null ? null : String(large),
        lock: String(lock),
        text,
        bytes: bytes && Buffer.from(bytes),
      }))
      expect(found.rows).toEqual(back)
    }),
    { numRuns: 100 },
  )
})

const text = fc.option(
  fc
    .oneof(fc.string({ maxLength: 60 }), fc.string({ unit: 'binary', maxLength: 3000 }))
    .map(one => one.replaceAll('\0', ' ').toWellFormed()),
)
const asked = fc.array(fc.record({ text, number: integer(Number.MAX_SAFE_INTEGER), bytes: fc.uint8Array() }), {
  minLength: 1,
  maxLength: 6,
})

it('several statements in one piece, with whatever values they have, are answered in their order', async () => {
  const client = new pg.Client({ connectionString: await freshDatabase() })
  await client.connect()
  onTestFinished(() => client.end())
  await fc.assert(
    fc.asyncProperty(asked, fc.boolean(), async (given, isNamed) => {
      const statements = given.map(({ text, number, bytes }) => ({
        name: isNamed ? 'echo one' : '',
        text: 'select $1::text, $2::bigint, $3::bytea, $4::boolean',
        values: [text, number, bytes, true],
      }))
      const answers = await new Promise<unknown[][][]>((resolve, reject) => {
        const exchange = new Exchange(statements as unknown as [Statement])
        exchange.callback = (error, found) => (error ? reject(error) : resolve(found!))
        client.query(exchange as unknown as pg.QueryConfig)
      })
      expect(answers).toEqual(given.map(({ text, number, bytes }) => [[text, number, Buffer.from(bytes), true]]))
    }),
    { numRuns: 100 },
  )
})
