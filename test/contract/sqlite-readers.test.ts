/** Subscribers of a file while another process writes to it, and when it becomes damaged. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, truncateSync, writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ColloquyError } from 'colloquy'
import type { StoreCalls } from 'colloquy/stores'
import { expect, it } from 'vitest'
import { conversationCreated, errorOf, messageAdded, proposal } from '../../src/testing/builders.ts'
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
  'readers of a file %s get an error, and the process goes on',
  async (_how, spoil) => {
    const { store: first, path, another, reopen } = await openSqlite()
    await first.append(proposal('c', [conversationCreated(), messageAdded('one')]))
    // All of it is in the one file, and nothing in its write-ahead log.
    const store = await reopen()
    const other = await another()
    const readers = [store.subscribe({ project }), store.subscribe({ project, conversationId: 'c' })]
    const waiting = readers.map(reader => errorOf(() => reader.next()))
    spoil(path)
    await other.append(proposal('c', messageAdded('two'))).catch(() => undefined)
    for (const error of await Promise.all(waiting)) {
      expect(error).toBeInstanceOf(ColloquyError)
      expect((error as ColloquyError).code).toMatch(/^store\//)
    }
    for (const reader of readers) expect(await reader.next()).toEqual({ done: true, value: undefined })
    // A new subscriber gets the same error.
    const late = await errorOf(() => store.subscribe({ project, from: 'start' }).next())
    expect(late).toBeInstanceOf(ColloquyError)
  },
  30_000,
)

it('a reader that pages through several lanes misses nothing that another process adds to them meanwhile', async () => {
  const { store, path } = await openSqlite()
  await store.append(proposal('c', conversationCreated()))
  const messages = 1500
  const program = fileURLToPath(new URL('processes/take-turns.mjs', import.meta.url))
  const writer = spawn(process.execPath, [program, path, String(messages)], { stdio: ['ignore', 'ignore', 'inherit'] })
  let isDone = false
  const ended = once(writer, 'exit').finally(() => {
    isDone = true
  })
  const viewer = { sees: 'as-session', sessionId: 's', agentName: 'dev' } as const
  const window: Parameters<StoreCalls['messages']>[0] = {
    project,
    conversationId: 'c',
    viewer,
    kinds: ['talk'],
    start: 0,
    kept: [],
  }
  const seen: number[] = []
  let holes = 0
  for (let isLast = false; !isLast; ) {
    isLast = isDone
    for (let more = true; more; ) {
      const page = await store.messages(window, { after: seen.at(-1) ?? 1, limit: 100 })
      seen.push(...page.map(message => message.version))
      more = page.length > 0
    }
    const newest = (await store.messages(window, { limit: 50 })).map(message => message.version)
    const sums = await store.measure(window)
    holes += newest.filter((version, index) => index > 0 && version !== newest[index - 1]! + 1).length
    // Whatever was read first is there to be measured too.
    if (newest.length > 0 && sums.messages < newest.at(-1)! - 1) holes++
    await new Promise(setImmediate)
  }
  expect(await ended).toEqual([0, null])
  expect(seen).toEqual(Array.from({ length: messages }, (_, index) => index + 2))
  expect(holes).toBe(0)
}, 60_000)
