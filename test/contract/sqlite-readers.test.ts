/** What those who follow a file are told when it goes bad under them. */
import { closeSync, openSync, truncateSync, writeSync } from 'node:fs'
import { ColloquyError } from 'colloquy'
import { expect, it } from 'vitest'
import { begun, into, refusal, said } from '../support/builders.ts'
import { openSqlite } from './open-sqlite.ts'

const project = 'shop'

const ruin = {
  'whose first page is overwritten'(path: string) {
    const file = openSync(path, 'r+')
    writeSync(file, Buffer.alloc(4096, 0xaa), 0, 4096, 0)
    closeSync(file)
  },
  'that is cut to nothing': (path: string) => truncateSync(path, 0),
}

it.each(Object.entries(ruin))(
  'readers of a file %s hear of it, and the process goes on',
  async (_how, spoil) => {
    const { store: first, path, another, reopen } = await openSqlite()
    await first.append(into('c', [begun(), said('one')]))
    // All of it is in the one file, and nothing in its write-ahead log.
    const store = await reopen()
    const other = await another()
    const readers = [store.subscribe({ project }), store.subscribe({ project, conversationId: 'c' })]
    const waiting = readers.map(reader => refusal(() => reader.next()))
    spoil(path)
    await other.append(into('c', said('two'))).catch(() => undefined)
    for (const error of await Promise.all(waiting)) {
      expect(error).toBeInstanceOf(ColloquyError)
      expect((error as ColloquyError).code).toMatch(/^store\//)
    }
    for (const reader of readers) expect(await reader.next()).toEqual({ done: true, value: undefined })
    // Whoever comes now hears of it in the same way.
    const late = await refusal(() => store.subscribe({ project, from: 'start' }).next())
    expect(late).toBeInstanceOf(ColloquyError)
  },
  30_000,
)
