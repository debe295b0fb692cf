/** What is read without SQLite is what SQLite wrote. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { rowsInLeaves } from './table-leaves.ts'

const whole = fc.oneof(
  fc.constantFrom(0, 1, -1, 127, 128, -32_768, 2 ** 23, 2 ** 31, 2 ** 47, Number.MIN_SAFE_INTEGER),
  fc.maxSafeInteger(),
)
/** Up to lengths that take one page, two, and many; around the lengths where they begin to. */
const length = fc.oneof(fc.nat(60), fc.integer({ min: 4000, max: 4120 }), fc.nat(30_000))
const row = fc.tuple(
  fc.oneof(whole, fc.constant(null)),
  length.map(size => 'aé'.repeat(size / 2)),
  length.map(size => Buffer.alloc(size, 'blob')),
  fc.constantFrom(0.5, -1.25e300),
)

it('reads every kind of value, in rows of any length', () => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), rows => {
      const folder = mkdtempSync(join(tmpdir(), 'colloquy-leaves-'))
      try {
        const file = join(folder, 'rows.db')
        const database = new DatabaseSync(file)
        database.exec('create table things (id integer primary key, whole integer, text, blob, fraction)')
        const insert = database.prepare('insert into things (whole, text, blob, fraction) values (?, ?, ?, ?)')
        database.exec('begin')
        for (const values of rows) insert.run(...values)
        database.exec('commit')
        database.close()
        const found = new Map<number, unknown>()
        for (const one of rowsInLeaves(file)) found.set(one.id, one.values())
        expect(found).toEqual(new Map(rows.map((values, index) => [index + 1, [null, ...values]])))
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
    { numRuns: 50 },
  )
})
