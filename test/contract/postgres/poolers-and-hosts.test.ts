/** Ways to a server that are not a straight line: poolers, roles that see one project, lists of hosts, failover. */

import { type PostgresOptions, postgresStore } from 'colloquy/postgres'
import type { StoreCalls } from 'colloquy/stores'
import pg from 'pg'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  conversationCreated,
  errorOf,
  fenceOf,
  messageAdded,
  nextEvents,
  proposal,
  sessionCreated,
  textsIn,
} from '../../../src/testing/builders.ts'
import { type PostgresServer, startPostgres, startReplicated } from '../../support/postgres-server.ts'
import { transactionPooler } from '../../support/transaction-pooler.ts'

const project = 'shop'

async function openAt(url: string, options: Partial<PostgresOptions> = {}): Promise<StoreCalls> {
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
  it('[P1][P2][P3][P11] everything works through a transaction pooler that works without one', async () => {
    const server = await ownServer()
    const pooler = await transactionPooler(server.socketFolder)
    const url = `postgres://postgres@127.0.0.1:${pooler.port}/postgres?schema=one&pooler=transaction`
    const [store, other] = [await openAt(url), await openAt(url)]
    const events = other.subscribe({ project, from: 'start' })
    await store.append(proposal('c', [conversationCreated(), sessionCreated('s'), messageAdded('one')]))
    await Promise.all(
      [store, other].flatMap(node =>
        Array.from({ length: 10 }, (_, i) => node.append(proposal('c', messageAdded(`two ${i}`)))),
      ),
    )
    const once = { key: 'k', digest: 'd' }
    await store.append(proposal('c', messageAdded('three'), { once }))
    expect(await other.append(proposal('c', messageAdded('three'), { once }))).toMatchObject({ replayed: true })
    const lease = await store.claim({ project, name: 'work', holder: 'one', forMs: 60_000 })
    await other.append(proposal('c', messageAdded('four'), { fence: fenceOf(lease) }))
    const seen = await nextEvents(events, 24)
    expect(seen.map(event => event.version)).toEqual(Array.from({ length: 24 }, (_, index) => index + 1))
    expect(await store.search({ project, text: 'four' })).toHaveLength(1)
    expect((await other.verify()).damages).toEqual([])
    expect(pooler.transactions).toBeGreaterThan(20)
    // The next users of these connections find them unchanged.
    const bare = await sqlAt(`postgres://postgres@127.0.0.1:${pooler.port}/postgres`)
    for (let i = 0; i < 4; i++) {
      const { rows } = await bare.query(`select current_setting('search_path') as path,
        current_setting('enable_seqscan') as scans, (select count(*)::integer from pg_prepared_statements) as prepared,
        (select count(*)::integer from pg_locks where locktype = 'advisory') as locks`)
      expect(rows).toEqual([{ path: '"$user", public', scans: 'on', prepared: 0, locks: 0 }])
    }
  })

  it('[P2] a node that cannot listen through its pooler polls', async () => {
    const server = await ownServer()
    const pooler = await transactionPooler(server.socketFolder)
    const place = `postgres://postgres@127.0.0.1:${pooler.port}/postgres?schema=two&pooler=transaction`
    // No server listens at that address.
    const [store, other] = [await openAt(place), await openAt(`${place}&direct=127.0.0.1:1`)]
    const events = other.subscribe({ project, from: 'start' })
    await store.append(proposal('c', [conversationCreated(), messageAdded('heard')]))
    expect(textsIn(await nextEvents(events, 2))).toEqual(['heard'])
  })

  it('[P12] roles that share connections of a pooler see their own project each', async () => {
    const server = await ownServer()
    const owner = await openAt(`${server.urlOf('postgres')}&schema=talks`)
    await owner.append(proposal('c', [conversationCreated(), messageAdded('of the shop')]))
    await owner.append(proposal('c', [conversationCreated(), messageAdded('of the bank')], { project: 'bank' }))
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
          await store.append(proposal('c', messageAdded(`${mine} ${round}`), { project: mine }))
          expect(await store.projects()).toEqual([mine])
          expect(await store.read({ project: names[1 - index]!, conversationId: 'c' })).toEqual([])
          const texts = textsIn(await store.read({ project: mine, conversationId: 'c' }))
          expect(texts.at(-1)).toBe(`${mine} ${round}`)
        }),
      )
    }
    expect(
      await errorOf(() => stores[0]!.append(proposal('d', conversationCreated(), { project: 'bank' }))),
    ).toBeInstanceOf(Error)
    // A connection without a project sees none, after any other user.
    const bare = await sqlAt(`postgres://teller@127.0.0.1:${pooler.port}/postgres`)
    for (let i = 0; i < 4; i++) {
      expect((await bare.query('select count(*)::integer as seen from talks.events')).rows).toEqual([{ seen: 0 }])
    }
    expect((await owner.verify()).damages).toEqual([])
  })
})

describe('a list of hosts', () => {
  it('[P1][P2] with a list of hosts the primary dies, the standby is promoted: nodes go on there, nothing acknowledged is lost', async () => {
    const servers = await startReplicated()
    onTestFinished(() => servers.remove())
    const store = await openAt(servers.url, { busyTimeoutMs: 30_000 })
    const other = await openAt(servers.url, { busyTimeoutMs: 30_000 })
    await store.append(proposal('c', conversationCreated()))
    const events = other.subscribe({ project, from: 'start' })
    const acknowledged: string[] = []
    let isOver = false
    const writing = Promise.all(
      [0, 1, 2].map(async writer => {
        for (let i = 0; !isOver; i++) {
          const words = `${writer} ${i}`
          await store.append(proposal('c', messageAdded(words)))
          acknowledged.push(words)
        }
      }),
    )
    // A reader on the standby follows what is written to the primary.
    const behind = await openAt(servers.url.replace('read-write', 'standby'), { readOnly: true })
    const followed = await nextEvents(behind.subscribe({ project, from: 'start' }), 30)
    expect(followed.map(event => event.version)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1))
    expect(await errorOf(() => behind.append(proposal('c', messageAdded('no'))))).toMatchObject({
      code: 'store/read-only',
    })
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
    expect(textsIn(await nextEvents(events, log.length))).toEqual(texts)
    expect((await other.verify()).damages).toEqual([])
    // A reader that wants any server is content with what there is.
    const reader = await openAt(servers.url.replace('read-write', 'any'), { readOnly: true })
    expect(textsIn(await reader.read({ project, conversationId: 'c', limit: 10_000 }))).toEqual(texts)
  })

  it('a list of hosts that are all away is a typed error, in time', async () => {
    const nowhere = 'postgres://postgres@127.0.0.1:1,127.0.0.1:2/postgres'
    const error = await errorOf(() => postgresStore(nowhere, { clock: Date.now, busyTimeoutMs: 200 }))
    expect(error).toMatchObject({ code: 'store/failed' })
  })

  it('a list of hosts needs one of the known kinds of server', async () => {
    const error = await errorOf(() => postgresStore('postgres://a,b/c?target_session_attrs=best', { clock: Date.now }))
    expect(error).toMatchObject({ code: 'store/unusable' })
  })
})
