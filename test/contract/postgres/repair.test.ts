/** Derived rows on a server are damaged, and repaired by the log; work that one node does at a time. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openColloquy } from 'colloquy'
import { StoreReadOnly } from 'colloquy/errors'
import { postgresStore } from 'colloquy/postgres'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { conversationCreated, errorOf, messageAdded, proposal, sessionCreated } from '../../../src/testing/builders.ts'
import { cliOn } from '../../support/cli.ts'
import { freshSchema } from '../../support/postgres.ts'
import { openPostgres } from '../open-postgres.ts'

const project = 'shop'

async function changeRows(url: string, schema: string, change: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.replace(/[?&]schema=\w+/, '') })
  await client.connect()
  await client.query(`set search_path = ${schema}; ${change}`)
  await client.end()
}

it('[P13] sessions too damaged to have a head keep no other from expiring', async () => {
  const { store, clock, url, schema } = await openPostgres()
  for (const id of ['a', 'b'])
    await store.append(proposal(id, [conversationCreated(), sessionCreated(`${id} s`, { expiresInMs: 1000 })]))
  await changeRows(
    url,
    schema,
    `update sessions set head = '{' where id = 'a s';
     update events set body = '{' where type = 'session.created' and body like '%a s%'`,
  )
  const other = await postgresStore(url, { clock })
  onTestFinished(() => other.close())
  clock.now += 2000
  expect((await other.expiring(project, clock.now, 1)).map(head => head.id)).toEqual(['b s'])
  await changeRows(url, schema, `delete from sessions where id = 'b s'`)
  expect(await other.expiring(project, clock.now, 1)).toEqual([])
}, 20_000)

describe('[P13] repair', () => {
  it.each([
    ['a head that differs', `update conversations set info = replace(info, 'Login', 'Logon')`],
    ['a head that cannot be read', `update conversations set info = '{'`],
    ['another newest event', `update conversations set hash = sha256('x')`],
    ['a status', `update conversations set status = 'archived'`],
    ['a session that differs', `update sessions set head = replace(head, 'dev', 'pm')`],
    ['a missing session', `delete from sessions`],
    ['an index with other words', `update docs set words = '''nonsense'''`],
    ['an index without words', `delete from docs`],
  ])('[P13] repair fixes %s by the log', async (_what, change) => {
    const { store, url, schema, reopen } = await openPostgres()
    await store.append(
      proposal('c', [conversationCreated(), sessionCreated('s'), messageAdded('the tide turns'), messageAdded('two')]),
    )
    await store.append(proposal('d', [conversationCreated({ title: 'Another' }), messageAdded('untouched')]))
    await store.search({ project, text: 'tide' })
    const before = [await store.conversation(project, 'c'), await store.session(project, 's')]
    await changeRows(url, schema, change)
    const repaired = await (await reopen()).repair!()
    expect(repaired.indexed).toBe(3)
    const again = await reopen()
    expect([await again.conversation(project, 'c'), await again.session(project, 's')]).toEqual(before)
    expect(await again.search({ project, text: 'tide' })).toHaveLength(1)
    expect((await again.verify()).damages).toEqual([])
    expect((await again.append(proposal('c', messageAdded('goes on')))).events[0]!.version).toBe(5)
  })

  it('[P13] repair fixes the columns by which work items are found', async () => {
    const { url, schema } = await freshSchema()
    const first = await openColloquy({ store: url, project })
    await first.work.addBead({ beadId: 'b', title: 'B', priority: 1, state: 'parked' })
    await first.work.planTasks('f', { add: [{ taskId: 't', title: 'T' }] })
    await first.work.moveTask('f', 't', 'in_dev')
    await first.close()
    await changeRows(url, schema, `update conversations set work_state = 'odd', work_priority = 9, info = '{'`)
    const colloquy = await openColloquy({ store: url, project })
    onTestFinished(() => colloquy.close())
    await colloquy.repair()
    expect((await colloquy.work.listBeads({ states: ['parked'] })).items).toMatchObject([{ beadId: 'b', priority: 1 }])
    expect((await colloquy.work.graph('f')).tasks).toMatchObject([{ taskId: 't', state: 'in_dev' }])
  })

  it('[P13] repair leaves a head that knows more than its damaged log, and the log itself', async () => {
    const { store, url, schema, reopen } = await openPostgres()
    await store.append(
      proposal('c', [
        conversationCreated({ title: 'Kept' }),
        sessionCreated('s'),
        messageAdded('one'),
        messageAdded('two'),
      ]),
    )
    await changeRows(url, schema, `update events set body = '{}' where version = 1`)
    const again = await reopen()
    expect((await again.repair!()).heads).toEqual([])
    expect((await again.conversation(project, 'c'))?.info.title).toBe('Kept')
    expect((await again.verify()).damages).toHaveLength(1)
  })

  it('[P13] repair runs from the command line, and not on a store opened for reading', async () => {
    const { url, schema } = await freshSchema()
    const colloquy = await openColloquy({ store: url, project, tokens: 'fast', sweepEveryMs: null })
    await colloquy.conversations.createConversation({ title: 'Tide', initial: { role: 'user', content: 'it turns' } })
    await colloquy.close()
    await changeRows(url, schema, `update conversations set info = replace(info, 'Tide', 'Tied')`)
    const cli = cliOn(url)
    expect((await cli('verify')).exitCode).toBe(3)
    const repaired = await cli('verify', '--repair')
    expect(repaired).toMatchObject({ exitCode: 0, stderr: '' })
    expect(repaired.stdout).toContain('head: it differed from what its log says')
    const reader = await postgresStore(url, { clock: Date.now, readOnly: true })
    onTestFinished(() => reader.close())
    expect(await errorOf(() => reader.repair!())).toBeInstanceOf(StoreReadOnly)
  })
})

describe('work that one node does at a time', () => {
  it('work of one node at a time is left to the node that does it, and taken up when that one dies, without waiting for its lease', async () => {
    const { url } = await freshSchema()
    const colloquy = await openColloquy({ store: url, project, tokens: 'fast', sweepEveryMs: null })
    onTestFinished(() => colloquy.close())
    expect((await colloquy.maintain()).skipped).toBe(false)
    const file = fileURLToPath(new URL('../processes/maintain-for-ever.mjs', import.meta.url))
    const child = spawn(process.execPath, [file, url, project], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    expect((await colloquy.maintain()).skipped).toBe(true)
    child.kill('SIGKILL')
    await once(child, 'close')
    // The server notices when it reads from the connection next.
    while ((await colloquy.maintain()).skipped);
  })

  it('of several nodes that start work of one node at a time one does it', async () => {
    const { store, another } = await openPostgres()
    const other = await another()
    let atWork = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++atWork)
      await store.read({ project, conversationId: 'c' })
      atWork--
      return 'done'
    }
    const done = await Promise.all([store, other, store, other].map(one => one.alone!(project, 'sweeping', work)))
    expect(most).toBe(1)
    expect(done).toContain('done')
    expect(await other.alone!(project, 'sweeping', work)).toBe('done')
    expect(await errorOf(() => store.alone!(project, 'sweeping', () => Promise.reject(new Error('no'))))).toMatchObject(
      {
        message: 'no',
      },
    )
    expect(await other.alone!(project, 'sweeping', work)).toBe('done')
  })
})
