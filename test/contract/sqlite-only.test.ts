/** Behaviour of a file alone: copies of it, its bytes, damage to its rows, and other processes on it. */
import { spawn } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { ConversationDamaged, PositionUnknown } from 'colloquy/errors'
import { salvage, sqliteStatus, sqliteStore } from 'colloquy/sqlite'
import type { StoreCalls } from 'colloquy/stores'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { memoryArchives } from '../../src/testing/archives.ts'
import {
  conversationCreated,
  errorOf,
  messageAdded,
  nextEvents,
  origin,
  proposal,
  sessionCreated,
  textsIn,
} from '../../src/testing/builders.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { openSqlite } from './open-sqlite.ts'

const project = 'shop'

async function openAt(path: string): Promise<StoreCalls> {
  const store = await sqliteStore(path, { clock: Date.now })
  onTestFinished(() => store.close())
  return store
}

/** Puts the store at `from` in the place of the one at `to`, as a person does after everybody has gone. */
function put(from: string, to: string, how: typeof copyFileSync | typeof renameSync): void {
  for (const suffix of ['', '-wal']) {
    if (existsSync(from + suffix)) how(from + suffix, to + suffix)
    else rmSync(to + suffix, { force: true })
  }
  rmSync(`${to}-shm`, { force: true })
}

/** A closed store that was copied at two events, and then went on to four. */
async function copyOfStore() {
  const folder = temporaryFolder()
  const path = join(folder, 'colloquy.db')
  const copy = join(folder, 'copy.db')
  const say = async (...texts: string[]): Promise<string[]> => {
    const { output } = await run('speak', path, ...texts)
    return JSON.parse(output) as string[]
  }
  const first = await say('in the copy')
  put(path, copy, copyFileSync)
  const second = await say('lost one', 'lost two')
  return { path, copy, atCopy: first.at(-1)!, lost: second }
}

/** Runs one of the programs in `processes/` in a process of its own. */
async function run(program: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const file = fileURLToPath(new URL(`./processes/${program}.mjs`, import.meta.url))
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>(resolve => child.on('close', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await ended, output: out + err }
}

const resuming = (store: StoreCalls, from: string) => errorOf(() => nextEvents(store.subscribe({ project, from }), 1))

describe('a list of sessions', () => {
  it('a list of sessions has those of its project, newest first, however many others were added since', async () => {
    const { store } = await openSqlite()
    const of = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => sessionCreated(`${name} ${index}`))
    await store.append(proposal('c', [conversationCreated(), ...of('mine', 5)]))
    await store.append(proposal('d', [conversationCreated(), ...of('theirs', 1100)], { project: 'bank' }))
    await store.append(proposal('c', of('later', 2)))
    const seen: string[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await store.sessions({ project, limit: 3, ...(cursor !== undefined && { cursor }) })
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.next
      if (cursor === undefined) break
    }
    expect(seen).toEqual(['later 1', 'later 0', 'mine 4', 'mine 3', 'mine 2', 'mine 1', 'mine 0'])
    const theirs = await store.sessions({ project: 'bank', agentName: 'theirs 3' })
    expect(theirs).toMatchObject({ items: [{ id: 'theirs 3' }] })
  })
})

describe('a file that was put back from an older copy', () => {
  const ways = { 'written over': copyFileSync, 'moved there': renameSync }

  it.each(Object.entries(ways))(
    '[P2] in a file restored from an older copy, %s: a subscription does not resume from what was lost, and goes on',
    async (_way, how) => {
      const { path, copy, lost } = await copyOfStore()
      put(copy, path, how)
      const store = await openAt(path)
      for (const from of lost) expect(await resuming(store, from)).toBeInstanceOf(PositionUnknown)
      await store.append(proposal('c', [messageAdded('a'), messageAdded('b'), messageAdded('c')]))
      // Now other events stand at the positions that were lost.
      for (const from of lost) expect(await resuming(store, from)).toBeInstanceOf(PositionUnknown)
      expect(textsIn(await store.read({ project, conversationId: 'c' }))).toEqual(['in the copy', 'a', 'b', 'c'])
      expect((await store.verify()).damages).toEqual([])
    },
  )

  it.each(Object.entries(ways))(
    'in a file restored from an older copy, %s: search finds what is there and what comes, not what was lost',
    async (_way, how) => {
      const { path, copy } = await copyOfStore()
      put(copy, path, how)
      const store = await openAt(path)
      await store.append(proposal('c', [messageAdded('new one'), messageAdded('new two'), messageAdded('new three')]))
      expect(await store.search({ project, text: 'new' })).toHaveLength(3)
      expect(await store.search({ project, text: 'copy' })).toHaveLength(1)
      expect(await store.search({ project, text: 'lost' })).toEqual([])
    },
  )
})

it('[P13] a file restored from an older copy has no landmarks of what was lost', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'colloquy.db')
  const titles = (word: string) =>
    Array.from({ length: 300 }, (_, index) => ({ type: 'conversation.annotated' as const, title: `${word} ${index}` }))
  const first = await openAt(path)
  await first.append(proposal('c', [conversationCreated(), ...titles('kept')]))
  await first.close()
  put(path, `${path}-copy`, copyFileSync)
  const second = await openAt(path)
  await second.append(proposal('c', titles('lost')))
  expect((await second.landmark!(project, 'c', 600))?.conversation.info.title).toMatch(/^lost/)
  await second.close()
  put(`${path}-copy`, path, renameSync)
  const third = await openAt(path)
  await third.append(proposal('c', titles('new')))
  expect((await third.landmark!(project, 'c', 600))?.conversation.info.title).toMatch(/^new/)
})

describe('a file that was copied to another place', () => {
  it('[P2] a file copied to another place is another store, with positions of its own that hold', async () => {
    const { path, copy, atCopy } = await copyOfStore()
    const first = await openAt(copy)
    expect(await resuming(first, atCopy)).toBeInstanceOf(PositionUnknown)
    expect(await resuming(await openAt(path), atCopy)).toBeUndefined()
    const from = await first.position()
    await first.close()
    const again = await openAt(copy)
    await again.append(proposal('c', messageAdded('next')))
    expect(textsIn(await nextEvents(again.subscribe({ project, from }), 1))).toEqual(['next'])
  })

  it('[P2] a file copied to another place is the same store each time it is opened for reading only', async () => {
    const { copy, atCopy } = await copyOfStore()
    const reading = () => sqliteStore(copy, { clock: Date.now, readOnly: true })
    const first = await reading()
    expect(await resuming(first, atCopy)).toBeInstanceOf(PositionUnknown)
    const [begun] = await nextEvents(first.subscribe({ project, from: 'start' }), 1)
    await first.close()
    const again = await reading()
    onTestFinished(() => again.close())
    expect(textsIn(await nextEvents(again.subscribe({ project, from: begun!.position }), 1))).toEqual(['in the copy'])
  })
})

describe('a closed store', () => {
  it('[P1] a closed store is whole in its one file: a copy of that has everything', async () => {
    const { store, path } = await openSqlite()
    await store.append(proposal('c', [conversationCreated(), messageAdded('kept')]))
    await store.close()
    const alone = join(temporaryFolder(), 'alone.db')
    copyFileSync(path, alone)
    expect(textsIn(await (await openAt(alone)).read({ project, conversationId: 'c' }))).toEqual(['kept'])
  })
})

describe('the bytes of the file', () => {
  const marker = 'qzxjvkbwq'

  /** Files of the store, its logs and its index, that contain the marker. */
  function filesWith(path: string, wanted = marker): string[] {
    const files = readdirSync(dirname(path)).filter(name => name.startsWith(basename(path)))
    return files.filter(name => readFileSync(join(dirname(path), name)).includes(wanted))
  }

  it('[P4] no file holds a byte of an erased message', async () => {
    const { store, path } = await openSqlite()
    const plain = messageAdded(`a ${marker} secret`)
    const large = messageAdded('', { parts: [{ type: 'text', text: `${marker} ${'padding '.repeat(50_000)}` }] })
    await store.append(
      proposal('c', [conversationCreated(), messageAdded('before'), plain, large, messageAdded('after')]),
    )
    expect(await store.search({ project, text: marker })).toHaveLength(2)
    expect(filesWith(path)).not.toEqual([])

    await store.erase({ project, messageId: plain.messageId, origin })
    await store.erase({ project, messageId: large.messageId, origin })
    expect(filesWith(path)).toEqual([])
    expect(await store.search({ project, text: marker })).toEqual([])

    await store.close()
    expect(filesWith(path)).toEqual([])
  })

  it('[P4] no file holds a byte of a purged conversation', async () => {
    const { store, path } = await openSqlite()
    const large = `${marker} ${'padding '.repeat(50_000)}`
    await store.append(proposal('kept', [conversationCreated(), messageAdded('x')]))
    await store.append(
      proposal('c', [
        conversationCreated({ title: `title ${marker}`, metadata: { [marker]: 1 } }),
        sessionCreated('s', { metadata: { note: marker } }),
        messageAdded(`a ${marker} secret`),
        messageAdded('', { parts: [{ type: 'text', text: large }] }),
      ]),
    )
    expect(await store.search({ project, text: marker })).toHaveLength(2)
    await store.purge({ project, conversationId: 'c', to: memoryArchives(), origin })
    expect(filesWith(path)).toEqual([])
    await store.close()
    expect(filesWith(path)).toEqual([])
  })
})

describe('damage to rows', () => {
  /** Three conversations in a file that is then changed behind the store's back. */
  async function tamperedFile(sql: string): Promise<string> {
    const { store, path } = await openSqlite()
    for (const id of ['a', 'b', 'c']) {
      await store.append(
        proposal(id, [
          conversationCreated(),
          sessionCreated(`${id} s`),
          messageAdded(`${id} one`),
          messageAdded(`${id} two`),
          messageAdded(`${id} three`),
        ]),
      )
    }
    await store.close()
    const file = new DatabaseSync(path, { defensive: false })
    file.exec('pragma foreign_keys = off')
    file.exec(sql)
    file.close()
    return path
  }
  const tampered = async (sql: string) => openAt(await tamperedFile(sql))
  const inB = `conversation = (select conversation from conversations where id = 'b')`

  it('a file that lost its metadata rows is read, searched, followed and written, and verify says so', async () => {
    const store = await tampered('delete from meta')
    expect((await store.conversations({ project })).items).toHaveLength(3)
    expect(await store.search({ project, text: 'two' })).toHaveLength(3)
    const position = await store.position()
    const { events } = await store.append(proposal('b', [messageAdded('b four')]))
    const followed = store.subscribe({ project, from: position })[Symbol.asyncIterator]()
    expect((await followed.next()).value).toMatchObject({ version: events[0]!.version })
    await followed.return?.()
    const what = 'the file does not say any more how far its log went'
    expect(await store.verify()).toMatchObject({ clean: false, damages: [{ what }] })
  })

  it.each([
    ['a changed body', `update events set body = replace(body, 'two', 'TWO') where ${inB} and version = 4`, [4]],
    ['another actor', `update events set actor = 'eve' where ${inB} and version in (3, 5)`, [3, 5]],
    ['a missing event', `delete from events where ${inB} and version = 3`, [3]],
  ])('[P4] a conversation with %s is not purged: its archive could not be restored', async (_what, sql, versions) => {
    const store = await tampered(sql)
    const to = memoryArchives()
    const error = await errorOf(() => store.purge({ project, conversationId: 'b', to, origin }))
    expect(error).toBeInstanceOf(ConversationDamaged)
    expect((error as ConversationDamaged).damages.map(({ version }) => version)).toEqual(versions)
    expect(to.files.size).toBe(0)
    expect((await store.read({ project, conversationId: 'b' })).length).toBeGreaterThanOrEqual(4)
    await store.purge({ project, conversationId: 'a', to, origin })
  })

  it('[P4] erasing a damaged message removes the words it was found by', async () => {
    const { store, path } = await openSqlite()
    const message = messageAdded('qzxjvkbwq')
    await store.append(proposal('b', [conversationCreated(), message, messageAdded('kept')]))
    expect(await store.search({ project, text: 'qzxjvkbwq' })).toHaveLength(1)
    await store.close()
    const file = new DatabaseSync(path)
    file.exec(`update events set body = replace(body, 'qzx', 'QZX') where version = 2`)
    file.close()
    const again = await openAt(path)
    await again.erase({ project, messageId: message.messageId, origin })
    expect(await again.search({ project, text: 'qzxjvkbwq' })).toEqual([])
    expect(await again.search({ project, text: 'kept' })).toHaveLength(1)
    expect(readFileSync(`${path}-search`).includes('qzxjvkbwq')).toBe(false)
    expect((await again.verify()).damages).toEqual([])
  })

  it('[P13] a session whose head cannot be read hides no totals', async () => {
    const store = await tampered(`update sessions set head = 'garbage' where id = 'b s'`)
    expect(await store.totals(project)).toMatchObject({ conversations: 3, sessions: 3, messages: 9 })
  })

  it('[P13] one damaged record is reported in its place and hides nothing else', async () => {
    const store = await tampered(`update events set body = replace(body, 'two', 'TWO') where ${inB} and version = 4`)
    const events = await store.read({ project, conversationId: 'b' })
    expect(events.map(event => event.event.type)).toEqual([
      'conversation.created',
      'session.created',
      'message.added',
      'damaged',
      'message.added',
    ])
    expect(await nextEvents(store.subscribe({ project, from: 'start' }), 15)).toHaveLength(15)
    const { damages, clean } = await store.verify()
    expect(clean).toBe(false)
    expect(damages).toEqual([{ project, conversationId: 'b', version: 4, what: expect.any(String) }])
  })

  it.each([
    ['a changed time', `update events set at = at + 1 where ${inB} and version = 3`, 3],
    ['another actor', `update events set actor = 'eve' where ${inB} and version = 3`, 3],
    ['another type', `update events set type = 'session.deleted' where ${inB} and version = 2`, 2],
    ['a missing event', `delete from events where ${inB} and version = 3`, 3],
    ['a changed hash', `update events set hash = zeroblob(32) where ${inB} and version = 3`, 3],
    ['a changed sum', `update events set tokens = tokens + 1 where ${inB} and version = 5`, 5],
    ['a body without its salt', `update events set salt = null where ${inB} and version = 3`, 3],
    ['a message that looks erased', `update events set salt = null, body = null where ${inB} and version = 3`, 3],
    ['a changed head', `update conversations set info = replace(info, 'Login', 'Logon') where id = 'b'`, undefined],
    ['a changed session', `update sessions set head = replace(head, 'dev', 'pm') where id = 'b s'`, undefined],
    ['a missing session', `delete from sessions where id = 'b s'`, undefined],
    ['a hash that is none', `update events set hash = 'none' where ${inB} and version = 3`, 3],
    ['messages of a lane that is not there', `update events set lane = lane + 90 where ${inB}`, 3],
    ['a lane for nobody', `update lanes set audience = substr(audience, 2) where ${inB}`, undefined],
  ])('[P13] verify finds %s and names its conversation', async (_what, sql, version) => {
    const store = await tampered(sql)
    const { damages } = await store.verify()
    expect(damages.length).toBeGreaterThan(0)
    for (const damage of damages) expect(damage.conversationId).toBe('b')
    if (version !== undefined) expect(damages.map(damage => damage.version)).toContain(version)
    for (const id of ['a', 'c']) expect(await store.read({ project, conversationId: id })).toHaveLength(5)
  })

  it('[P13] a time with any of its bits flipped is damage when it is read', async () => {
    const { store, path } = await openSqlite()
    await store.append(
      proposal('c', [conversationCreated(), ...Array.from({ length: 48 }, (_, bit) => messageAdded(`bit ${bit}`))]),
    )
    await store.close()
    const file = new DatabaseSync(path)
    const bit = '(1 << (version % 48))'
    file.exec(`update events set at = (at | ${bit}) - (at & ${bit}) where lane is not null`)
    file.close()
    const [, ...events] = await (await openAt(path)).read({ project, conversationId: 'c' })
    expect(events.map(one => one.event.type)).toEqual(Array.from({ length: 48 }, () => 'damaged'))
  })

  it.each([
    ['conversation', `update events set conversation = 99 where ${inB} and version = 4`],
    ['version', `update events set version = 99 where ${inB} and version = 4`],
    ['lane', `update events set lane = 99 where ${inB} and version = 4`],
  ])(
    '[P13] salvage rescues every message but the one whose row has another %s, and that is named',
    async (_what, sql) => {
      const path = await tamperedFile(sql)
      const { losses } = await salvage(path, `${path}-rescued`)
      const rescued = await openAt(`${path}-rescued`)
      const texts = textsIn(await rescued.read({ project, conversationId: 'b' }))
      expect(texts.filter(text => text !== 'b two')).toEqual(['b one', 'b three'])
      for (const id of ['a', 'c']) expect(await rescued.read({ project, conversationId: id })).toHaveLength(5)
      expect([...losses, ...(await rescued.verify()).damages].length).toBeGreaterThan(0)
    },
  )

  /** Changes rows behind the back of an index. */
  async function withoutIndex(index: string, sql: string): Promise<StoreCalls> {
    return tampered(`
      pragma writable_schema = on;
      create temp table saved as select * from sqlite_schema where name = '${index}';
      delete from sqlite_schema where name = '${index}';
      pragma writable_schema = reset;
      ${sql};
      pragma writable_schema = on;
      insert into sqlite_schema select * from saved;
      pragma writable_schema = reset`)
  }

  it.each([
    ['version', 'events_by_version', `update events set version = 3 where ${inB} and version = 4`],
    ['lane', 'events_by_lane', `update events set lane = 1 where ${inB} and version = 4`],
    ['sums', 'events_by_lane', `update events set tokens = tokens + 1 where ${inB} and version = 4`],
  ])('[P13] verify finds a message whose row has another %s than its index', async (_what, index, sql) => {
    expect((await (await withoutIndex(index, sql)).verify()).clean).toBe(false)
  })

  it('[P12][P13] a message that an index leads to by mistake is not handed out for another', async () => {
    const store = await withoutIndex(
      'events_by_lane',
      `update events set position = -position where ${inB} and version in (4, 5);
      update events set position = -position - 1 where ${inB} and version = 5;
      update events set position = -position + 1 where ${inB} and version = 4`,
    )
    const viewer = { sees: 'everything' } as const
    const window = { project, conversationId: 'b', viewer, kinds: ['talk'], start: 0, kept: [] } as const
    const messages = await store.messages(window, { limit: 10 })
    expect(messages.map(message => message.missing?.because)).toEqual([undefined, 'damaged', 'damaged'])
    await store.repair!()
    expect((await store.messages(window, { limit: 10 })).map(message => message.content)).toEqual([
      'b one',
      'b two',
      'b three',
    ])
  })

  it('[P13] a head that lacks what every head has is folded from the log', async () => {
    const store = await tampered(`
      update sessions set head = replace(head, 'expiresInMs', 'expiresInHs') where id = 'a s';
      update sessions set head = replace(head, 'windowStart', 'windowStirt') where id = 'b s';
      update conversations set info = replace(info, 'workItem', 'workItum')`)
    expect((await store.session(project, 'a s'))?.expiresInMs).toBeNull()
    expect((await store.session(project, 'b s'))?.windowStart).toBe(0)
    expect((await store.sessions({ project, limit: 10 })).items.map(head => head.expiresInMs)).toEqual([
      null,
      null,
      null,
    ])
    expect((await store.conversation(project, 'b'))?.info.workItem).toBeDefined()
  })

  it('[P13] a lane with an unreadable audience hides nothing, and is repaired', async () => {
    const store = await tampered(`update lanes set audience = 'nobody' where ${inB}`)
    const viewer = { sees: 'as-session', sessionId: 'b s', agentName: 'dev' } as const
    const window = { project, conversationId: 'b', viewer, kinds: ['talk'], start: 0, kept: [] } as const
    expect((await store.messages(window, { limit: 10 })).map(one => one.content)).toEqual(['b one', 'b two', 'b three'])
    expect((await store.repair!()).heads).toMatchObject([
      { conversationId: 'b', what: expect.stringContaining('lane') },
    ])
    expect((await store.verify()).damages).toEqual([])
  })

  it('a search index that was replaced stays whole when a process that still had the old one open closes it', async () => {
    const { store, path, another } = await openSqlite()
    await store.append(proposal('c', [conversationCreated(), messageAdded('apple')]))
    expect(await store.search({ project, text: 'apple' })).toHaveLength(1)
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}-search${suffix}`, { force: true })
    const other = await another()
    expect(await other.search({ project, text: 'apple' })).toHaveLength(1)
    const { ino } = statSync(`${path}-search-wal`)
    await store.close()
    expect(statSync(`${path}-search-wal`).ino).toBe(ino)
    await other.append(proposal('c', messageAdded('apple pie')))
    for (const handle of [other, await another()]) {
      expect(await handle.search({ project, text: 'apple' })).toHaveLength(2)
    }
  })

  it('a search index that is damaged or gone is built again', async () => {
    const { store, path } = await openSqlite()
    await store.append(proposal('c', [conversationCreated(), messageAdded('apple')]))
    expect(await store.search({ project, text: 'apple' })).toHaveLength(1)
    await store.close()
    expect(existsSync(`${path}-search`)).toBe(true)
    copyFileSync(new URL(import.meta.url), `${path}-search`)
    const again = await openAt(path)
    expect(await again.search({ project, text: 'apple' })).toHaveLength(1)
  })
})

describe('other processes', () => {
  it('[P2][P3] processes write the same conversation at once: no gap, no duplicate, each key once', async () => {
    const { store, path } = await openSqlite()
    await store.append(proposal('c', conversationCreated()))
    const count = 40
    // Each writes its own messages, and one for each key that they all share.
    const total = 2 * count + count
    const seen = nextEvents(store.subscribe({ project }), total)
    const results = await Promise.all(['one', 'two'].map(name => run('write', path, name, String(count))))
    expect(results).toEqual([
      { code: 0, output: '' },
      { code: 0, output: '' },
    ])
    const versions = Array.from({ length: total }, (_, index) => index + 2)
    expect((await seen).map(event => event.version)).toEqual(versions)
    expect(await store.read({ project, conversationId: 'c', from: 2 })).toEqual(await seen)
    expect((await store.verify()).damages).toEqual([])
  })

  it('a store is closed although a subscription was never read to its end', async () => {
    const { code, output } = await run('close-unread', join(temporaryFolder(), 'colloquy.db'))
    expect(output.trim()).toBe('closed')
    expect(code).toBe(0)
  })
})

it.skipIf(!existsSync('/proc/self/fd'))(
  'opening and closing a store again and again leaves few files open',
  async () => {
    const { output } = await run('open-again', join(temporaryFolder(), 'colloquy.db'), '120')
    // Two for each, if the garbage collector were left alone with them.
    expect(Number(output)).toBeLessThan(120)
  },
)

describe('the index of words', () => {
  /** Counts the segments that a search has to look through. */
  function listsIn(path: string): number {
    const index = new DatabaseSync(`${path}-search`, { readOnly: true })
    try {
      return Number(index.prepare('select count(distinct segid) as lists from words_idx').get().lists)
    } finally {
      index.close()
    }
  }

  it('the search index is optimised when the store is idle, and then finds the same', async () => {
    const path = join(temporaryFolder(), 'colloquy.db')
    const store = await openAt(path)
    await store.append(proposal('c', conversationCreated()))
    // Each search takes in what came before it, as a list of its own; fewer than are put together while writing.
    for (let round = 1; round <= 6; round++) {
      await store.append(proposal('c', messageAdded(`apple number ${round}`)))
      expect(await store.search({ project, text: 'apple' })).toHaveLength(round)
    }
    await vi.waitFor(() => expect(listsIn(path)).toBe(1), { timeout: 20_000, interval: 100 })
    expect(await store.search({ project, text: 'apple number' })).toHaveLength(6)
    expect(listsIn(path)).toBe(1)
  })
})

describe('the write-ahead log', () => {
  /** Reads how often the log was restarted: a number in its header. */
  function startsOf(path: string): number {
    const header = Buffer.alloc(32)
    const file = openSync(`${path}-wal`, 'r')
    try {
      readSync(file, header)
    } finally {
      closeSync(file)
    }
    return header.readUInt32BE(12)
  }

  it('the write-ahead log starts over while writers never pause, however much they write at a time', async () => {
    const path = join(temporaryFolder(), 'colloquy.db')
    const store = await openAt(path)
    await store.append(proposal('c', conversationCreated()))
    // A search wakes the worker, which moves the log into the file.
    await store.search({ project, text: 'nothing' })
    const before = startsOf(path)
    let written = 0
    const write = async () => {
      // Less than SQLite itself would wait for, and several times what is needed.
      while (startsOf(path) === before && written < 1_200) {
        await store.append(proposal('c', messageAdded(`${++written} ${'long '.repeat(10_000)}`)))
      }
    }
    await Promise.all(Array.from({ length: 8 }, write))
    expect(startsOf(path)).toBeGreaterThan(before)
    expect((await store.verify()).damages).toEqual([])
  })
})

describe('a file of another schema', () => {
  it.each([
    [6, 'Export its conversations with the version that made it'],
    [99, 'Update Colloquy'],
  ])('a file of another schema is refused with what to do when its number is %i', async (number, remedy) => {
    const path = join(temporaryFolder(), 'colloquy.db')
    await (await sqliteStore(path, { clock: Date.now })).close()
    const file = new DatabaseSync(path)
    file.exec(`pragma user_version = ${number}`)
    file.close()
    for (const readOnly of [true, false]) {
      const opening = sqliteStore(path, { clock: Date.now, readOnly })
      await expect(opening).rejects.toMatchObject({ code: 'store/unusable', facts: { found: number } })
      await expect(opening).rejects.toThrow(remedy)
    }
    expect(await sqliteStatus(path)).toMatchObject({ schema: number, projects: [] })
  })

  it('verify reports a session whose head names another time of its last use', async () => {
    const path = join(temporaryFolder(), 'colloquy.db')
    const lastActiveAt = '2026-01-01T00:00:00.000Z'
    const store = await openAt(path)
    await store.append(
      proposal('a', [
        conversationCreated(),
        sessionCreated('s'),
        { type: 'session.expired', sessionId: 's', lastActiveAt },
      ]),
    )
    expect(await store.session(project, 's')).toMatchObject({ status: 'expired', updatedAt: lastActiveAt })
    await store.close()
    const file = new DatabaseSync(path)
    const write = file.prepare(`update sessions set head = json_set(head, '$.updatedAt', ?)`)
    write.run('2026-01-02T00:00:00.000Z')
    file.close()
    expect(await (await openAt(path)).verify()).toMatchObject({ clean: false })
  })
})

describe('a store of many conversations', () => {
  it('a store of many conversations finds what is due for the archive behind thousands that are not, a stretch at a time', async () => {
    const { store } = await openSqlite()
    const made = Array.from({ length: 5000 }, (_, i) => store.append(proposal(`c${i}`, conversationCreated())))
    await Promise.all(made)
    await store.append(proposal('done', [conversationCreated(), { type: 'conversation.completed' }]))
    const due: string[] = []
    let cursor: string | undefined
    do {
      const page = { limit: 10, ...(cursor !== undefined && { cursor }) }
      const { items, next } = await store.archivable(project, { completed: true }, page)
      due.push(...items.map(head => head.info.id))
      cursor = next
    } while (cursor !== undefined)
    expect(due).toEqual(['done'])
  })

  it('a store of many conversations counts what a project holds in the worker, not in the writing thread', async () => {
    const { store } = await openSqlite()
    await store.append(proposal('c', [conversationCreated(), messageAdded('x')]))
    let hasTurned = false
    setImmediate(() => (hasTurned = true))
    expect(await store.totals(project)).toMatchObject({ conversations: 1, messages: 1 })
    expect(hasTurned).toBe(true)
  })
})
