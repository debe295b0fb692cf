/** Ways to a server that are not a straight line: poolers, roles that see one project, lists of hosts, failover. */
import type { Store } from 'colloquy'
import { type PostgresOptions, postgresStore } from 'colloquy/postgres'
import pg from 'pg'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { begun, fenceOf, into, joined, refusal, said, take, textsIn } from '../support/builders.ts'
import { type PostgresServer, startPostgres, startReplicated } from '../support/postgres-server.ts'
import { transactionPooler } from '../support/transaction-pooler.ts'

const project = 'shop'

async function openAt(url: string, options: Partial<PostgresOptions> = {}): Promise<Store> {
  const store = await postgresStore(url, { clock: Date.now, connections: 4, ...options })
  onTestFinished(() => store.close())
  return store
}

async function sqlAt(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** One that listens in a folder we know, which the pooler needs; the tests have a schema each. */
let started: Promise<PostgresServer> | undefined

function ownServer(): Promise<PostgresServer> {
  started ??= startPostgres({ fsync: 'off' })
  return started
}

afterAll(async () => (await started)?.remove())

describe('through a pooler that gives a connection for a transaction', () => {
  it('[P1][P2][P3][P11] everything works that works without one', async () => {
    const server = await ownServer()
    const pooler = await transactionPooler(server.socketFolder)
    const url = `postgres://postgres@127.0.0.1:${pooler.port}/postgres?schema=one&pooler=transaction`
    const [store, other] = [await openAt(url), await openAt(url)]
    const events = other.subscribe({ project, from: 'start' })
    await store.append(into('c', [begun(), joined('s'), said('one')]))
    await Promise.all(
      [store, other].flatMap(node => Array.from({ length: 10 }, (_, i) => node.append(into('c', said(`two ${i}`))))),
    )
    const once = { key: 'k', digest: 'd' }
    await store.append(into('c', said('three'), { once }))
    expect(await other.append(into('c', said('three'), { once }))).toMatchObject({ replayed: true })
    const lease = await store.claim({ project, name: 'work', holder: 'one', forMs: 60_000 })
    await other.append(into('c', said('four'), { fence: fenceOf(lease) }))
    const seen = await take(events, 24)
    expect(seen.map(event => event.version)).toEqual(Array.from({ length: 24 }, (_, index) => index + 1))
    expect(await store.search({ project, text: 'four' })).toHaveLength(1)
    expect((await other.verify()).damages).toEqual([])
    expect(pooler.transactions).toBeGreaterThan(20)
    // What others find on the connections they are given next is as it was.
    const bare = await sqlAt(`postgres://postgres@127.0.0.1:${pooler.port}/postgres`)
    for (let i = 0; i < 4; i++) {
      const { rows } = await bare.query(`select current_setting('search_path') as path,
        current_setting('enable_seqscan') as scans, (select count(*)::integer from pg_prepared_statements) as prepared,
        (select count(*)::integer from pg_locks where locktype = 'advisory') as locks`)
      expect(rows).toEqual([{ path: '"$user", public', scans: 'on', prepared: 0, locks: 0 }])
    }
  })

  it('[P2] who has nobody to listen to polls', async () => {
    const server = await ownServer()
    const pooler = await transactionPooler(server.socketFolder)
    const place = `postgres://postgres@127.0.0.1:${pooler.port}/postgres?schema=two&pooler=transaction`
    // At that address there is nobody.
    const [store, other] = [await openAt(place), await openAt(`${place}&direct=127.0.0.1:1`)]
    const events = other.subscribe({ project, from: 'start' })
    await store.append(into('c', [begun(), said('heard')]))
    expect(textsIn(await take(events, 2))).toEqual(['heard'])
  })

  it('[P12] roles that share its connections see their own project each', async () => {
    const server = await ownServer()
    const owner = await openAt(`${server.urlOf('postgres')}&schema=talks`)
    await owner.append(into('c', [begun(), said('of the shop')]))
    await owner.append(into('c', [begun(), said('of the bank')], { project: 'bank' }))
    const sql = await sqlAt(server.urlOf('postgres'))
    await sql.query(`create role teller login; grant usage on schema talks to teller;
      grant select, insert, update, delete on all tables in schema talks to teller;
      grant usage on all sequences in schema talks to teller`)
    const pooler = await transactionPooler(server.socketFolder)
    const place = `postgres://teller@127.0.0.1:${pooler.port}/postgres?schema=talks&pooler=transaction`
    const stores = await Promise.all(['shop', 'bank'].map(name => openAt(`${place}&project=${name}`)))
    const names = ['shop', 'bank']
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        stores.map(async (store, index) => {
          const mine = names[index]!
          await store.append(into('c', said(`${mine} ${round}`), { project: mine }))
          expect(await store.projects()).toEqual([mine])
          expect(await store.read({ project: names[1 - index]!, conversationId: 'c' })).toEqual([])
          const texts = textsIn(await store.read({ project: mine, conversationId: 'c' }))
          expect(texts.at(-1)).toBe(`${mine} ${round}`)
        }),
      )
    }
    expect(await refusal(() => stores[0]!.append(into('d', begun(), { project: 'bank' })))).toBeInstanceOf(Error)
    // A connection on which nobody said which project sees none, whoever used it before.
    const bare = await sqlAt(`postgres://teller@127.0.0.1:${pooler.port}/postgres`)
    for (let i = 0; i < 4; i++) {
      expect((await bare.query('select count(*)::integer as seen from talks.events')).rows).toEqual([{ seen: 0 }])
    }
    expect((await owner.verify()).damages).toEqual([])
  })
})

describe('a list of hosts', () => {
  it('[P1][P2] the primary dies, the standby is promoted: nodes go on there, nothing acknowledged is lost', async () => {
    const servers = await startReplicated()
    onTestFinished(() => servers.remove())
    const store = await openAt(servers.url, { busyTimeoutMs: 30_000 })
    const other = await openAt(servers.url, { busyTimeoutMs: 30_000 })
    await store.append(into('c', begun()))
    const events = other.subscribe({ project, from: 'start' })
    const acknowledged: string[] = []
    let isOver = false
    const writing = Promise.all(
      [0, 1, 2].map(async writer => {
        for (let i = 0; !isOver; i++) {
          const words = `${writer} ${i}`
          await store.append(into('c', said(words)))
          acknowledged.push(words)
        }
      }),
    )
    // A reader on the standby follows what is written to the primary.
    const behind = await openAt(servers.url.replace('read-write', 'standby'), { readOnly: true })
    const followed = await take(behind.subscribe({ project, from: 'start' }), 30)
    expect(followed.map(event => event.version)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1))
    expect(await refusal(() => behind.append(into('c', said('no'))))).toMatchObject({ code: 'store/read-only' })
    await behind.close()
    while (acknowledged.length < 30) await new Promise(setImmediate)
    await servers.primary.crash()
    await servers.promote()
    const atFailover = acknowledged.length
    while (acknowledged.length < atFailover + 30) await new Promise(setImmediate)
    isOver = true
    await writing
    const log = await other.read({ project, conversationId: 'c', limit: 10_000 })
    const texts = textsIn(log)
    expect(texts.filter(text => acknowledged.includes(text))).toHaveLength(acknowledged.length)
    expect(new Set(texts).size).toBe(texts.length)
    expect(textsIn(await take(events, log.length))).toEqual(texts)
    expect((await other.verify()).damages).toEqual([])
    // A reader that wants any server is content with what there is.
    const reader = await openAt(servers.url.replace('read-write', 'any'), { readOnly: true })
    expect(textsIn(await reader.read({ project, conversationId: 'c', limit: 10_000 }))).toEqual(texts)
  })

  it('of which none is there is a typed error, in time', async () => {
    const nowhere = 'postgres://postgres@127.0.0.1:1,127.0.0.1:2/postgres'
    const error = await refusal(() => postgresStore(nowhere, { clock: Date.now, busyTimeoutMs: 200 }))
    expect(error).toMatchObject({ code: 'store/failed' })
  })

  it('wants one of the known kinds of server', async () => {
    const error = await refusal(() => postgresStore('postgres://a,b/c?target_session_attrs=best', { clock: Date.now }))
    expect(error).toMatchObject({ code: 'store/unusable' })
  })
})
