/** Behaviour of a server alone: its restarts, cut connections, foreign transactions, roles, processes. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { openColloquy } from 'colloquy'
import { PositionUnknown, StoreUnusable } from 'colloquy/errors'
import { postgresStatus, postgresStore } from 'colloquy/postgres'
import { sqliteStore } from 'colloquy/sqlite'
import type { StoreCalls } from 'colloquy/stores'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memoryArchives } from '../../../src/testing/archives.ts'
import {
  asyncItems,
  conversationCreated,
  errorOf,
  linesOf,
  messageAdded,
  nextEvents,
  origin,
  proposal,
  sessionCreated,
  textsIn,
} from '../../../src/testing/builders.ts'
import { cliOn } from '../../support/cli.ts'
import { freshSchema } from '../../support/postgres.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { cutProxy } from '../../support/tcp-proxy.ts'
import { openPostgres } from '../open-postgres.ts'

const project = 'shop'

async function openAt(url: string): Promise<StoreCalls> {
  const store = await postgresStore(url, { clock: Date.now, connections: 4 })
  onTestFinished(() => store.close())
  return store
}

/** A connection past the store, as an administrator or another program has one. */
async function sqlAt(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url.replace(/[?&]schema=\w+/, '') })
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

async function ownServer() {
  const server = await startPostgres({ fsync: 'off' })
  onTestFinished(() => server.remove())
  return server
}

describe('a schema', () => {
  it('a schema of another program or of another version is refused, and nothing is written', async () => {
    const { url, schema } = await freshSchema()
    const sql = await sqlAt(url)
    await sql.query(`create schema ${schema}; create table ${schema}.theirs (x integer)`)
    const foreign = await errorOf(() => postgresStore(url, { clock: Date.now }))
    expect(foreign).toBeInstanceOf(StoreUnusable)
    await sql.query(`drop schema ${schema} cascade`)
    await (await openAt(url)).close()
    for (const found of [11, 999]) {
      await sql.query(`update ${schema}.meta set value = '${found}' where name = 'schema'`)
      const other = await errorOf(() => postgresStore(url, { clock: Date.now }))
      expect(other).toMatchObject({ code: 'store/unusable', facts: { found } })
      expect((other as Error).message).toContain('Export its conversations')
      expect(await postgresStatus(url)).toMatchObject({ schema: found, projects: [] })
    }
  })

  it('a schema is created once when many open it at the same moment', async () => {
    const { url } = await freshSchema()
    const stores = await Promise.all(Array.from({ length: 5 }, () => openAt(url)))
    await Promise.all(stores.map((store, index) => store.append(proposal(`c${index}`, conversationCreated()))))
    expect((await stores[0]!.verify()).conversations).toBe(5)
  })

  it('a schema whose creation is cut off at any statement is created at the next opening', async () => {
    const server = await ownServer()
    const proxy = await cutProxy(server.socketFolder)
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres?schema=cut`
    const statements = [
      'create table lanes',
      'create table docs',
      'one_project on landmarks',
      "values ('schema'",
      'commit',
    ]
    for (const words of statements) {
      proxy.cutNext(words, 'before')
      await (await openAt(url)).close()
      const sql = await sqlAt(server.urlOf('postgres'))
      const store = await openAt(url)
      await store.append(proposal('c', [conversationCreated(), messageAdded('there')]))
      expect((await store.verify()).damages).toEqual([])
      await store.close()
      await sql.query('drop schema cut cascade')
    }
    expect(proxy.cuts).toBe(statements.length)
  })
})

describe('a connection that is cut', () => {
  it.each(['before', 'after'] as const)(
    '[P1][P3] with a connection that is cut %s the server answered each message is there once',
    async when => {
      const server = await ownServer()
      const proxy = await cutProxy(server.socketFolder)
      const store = await openAt(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`)
      await store.append(proposal('c', conversationCreated()))
      const texts: string[] = []
      for (let round = 0; round < 5; round++) {
        const words = `cut ${round} `
        proxy.cutNext(words, when)
        texts.push(words)
        const { events } = await store.append(proposal('c', messageAdded(words)))
        expect(await store.read({ project, conversationId: 'c', from: round + 2 })).toEqual(events)
      }
      expect(proxy.cuts).toBe(5)
      expect(textsIn(await store.read({ project, conversationId: 'c' }))).toEqual(texts)
      expect((await store.verify()).damages).toEqual([])
    },
  )

  it.each(['before', 'after'] as const)(
    '[P1][P3] with a connection that is cut %s the server answered to the commit each message is there once',
    async when => {
      const server = await ownServer()
      const proxy = await cutProxy(server.socketFolder)
      const store = await openAt(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`)
      const once = { key: 'k', digest: 'd' }
      proxy.cutNext('commit', when)
      const { events } = await store.append(proposal('c', [conversationCreated(), messageAdded('one')]))
      proxy.cutNext('commit', when)
      const appended = await Promise.all([
        store.append(proposal('c', messageAdded('two'), { once })),
        store.append(proposal('d', [conversationCreated(), messageAdded('three')])),
        errorOf(() => store.append(proposal('none', messageAdded('refused')))),
      ])
      expect(appended).toMatchObject([{ replayed: false }, { replayed: false }, { code: 'not-found' }])
      // A commit of the store's own timers may have taken the place of one of ours.
      expect(proxy.cuts).toBeGreaterThan(0)
      const log = await store.read({ project, conversationId: 'c' })
      expect(log).toEqual([...events, ...appended[0].events])
      expect(await store.read({ project, conversationId: 'd' })).toEqual(appended[1].events)
      expect(await nextEvents(store.subscribe({ project, from: 'start' }), 5)).toEqual([...log, ...appended[1].events])
      expect((await store.append(proposal('c', messageAdded('two'), { once }))).events).toEqual(appended[0].events)
      expect((await store.verify()).damages).toEqual([])
    },
  )
})

describe('a server that crashes and comes back', () => {
  it('[P1][P2] a server that crashes and comes back loses nothing acknowledged; writers wait, subscribers go on', async () => {
    const server = await ownServer()
    const store = await openAt(server.urlOf('postgres'))
    const other = await openAt(server.urlOf('postgres'))
    await store.append(proposal('c', conversationCreated()))
    const seen: string[] = []
    const following = (async () => {
      for await (const event of other.subscribe({ project, from: 'start' })) {
        seen.push(...textsIn([event]))
        if (seen.length === 60) break
      }
    })()
    let acknowledged = 0
    const writing = Promise.all(
      [0, 1, 2].map(async writer => {
        for (let i = 0; i < 20; i++) {
          await store.append(proposal('c', messageAdded(`${writer} ${i}`)))
          acknowledged++
        }
      }),
    )
    for (const after of [10, 30]) {
      while (acknowledged < after) await new Promise(setImmediate)
      await server.crashAndRestart()
    }
    await writing
    await following
    const texts = textsIn(await store.read({ project, conversationId: 'c' }))
    expect(texts).toHaveLength(60)
    expect(new Set(texts).size).toBe(60)
    expect(seen).toEqual(texts)
    expect((await store.verify()).damages).toEqual([])
  })

  it('a server that stays away is a typed error, in time', async () => {
    const server = await ownServer()
    const store = await postgresStore(server.urlOf('postgres'), { clock: Date.now, busyTimeoutMs: 300 })
    onTestFinished(() => store.close())
    await store.append(proposal('c', conversationCreated()))
    await server.crash()
    expect(await errorOf(() => store.append(proposal('c', messageAdded('x'))))).toMatchObject({ code: 'store/failed' })
    expect(await errorOf(() => store.read({ project, conversationId: 'c' }))).toMatchObject({ code: 'store/failed' })
    await server.start()
    await store.append(proposal('c', messageAdded('y')))
    expect(textsIn(await store.read({ project, conversationId: 'c' })).at(-1)).toBe('y')
  })
})

describe('transactions of others', () => {
  it('[P2] a transaction that stays open elsewhere does not stall subscribers, positions or search', async () => {
    const { store, another, url } = await openPostgres()
    const other = await another()
    const sql = await sqlAt(url)
    await sql.query('create table elsewhere (x integer)')
    await sql.query('begin; insert into elsewhere values (1)')
    const events = store.subscribe({ project, from: 'start' })
    await other.append(proposal('c', [conversationCreated(), messageAdded('past the idle one')]))
    expect(textsIn(await nextEvents(events, 2))).toEqual(['past the idle one'])
    expect(await store.search({ project, text: 'idle' })).toHaveLength(1)
    const from = await store.position()
    await other.append(proposal('c', messageAdded('next')))
    expect(textsIn(await nextEvents(store.subscribe({ project, from }), 1))).toEqual(['next'])
    await sql.query('rollback; drop table elsewhere')
  })

  it('[P2] an append that commits late is seen in its place by all, and never missed', async () => {
    const { store, another, url, schema } = await openPostgres()
    const other = await another()
    await store.append(proposal('slow', conversationCreated()))
    await store.append(proposal('quick', conversationCreated()))
    const sql = await sqlAt(url)
    // An append of another node that has written and not yet committed.
    await sql.query(`set search_path = ${schema}`)
    await sql.query('begin; lock table events in row exclusive mode')
    await sql.query(`insert into events (project, conversation, version, tx, n, type, schema, at, actor, channel, crc, digest, hash)
      select project, conversation, 2, pg_current_xact_id()::text::bigint, 0, 'poll.opened', 1, 0, 'x', 'x', 0, sha256('x'), sha256('x')
      from conversations where id = 'slow'`)
    const [one, two] = [store.subscribe({ project, from: 'start' }), other.subscribe({ project, from: 'start' })]
    await other.append(proposal('quick', messageAdded('later')))
    const seen = Promise.all([nextEvents(one, 4), nextEvents(two, 4)])
    await store.read({ project, conversationId: 'quick' })
    await sql.query('commit')
    for (const events of await seen) {
      expect(events.map(event => `${event.conversationId} ${event.version}`)).toEqual([
        'slow 1',
        'quick 1',
        'slow 2',
        'quick 2',
      ])
    }
  })
})

describe('the events of a conversation', () => {
  it('[P4] events are not written while or after another node purges their conversation', async () => {
    const { store, another, url, schema } = await openPostgres()
    const other = await another()
    const sql = await sqlAt(url)
    const orphans = `select count(*)::integer as found from ${schema}.events e
      where not exists (select 1 from ${schema}.conversations c where c.conversation = e.conversation)`
    for (let round = 0; round < 12; round++) {
      const id = `c ${round}`
      await store.append(proposal(id, [conversationCreated(), messageAdded('one')]))
      await other.append(proposal(id, messageAdded('known to the other')))
      const purging = errorOf(() => store.purge({ project, conversationId: id, to: memoryArchives(), origin }))
      for (let turn = 0; turn < round; turn++) await new Promise(setImmediate)
      const texts = round % 2 === 0 ? [messageAdded('alone')] : [messageAdded('with'), messageAdded('another')]
      const [refused] = await Promise.all([errorOf(() => other.append(proposal(id, texts))), purging])
      const isThere = (await store.conversation(project, id)) !== undefined
      if (!isThere)
        expect(await errorOf(() => other.append(proposal(id, messageAdded('too late'))))).toMatchObject({
          code: 'conversation/purged',
        })
      if (isThere) expect(refused).toBeUndefined()
    }
    expect((await sql.query(orphans)).rows).toEqual([{ found: 0 }])
    expect((await store.verify()).damages).toEqual([])
  })

  it('[P4] the events of a conversation keep it from being removed', async () => {
    const { store, url, schema } = await openPostgres()
    await store.append(proposal('c', [conversationCreated(), messageAdded('kept')]))
    const sql = await sqlAt(url)
    expect(await errorOf(() => sql.query(`delete from ${schema}.conversations`))).toMatchObject({ code: '23503' })
    expect(textsIn(await store.read({ project, conversationId: 'c' }))).toEqual(['kept'])
  })
})

describe('a role that is not the owner', () => {
  it('[P12] a role that is not the owner sees and writes its own project only, whatever it queries', async () => {
    const { store, url, schema } = await openPostgres()
    await store.append(proposal('c', [conversationCreated(), messageAdded('of the shop')]))
    await store.append(proposal('c', [conversationCreated(), messageAdded('of the bank')], { project: 'bank' }))
    const sql = await sqlAt(url)
    const role = `tenant_${schema}_${process.pid}`
    await sql.query(`create role ${role} login; grant usage on schema ${schema} to ${role};
      grant select, insert, update, delete on all tables in schema ${schema} to ${role};
      grant usage on all sequences in schema ${schema} to ${role}`)
    onTestFinished(async () => {
      await sql.query(`drop owned by ${role}; drop role ${role}`)
    })
    const asTenant = url.replace('postgres://postgres@', `postgres://${role}@`)
    const tenant = await openAt(`${asTenant}&project=shop`)
    await tenant.append(proposal('c', messageAdded('by the tenant')))
    expect(textsIn(await tenant.read({ project, conversationId: 'c' }))).toEqual(['of the shop', 'by the tenant'])
    expect(await tenant.search({ project, text: 'tenant' })).toHaveLength(1)
    expect(await tenant.projects()).toEqual(['shop'])
    expect(await tenant.read({ project: 'bank', conversationId: 'c' })).toEqual([])
    expect(
      await errorOf(() => tenant.append(proposal('d', conversationCreated(), { project: 'bank' }))),
    ).toBeInstanceOf(Error)
    const bare = await sqlAt(asTenant)
    expect((await bare.query(`select count(*)::integer as seen from ${schema}.events`)).rows).toEqual([{ seen: 0 }])
    expect(textsIn(await store.read({ project: 'bank', conversationId: 'c' }))).toEqual(['of the bank'])
  })
})

describe('a store that moved to another server', () => {
  it('[P2] a store that moved to another server is another store: old positions are unknown, new events come after the old ones', async () => {
    const { store, url, schema } = await openPostgres()
    await store.append(proposal('c', [conversationCreated(), messageAdded('before')]))
    const from = await store.position()
    await store.close()
    const sql = await sqlAt(url)
    // A dump brings rows along with the numbers of a server that was further on, and its name.
    await sql.query(`update ${schema}.meta set value = 'another server' where name = 'server'`)
    await sql.query(`update ${schema}.events set tx = tx + 1000000000`)
    const moved = await openAt(url)
    expect(await errorOf(() => moved.subscribe({ project, from }).next())).toBeInstanceOf(PositionUnknown)
    const events = moved.subscribe({ project, from: 'start' })
    await moved.append(proposal('c', messageAdded('after')))
    expect(textsIn(await nextEvents(events, 3))).toEqual(['before', 'after'])
  })
})

describe('the two stores', () => {
  it('[P13] the two stores give each other conversations with every hash the same', async () => {
    const { store } = await openPostgres()
    const other = await sqliteStore(':memory:', { clock: Date.now })
    onTestFinished(() => other.close())
    const odd = 'a\0b \ud800 \udfff 登录 🜁'
    await other.append(
      proposal('c', [
        conversationCreated({ title: odd }),
        sessionCreated('s'),
        messageAdded(odd),
        messageAdded('plain'),
      ]),
    )
    const lines = await linesOf(other.export({ project, conversationId: 'c' }))
    await store.restore({ project, lines: asyncItems(lines), origin })
    expect(await linesOf(store.export({ project, conversationId: 'c' }))).toEqual(lines)
    expect((await store.verify()).damages).toEqual([])
    expect((await store.read({ project, conversationId: 'c' })).map(event => event.hash)).toEqual(
      (await other.read({ project, conversationId: 'c' })).map(event => event.hash),
    )
  })
})

describe('other processes', () => {
  function run(...args: string[]) {
    const file = fileURLToPath(new URL('../processes/write-postgres.mjs', import.meta.url))
    const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise<number | null>(resolve => child.on('close', resolve))
    return { child, ended, output: text(child.stdout), errors: text(child.stderr) }
  }

  it('[P2][P3] processes write the same conversation at once, one is killed: no gap, no duplicate, each key once', async () => {
    const { store, url } = await openPostgres()
    await store.append(proposal('c', conversationCreated()))
    const count = 30
    const seen: string[] = []
    const events = store.subscribe({ project })
    const [one, two, doomed] = ['one', 'two', 'doomed'].map(name => run(url, name, String(count)))
    doomed!.child.stdout!.once('data', () => doomed!.child.kill('SIGKILL'))
    expect([await one!.ended, await two!.ended, await one!.errors, await two!.errors]).toEqual([0, 0, '', ''])
    await doomed!.ended
    const log = await store.read({ project, conversationId: 'c', from: 2 })
    for (const event of await nextEvents(events, log.length)) seen.push(`${event.version} ${event.hash}`)
    expect(seen).toEqual(log.map(event => `${event.version} ${event.hash}`))
    expect(log.map(event => event.version)).toEqual(Array.from({ length: log.length }, (_, index) => index + 2))
    const texts = textsIn(log)
    for (const name of ['one', 'two']) {
      for (let i = 0; i < count; i++) expect(texts).toContain(`${name} ${i}`)
    }
    const [acknowledged] = (await doomed!.output).trim().split('\n').reverse()
    if (acknowledged) expect(texts).toContain(`doomed ${acknowledged}`)
    expect((await store.verify()).damages).toEqual([])
  })
})

describe('the front door', () => {
  it('the front door opens a server by its URL, with everything above it', async () => {
    const { url } = await freshSchema()
    const colloquy = await openColloquy({ store: url, project, tokens: 'fast', sweepEveryMs: null })
    onTestFinished(() => colloquy.close())
    const key = { type: 'feature', agentType: 'pm', featureId: 'login' } as const
    const sessions = await Promise.all(Array.from({ length: 20 }, () => colloquy.sessions.getOrCreateSession(key)))
    expect(new Set(sessions.map(session => session.id)).size).toBe(1)
    const [session] = sessions
    await colloquy.sessions.addMessage(session!.id, { role: 'user', content: 'Plan the login page' })
    expect((await colloquy.sessions.getRecentContext(session!.id)).map(message => message.content)).toEqual([
      'Plan the login page',
    ])
    const request = await colloquy.sessions.buildRequest(session!.id, 'And the sign-up page?')
    expect(request.userPrompt).toContain('sign-up')
    expect((await colloquy.maintain()).skipped).toBe(false)
    expect((await colloquy.verify()).clean).toBe(true)
  })

  it('the command line opens a server by its URL, for reading only', async () => {
    const { url } = await freshSchema()
    const colloquy = await openColloquy({ store: url, project, tokens: 'fast', sweepEveryMs: null })
    const key = { type: 'feature', agentType: 'pm', featureId: 'login' } as const
    const session = await colloquy.sessions.getOrCreateSession(key)
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'Plan the login page' })
    await colloquy.close()
    const cli = cliOn(url)
    expect((await cli('show', session.id)).stdout).toContain('Plan the login page')
    expect((await cli('search', 'plans')).stdout).toContain('login page')
    expect((await cli('verify')).exitCode).toBe(0)
  })
})

describe('damage to rows', () => {
  it.each([
    ['a changed body', `update events set body = replace(body, 'two', 'TWO') where version = 4`],
    ['another actor', `update events set actor = 'eve' where version = 3`],
    ['a missing event', `delete from events where version = 3`],
    ['a missing end', `delete from events where version = 5`],
    ['a changed sum', `update events set tokens = tokens + 1 where version = 5`],
    ['a message that looks erased', `update events set salt = null, body = null where version = 3`],
    ['a changed head', `update conversations set info = replace(info, 'Login', 'Logon')`],
    ['a changed session', `update sessions set head = replace(head, 'dev', 'pm')`],
    ['a missing session', `delete from sessions`],
  ])('[P13] verify finds %s; the rest is read as before', async (_what, change) => {
    const { store, url, schema } = await openPostgres()
    await store.append(
      proposal('b', [
        conversationCreated(),
        sessionCreated('s'),
        messageAdded('one'),
        messageAdded('two'),
        messageAdded('three'),
      ]),
    )
    const sql = await sqlAt(url)
    await sql.query(`set search_path = ${schema}; ${change}`)
    const { damages, clean } = await store.verify()
    expect(clean).toBe(false)
    for (const damage of damages) expect(damage.conversationId).toBe('b')
    expect((await store.read({ project, conversationId: 'b' })).length).toBeGreaterThanOrEqual(4)
  })

  it('a head that names another id, or a changed key, keeps no append waiting', async () => {
    const { store, url, schema } = await openPostgres()
    await store.append(proposal('b', [conversationCreated(), sessionCreated('s'), messageAdded('one')]))
    const sql = await sqlAt(url)
    await sql.query(
      `set search_path = ${schema}; update conversations set info = replace(info, '"id":"b"', '"id":"x"'), work_key = 'x'`,
    )
    await store.append(proposal('b', messageAdded('two')))
    await store.append(proposal('', messageAdded('three'), { conversation: 'of-session', session: { id: 's' } }))
    expect(textsIn(await store.read({ project, conversationId: 'b' }))).toEqual(['one', 'two', 'three'])
  })

  it('[P4] a conversation with a damaged record is not purged, until its content is given up', async () => {
    const { store, url, schema } = await openPostgres()
    const message = messageAdded('two')
    await store.append(proposal('b', [conversationCreated(), messageAdded('one'), message, messageAdded('three')]))
    const sql = await sqlAt(url)
    await sql.query(
      `set search_path = ${schema}; update events set body = replace(body, 'two', 'TWO') where version = 3`,
    )
    const to = memoryArchives()
    const error = await errorOf(() => store.purge({ project, conversationId: 'b', to, origin }))
    expect(error).toMatchObject({ code: 'conversation/damaged', damages: [{ version: 3 }] })
    expect(to.files.size).toBe(0)
    await store.erase({ project, messageId: message.messageId, origin })
    const { archive } = await store.purge({ project, conversationId: 'b', to, origin })
    await store.restore({ project, lines: to.read(archive), origin })
    expect(textsIn(await store.read({ project, conversationId: 'b' }))).toEqual(['one', 'three'])
  })

  it('[P4] nothing of an erased or purged message is left in any table', async () => {
    const { store, url, schema } = await openPostgres()
    const secret = messageAdded('qzxjvkbwq')
    await store.append(proposal('c', [conversationCreated(), secret]))
    await store.append(proposal('d', [conversationCreated({ title: 'qzxjvkbwq' }), messageAdded('qzxjvkbwq')]))
    expect(await store.search({ project, text: 'qzxjvkbwq' })).toHaveLength(2)
    await store.erase({ project, messageId: secret.messageId, origin })
    await store.purge({ project, conversationId: 'd', to: memoryArchives(), origin })
    const sql = await sqlAt(url)
    const { rows } = await sql.query(`select tablename from pg_tables where schemaname = $1`, [schema])
    for (const { tablename } of rows) {
      const found = await sql.query(`select 1 from ${schema}.${tablename} t where t::text like '%qzxjvkbwq%'`)
      expect([tablename, found.rowCount]).toEqual([tablename, 0])
    }
  })
})
