/** Branches where many nodes write: no parent goes while a branch comes. And schemas of before there were any. */
import { type ArchivePlace, IllegalState, NotFound } from 'colloquy'
import { postgresStore } from 'colloquy/postgres'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { begun, eachOf, into, linesOf, origin, refusal, said, textsIn } from '../support/builders.ts'
import { openPostgres } from './open-postgres.ts'

const project = 'shop'

async function sqlAt({ url, schema }: { url: string; schema: string }): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url.replace(/[?&]schema=\w+/, '') })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`set search_path = ${schema}`)
  return client
}

const branchOff = (conversationId: string, version = 2) => begun({ branchOf: { conversationId, version } })

describe('a branch on many nodes', () => {
  it('[P4] is made while another node purges its parent: one of the two is refused', async () => {
    const { store, another } = await openPostgres()
    const other = await another()
    for (let round = 0; round < 15; round++) {
      const [parent, branch] = [`parent ${round}`, `branch ${round}`]
      await store.append(into(parent, [begun(), said('one'), said('two')]))
      let branching: Promise<unknown> | undefined
      const begin = () => {
        branching ??= refusal(() => other.append(into(branch, [branchOff(parent), said('else')])))
      }
      const to: ArchivePlace = {
        async write(_name, lines) {
          await linesOf(lines)
          if (round % 3 === 0) begin()
          // The archive takes its time; the branch may come before, while or after the parent goes.
          for (let turn = 0; turn < round; turn++) await new Promise(setImmediate)
          if (round % 3 === 1) begin()
          return 'archive'
        },
        remove: async () => {},
        read: () => eachOf([]),
      }
      const purging = refusal(() => store.purge({ project, conversationId: parent, to, origin }))
      if (round % 3 === 2) begin()
      const purged = await purging
      const branched = await branching
      const isThere = (await store.conversation(project, parent)) !== undefined
      if (isThere) expect([purged, branched]).toEqual([expect.any(IllegalState), undefined])
      else expect([purged, branched]).toEqual([undefined, expect.any(NotFound)])
      expect((await store.conversation(project, branch)) !== undefined).toBe(isThere)
    }
    expect((await store.verify()).damages).toEqual([])
  })

  it('[P13] verify tells that what it branches off is gone', async () => {
    const opened = await openPostgres()
    await opened.store.append(into('parent', [begun(), said('one'), said('two')]))
    await opened.store.append(into('branch', [branchOff('parent'), said('else')]))
    const sql = await sqlAt(opened)
    await sql.query(`delete from events where version = 2`)
    const { damages } = await opened.store.verify()
    expect(damages).toContainEqual({
      project,
      conversationId: 'branch',
      version: 2,
      what: 'what it branches off is missing',
    })
    expect(textsIn(await opened.store.read({ project, conversationId: 'branch' }))).toEqual(['else'])
  })
})

/** The steps after the fifth. */
const undoNewest = `drop table landmarks;
  alter table conversations drop column work_state, drop column work_priority, drop column work_feature;
  alter table conversations add column version integer, add column hash bytea, add column active_at bigint;
  update conversations c set version = e.version, hash = e.hash, active_at = e.active_at from ends e
    where e.project = c.project and e.conversation = c.conversation;
  alter table conversations alter version set not null, alter hash set not null, alter active_at set not null;
  drop table ends;
  drop function refuse_end_of_events;
  alter table events add foreign key (project, conversation) references conversations;
  drop index events_by_lane;
  create unique index events_by_lane on events (project, conversation, lane, version)
    include (messages, tokens, input, output, at) where lane is not null;
  create index facts_by_version on events (project, conversation, version) where lane is null`

describe('a schema of before', () => {
  it('is brought up to date with what it holds', async () => {
    const opened = await openPostgres()
    await opened.store.append(into('old', [begun(), said('kept')]))
    await opened.store.close()
    const sql = await sqlAt(opened)
    await sql.query(undoNewest)
    await sql.query('alter table conversations drop column due_at, drop column branch_of, drop column branch_version')
    await sql.query('drop index facts_by_version, docs_by_author, phases_by_version')
    await sql.query(`update meta set value = '3' where name = 'schema'`)

    const store = await postgresStore(opened.url, { clock: opened.clock, connections: 4 })
    onTestFinished(() => store.close())
    await store.append(into('branch', [branchOff('old'), said('new')]))
    await store.append(into('old', { type: 'phase.changed', to: 'plan', timeoutMs: 1000 }))
    expect((await store.due(project, opened.clock.now + 1000, { limit: 5 })).items).toMatchObject([
      { info: { id: 'old' } },
    ])
    expect(textsIn(await store.read({ project, conversationId: 'old' }))).toEqual(['kept'])
    expect((await store.verify()).damages).toEqual([])
  })

  it('messages that were indexed in a later phase than their own are found in their own', async () => {
    const opened = await openPostgres()
    const moved = { type: 'phase.changed', from: 'plan', to: 'execute' } as const
    await opened.store.append(into('old', [begun({ phase: 'plan' }), said('apple'), moved]))
    expect(await opened.store.search({ project, text: 'apple' })).toHaveLength(1)
    await opened.store.close()
    const sql = await sqlAt(opened)
    await sql.query(undoNewest)
    await sql.query(`update docs set phase = 'execute'`)
    await sql.query('drop index docs_by_author, phases_by_version')
    await sql.query(`update meta set value = '4' where name = 'schema'`)

    const store = await postgresStore(opened.url, { clock: opened.clock, connections: 4 })
    onTestFinished(() => store.close())
    expect(await store.search({ project, text: 'apple', phase: 'plan' })).toHaveLength(1)
    expect(await store.search({ project, text: 'apple', phase: 'execute' })).toEqual([])
  })
})
