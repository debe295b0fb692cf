/** Where messages stand in the file: new ones apart from older ones, found by lane and by version all the same. */
import { DatabaseSync } from '@photostructure/sqlite'
import type { Message, Store } from 'colloquy'
import { sqliteStore } from 'colloquy/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memoryArchives } from '../support/archives.ts'
import {
  conversationCreated,
  linesOf,
  messageAdded,
  origin,
  proposal,
  sessionCreated,
  textsIn,
} from '../support/builders.ts'
import { toFirstSchema } from '../support/first-schema.ts'
import { openSqlite } from './open-sqlite.ts'

const project = 'shop'
const all = { viewer: { sees: 'everything' }, kinds: ['talk', 'system', 'internal'], start: 0, kept: [] } as const

async function openAt(path: string, options: { readOnly?: boolean } = {}): Promise<Store> {
  const store = await sqliteStore(path, { clock: Date.now, ...options })
  onTestFinished(() => store.close())
  return store
}

/** Does something to the file behind the store's back. */
function inFile<T>(path: string, work: (file: InstanceType<typeof DatabaseSync>) => T): T {
  const file = new DatabaseSync(path)
  try {
    file.exec('pragma foreign_keys = off')
    return work(file)
  } finally {
    file.close()
  }
}

const texts = (messages: readonly Message[]) => messages.map(message => message.content)

describe('messages in a busy store', () => {
  /** Enough of them that some have been moved and some have not, to three conversations and four lanes each. */
  async function busy() {
    const opened = await openSqlite()
    const ids = ['a', 'b', 'c']
    const audiences = [0, 1, 2, 3].map(n => ({ to: 'session', sessionId: `s${n}` }) as const)
    await Promise.all(
      ids.map(id => opened.store.append(proposal(id, [conversationCreated(), sessionCreated(`${id} s`)]))),
    )
    const count = 600
    for (let n = 1; n <= count; n++) {
      await Promise.all(
        ids.map(id => opened.store.append(proposal(id, messageAdded(`${id} ${n}`, { audience: audiences[n % 4]! })))),
      )
    }
    return { ...opened, store: opened.store, ids, count, audiences }
  }

  it('[P2] are read by version, by lane and by what they add up to, wherever they stand', async () => {
    const { store, path, ids, count } = await busy()
    const moved = inFile(path, file => file.prepare('select count(*) as n from places').get() as { n: number })
    expect(moved.n).toBeGreaterThan(0)
    expect(moved.n).toBeLessThan(ids.length * count)
    for (const conversationId of ids) {
      const place = { project, conversationId }
      const spoken = Array.from({ length: count }, (_, n) => `${conversationId} ${n + 1}`)
      expect(textsIn(await store.read(place))).toEqual(spoken)
      expect(textsIn(await store.read({ ...place, backwards: true, limit: 300 }))).toEqual(spoken.slice(-300).reverse())
      expect(textsIn(await store.read({ ...place, from: 203, to: 502, limit: 100 }))).toEqual(spoken.slice(200, 300))
      const viewer = { sees: 'as-session', sessionId: 's1', agentName: 'x' } as const
      const own = spoken.filter((_, n) => (n + 1) % 4 === 1)
      expect(texts(await store.messages({ ...place, ...all, viewer }, { limit: 1000 }))).toEqual(own)
      expect(texts(await store.messages({ ...place, ...all, viewer }, { after: 0, limit: 120 }))).toEqual(
        own.slice(0, 120),
      )
      expect(texts(await store.messages({ ...place, ...all }, { limit: 500 }))).toEqual(spoken.slice(-500))
      const length = (list: readonly string[]) => list.reduce((sum, text) => sum + text.length, 0)
      expect(await store.measure({ ...place, ...all, viewer })).toMatchObject({
        messages: own.length,
        tokens: length(own),
      })
      expect(await store.measure({ ...place, ...all, start: 302, kept: [3, 597] })).toMatchObject({
        messages: count - 300 + 2,
        tokens: length(spoken.slice(300)) + spoken[0]!.length + spoken[594]!.length,
      })
    }
    expect(await store.verify()).toMatchObject({ clean: true, events: ids.length * (count + 2) })
  })

  it('[P1] are all there after the store was reopened and another conversation purged', async () => {
    const { store, path, count } = await busy()
    const before = await linesOf(store.export({ project, conversationId: 'b' }))
    await store.close()
    expect(inFile(path, file => file.prepare('select count(*) as n from recent').get())).toEqual({ n: 0 })
    const again = await openAt(path)
    await again.append(proposal('b', messageAdded('one more')))
    await again.purge({ project, conversationId: 'a', to: memoryArchives(), origin })
    const left = inFile(path, file => [
      file.prepare('select count(*) as n from places').get(),
      file.prepare('select count(*) as n from recent').get(),
    ])
    expect(left).toEqual([{ n: 2 * count }, { n: 1 }])
    expect((await linesOf(again.export({ project, conversationId: 'b' }))).slice(1, count)).toEqual(
      before.slice(1, count),
    )
    expect((await again.verify()).damages).toEqual([])
  })
})

describe('a file of the first schema', () => {
  /** Today's tables made into yesterday's. */
  async function older() {
    const { store, path } = await openSqlite()
    await store.append(
      proposal('c', [
        conversationCreated(),
        sessionCreated('s'),
        messageAdded('one'),
        messageAdded('two', { role: 'system' }),
        messageAdded('three'),
      ]),
    )
    await store.close()
    toFirstSchema(path)
    return path
  }
  const window = { project, conversationId: 'c', ...all }

  it('is brought up to date with everything in it', async () => {
    const store = await openAt(await older())
    expect(texts(await store.messages(window, { limit: 10 }))).toEqual(['one', 'two', 'three'])
    await store.append(proposal('c', messageAdded('four')))
    expect(textsIn(await store.read({ project, conversationId: 'c' }))).toEqual(['one', 'two', 'three', 'four'])
    expect(await store.measure(window)).toMatchObject({ messages: 4, tokens: 'onetwothreefour'.length })
    expect((await store.verify()).damages).toEqual([])
  })

  it('is read as it is by those who only read', async () => {
    const path = await older()
    const store = await openAt(path, { readOnly: true })
    expect(texts(await store.messages(window, { limit: 2 }))).toEqual(['two', 'three'])
    expect(await store.read({ project, conversationId: 'c' })).toHaveLength(5)
    expect((await store.verify()).damages).toEqual([])
    await store.close()
    expect(inFile(path, file => file.prepare('pragma user_version').get())).toEqual({ user_version: 1 })
  })
})

describe('damage to places', () => {
  async function tampered(sql: string) {
    const { store, path } = await openSqlite()
    for (const id of ['a', 'b'])
      await store.append(
        proposal(id, [conversationCreated(), messageAdded('one'), messageAdded('two'), messageAdded('three')]),
      )
    await store.close()
    inFile(path, file => file.exec(sql))
    return { store: await openAt(path), path }
  }
  const inB = `lane = (select lane from lanes join conversations using (conversation) where id = 'b')`
  const window = { project, conversationId: 'b', ...all }

  it('a place that leads to another message is told apart, and that one is not handed out for it', async () => {
    const { store } = await tampered(
      `update places set position = (select position from places where ${inB} and version = 4) where ${inB} and version = 3`,
    )
    const found = await store.messages(window, { limit: 10 })
    expect(found.map(message => message.missing?.because)).toEqual([undefined, 'damaged', undefined])
    expect((await store.verify()).clean).toBe(false)
  })

  it('a place that leads nowhere says so', async () => {
    const { store } = await tampered(`delete from events where ${inB} and version = 3`)
    const found = await store.messages(window, { limit: 10 })
    expect(found.map(message => [message.version, message.missing?.because])).toEqual([
      [2, undefined],
      [3, 'damaged'],
      [4, undefined],
    ])
  })

  it.each([
    ['a lost place', `delete from places where ${inB} and version = 3`],
    ['a changed sum', `update places set tokens = tokens + 1 where ${inB} and version = 3`],
    [
      'a place too many',
      `insert into places select lane, 9, 4, 9, 0, 0, position from places where ${inB} and version = 4`,
    ],
  ])('[P13] verify finds %s', async (_what, sql) => {
    const { store } = await tampered(sql)
    expect((await store.verify()).clean).toBe(false)
    expect(await store.read({ project, conversationId: 'a' })).toHaveLength(4)
  })

  it.each([
    ['a lost place', `delete from places where ${inB} and version = 3`],
    ['the places of a whole lane', `delete from places where ${inB}`],
    ['a changed sum', `update places set tokens = tokens + 1 where ${inB} and version = 3`],
    ['a place that leads to another message', `update places set position = 1 where ${inB} and version = 3`],
  ])('[P13] repair puts %s right', async (_what, sql) => {
    const { store } = await tampered(sql)
    const { heads } = await store.repair!({})
    expect(heads).toMatchObject([{ conversationId: 'b', what: expect.stringContaining('where the lanes say') }])
    expect(texts(await store.messages(window, { limit: 10 }))).toEqual(['one', 'two', 'three'])
    expect(await store.verify()).toMatchObject({ clean: true })
    await store.append(proposal('b', messageAdded('four')))
    expect(await store.verify()).toMatchObject({ clean: true })
    expect((await store.repair!({})).heads).toEqual([])
  })

  it('[P4] a purge waits until a message that no place leads to has its place again, and leaves nothing behind', async () => {
    const { store, path } = await tampered(`delete from places where ${inB} and version = 2`)
    const purge = () => store.purge({ project, conversationId: 'b', to: memoryArchives(), origin })
    await expect(purge()).rejects.toMatchObject({ code: 'conversation/damaged', damages: [{ version: 2 }] })
    await store.repair!({ project })
    await purge()
    await store.close()
    const left = inFile(path, file => file.prepare(`select count(*) as n from events where body like '%one%'`).get())
    expect(left).toEqual({ n: 1 })
  })
})
