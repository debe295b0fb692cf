/** Questions that are asked again and again find what they want by an index: none looks through the log. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { everything } from '../../log/visibility.ts'
import { type Database, openDatabase } from './database.ts'
import { readEpoch } from './epoch.ts'
import { headStore } from './heads.ts'
import { makeSchema } from './open-schema.ts'
import { directory } from './read/directory.ts'
import { reader } from './read/read.ts'
import { windowReader } from './read/windows.ts'
import { messageSearch } from './search/message-search.ts'
import { openSearchIndex } from './search/open-search-index.ts'
import { titleSearch } from './search/title-search.ts'
import { RowReader } from './upkeep/row-reader.ts'

/** A store as it is made, and its index. */
function filledDatabase() {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-plans-'))
  const path = join(folder, 'colloquy.db')
  const database = openDatabase({ path, durability: 'relaxed' })
  makeSchema(database)
  database.exec(`insert into projects (project, id, created_at) values (1, 'shop', 0)`)
  const epoch = readEpoch(database)
  const index = openSearchIndex({ path, durability: 'relaxed', epoch, readOnly: false, busyTimeoutMs: 1000 })
  onTestFinished(() => {
    index.close()
    database.close()
    rmSync(folder, { recursive: true })
  })
  return { database, index }
}

/** The same connection. Collects the text of its queries. */
function recordingDatabase(database: Database, queries: Set<string>): Database {
  return {
    ...database,
    prepare(sql) {
      queries.add(sql)
      return database.prepare(sql)
    },
  }
}

function scansIn(database: Database, queries: Iterable<string>): string[] {
  const scans: string[] = []
  for (const sql of queries) {
    // Hits that a search shows are in a temporary table.
    if (!/^\s*select/.test(sql) || sql.includes('temp.shown')) continue
    const plan = database.prepare(`explain query plan ${sql}`).all() as Array<[number, number, number, string]>
    // The rows of a sub-query are read as they come.
    const parts = new Set(plan.map(([, , , step]) => /^(?:CO-ROUTINE|MATERIALIZE) (\w+)/.exec(step)?.[1]))
    for (const [, , , step] of plan) {
      if (parts.has(/^SCAN (\w+)/.exec(step)?.[1])) continue
      if (/^SCAN (log\.)?(e|events|places|d|docs|s|sessions)\b/.test(step)) scans.push(`${step}: ${sql}`)
    }
  }
  return scans
}

const access = { reading: async <T>(read: () => T) => read(), writing: async <T>(write: () => T) => write() }
const project = 'shop'
const times = { since: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z' }
const who = { participant: 'dev', agent: 'dev', phase: 'plan', archived: false } as const
const workItem = { type: 'feature', featureId: 'login' } as const

it('a search by words, titles, time and people is planned by indexes', () => {
  const { index } = filledDatabase()
  const queries = new Set<string>()
  const database = recordingDatabase(index.database, queries)
  const [messages, titles] = [messageSearch(database), titleSearch(database)]
  for (const more of [{}, times, who, { workItem }, { ...times, ...who, workItem }]) {
    for (const text of ['login page', 'lo', '']) titles({ project, text, ...more })
    messages({ project, text: 'login page', ...more })
    messages({ project, text: 'login', conversationId: 'c', before: 9, author: 'dev', role: 'user', ...more })
  }
  expect(queries.size).toBeGreaterThan(20)
  expect(scansIn(index.database, queries)).toEqual([])
})

it('lists, heads, windows, reading, archives, audit and due work are planned by indexes', () => {
  const { database } = filledDatabase()
  const queries = new Set<string>()
  const recording = recordingDatabase(database, queries)
  const heads = headStore(recording)
  const lists = directory({ database: recording, heads, ...access })
  for (const page of [{}, { cursor: '5' }]) {
    const where = { conversationId: 'c', agentName: 'dev', workItem, status: ['active'] as const }
    lists.sessions({ project, ...page })
    lists.sessions({ project, ...where, ...page })
  }
  lists.conversations({ project, status: ['active'], type: 'feature', cursor: '5.5' })
  const windows = windowReader({ database: recording, heads })
  const window = { project, conversationId: 'c', viewer: everything, kinds: ['talk'] as const, start: 0, kept: [] }
  windows.messages(window, { limit: 10 })
  reader({ database: recording, heads, epoch: () => '' })
  new RowReader(recording)
  expect(queries.size).toBeGreaterThan(50)
  expect(scansIn(database, queries)).toEqual([])
})

it('the rows that retention looks at are read in the order of their pages: no page sorts all of them', () => {
  const { database } = filledDatabase()
  const queries = new Set<string>()
  const recording = recordingDatabase(database, queries)
  new RowReader(recording)
  const [retention] = [...queries].filter(sql => sql.includes('c.status, c.created_at'))
  const plan = database.prepare(`explain query plan ${retention}`).all() as Array<[number, number, number, string]>
  expect(plan.map(([, , , step]) => step).filter(step => step.includes('TEMP B-TREE'))).toEqual([])
})
