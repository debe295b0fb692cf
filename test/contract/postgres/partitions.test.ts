/** The statements of docs/scale.md partition a store that is in use, and everything works as before. */
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, it } from 'vitest'
import { memoryArchives } from '../../../src/testing/archives.ts'
import {
  asyncItems,
  conversationCreated,
  linesOf,
  messageAdded,
  nextEvents,
  origin,
  proposal,
  sessionCreated,
  textsIn,
} from '../../../src/testing/builders.ts'
import { openPostgres } from '../open-postgres.ts'

const page = readFileSync(new URL('../../../docs/scale.md', import.meta.url), 'utf8')
const statements = /```sql partitions\n([\s\S]*?)```/.exec(page)![1]!

it('[P1][P2][P4][P12][P13] the events table is partitioned by hash of the project, and everything works on it', async () => {
  const { store, url, schema, another } = await openPostgres()
  const projects = Array.from({ length: 12 }, (_, index) => `project ${index}`)
  const large = messageAdded('large '.repeat(60_000))
  for (const project of projects) {
    await store.append(
      proposal('c', [conversationCreated(), sessionCreated('s'), messageAdded(`first of ${project}`), large], {
        project,
      }),
    )
  }
  const client = new pg.Client({ connectionString: url.replace(/[?&]schema=\w+/, '') })
  await client.connect()
  await client.query(
    statements
      .replace('search_path = colloquy', `search_path = ${schema}`)
      .replace('analyze colloquy', `analyze ${schema}`),
  )
  const parts = await client.query(`select count(*)::integer as parts from pg_inherits
    where inhparent = '${schema}.events'::regclass`)
  expect(parts.rows[0].parts).toBeGreaterThan(1)
  const used = await client.query(`select count(distinct tableoid)::integer as used from ${schema}.events`)
  expect(used.rows[0].used).toBeGreaterThan(1)
  const plan = await client.query(`explain select body from ${schema}.events where project = 1 and conversation = 1`)
  expect(
    JSON.stringify(plan.rows)
      .match(/events_\d+/g)!
      .every((part, _, all) => part === all[0]),
  ).toBe(true)
  await client.end()

  const other = await another()
  const [project] = projects as [string]
  const events = other.subscribe({ project, from: 'start' })
  await Promise.all(
    [store, other].map((one, index) => one.append(proposal('c', messageAdded(`later ${index}`), { project }))),
  )
  await store.append(proposal('d', [conversationCreated(), messageAdded('new')], { project }))
  expect((await nextEvents(events, 8)).map(event => event.version)).toEqual([1, 2, 3, 4, 5, 6, 1, 2])
  expect(await other.search({ project, text: 'later' })).toHaveLength(2)
  expect(textsIn(await store.read({ project: projects[5]!, conversationId: 'c', to: 3 }))).toEqual([
    'first of project 5',
  ])
  const [hit] = await store.search({ project, text: 'new' })
  await store.erase({ project, messageId: hit!.messageId, origin })
  const lines = await linesOf(store.export({ project, conversationId: 'c' }))
  await store.purge({ project, conversationId: 'c', to: memoryArchives(), origin })
  await store.restore({ project, lines: asyncItems(lines), origin })
  expect((await other.verify()).damages).toEqual([])
})
