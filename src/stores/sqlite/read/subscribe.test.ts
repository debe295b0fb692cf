/** Readers wait for a file that is busy for a moment, because another process repairs its write-ahead log. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { upkeepOver } from '../../../log/upkeep/upkeep-over.ts'
import { archiveLines } from '../../../testing/archives.ts'
import { type Database, openDatabase } from '../database.ts'
import { headStore } from '../heads.ts'
import { makeSchema } from '../open-schema.ts'
import { rowStore } from '../upkeep/row-store.ts'
import { logPages } from './log-pages.ts'
import { Subscriptions } from './subscribe.ts'

const place = { project: 'shop', conversationId: 'c' }

/** A log of one event, and a reader of it that finds the file busy so often. */
async function busyDatabase(busy: number) {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-readers-'))
  const path = join(folder, 'colloquy.db')
  const database = openDatabase({ path, durability: 'relaxed' })
  makeSchema(database)
  const body = { title: 'Login', workItem: { type: 'thread', threadId: 't' } }
  const lines = archiveLines(place, [{ type: 'conversation.created', schema: 1, body }])
  const rows = rowStore({ path, durability: 'relaxed', epoch: 'e', busyTimeoutMs: 1000, reindex: async () => 0 })
  await upkeepOver(rows)('restorePage', { ticket: 't', project: place.project, lines, isLast: true, now: 0 })
  rows.close()
  let left = busy
  const often: Database = {
    ...database,
    prepare(sql) {
      const statement = database.prepare(sql)
      const iterate: typeof statement.iterate = (...values) => {
        if (left-- > 0) throw Object.assign(new Error('database is locked'), { errcode: 261 })
        return statement.iterate(...values)
      }
      return new Proxy(statement, {
        get: (target, name) => (name === 'iterate' ? iterate : Reflect.get(target, name).bind(target)),
      })
    },
  }
  const heads = headStore(database)
  const pages = logPages({ database: often, heads, epoch: () => 'e' })
  const events = new Subscriptions({ path: database.path, heads, pages })
  onTestFinished(() => {
    events.close()
    database.close()
    rmSync(folder, { recursive: true })
  })
  return events
}

it.each([{}, { conversationId: 'c' }])('who follows the log with %j reads on when it is free again', async where => {
  const reader = (await busyDatabase(3)).subscribe({ project: 'shop', from: 'start', ...where })
  expect(await reader.next()).toMatchObject({ value: { version: 1, event: { type: 'conversation.created' } } })
  await reader.return?.()
})
