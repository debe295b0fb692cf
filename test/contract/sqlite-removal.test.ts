/** The search index and write-ahead logs on SQLite when a removal fails, is cut off, or meets readers. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { IllegalState, StoreBusy, StoreReadOnly } from 'colloquy/errors'
import { sqliteStore } from 'colloquy/sqlite'
import type { StoreCalls } from 'colloquy/stores'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { memoryArchives } from '../../src/testing/archives.ts'
import { conversationCreated, errorOf, messageAdded, origin, proposal } from '../../src/testing/builders.ts'
import { openSqlite } from './open-sqlite.ts'

const project = 'shop'
const marker = 'qzxjvkbwq'

async function openAt(path: string, options: { busyTimeoutMs?: number; readOnly?: boolean } = {}): Promise<StoreCalls> {
  const store = await sqliteStore(path, { clock: Date.now, ...options })
  onTestFinished(() => store.close())
  return store
}

/** Finds the files of the store, its logs and its indexes that contain the marker. */
function filesWith(path: string): string[] {
  const files = readdirSync(dirname(path)).filter(name => name.startsWith(basename(path)))
  return files.filter(name => readFileSync(join(dirname(path), name)).includes(marker))
}

/** Opens the file as another program that holds the write lock or a read snapshot. */
function somebody(path: string, sql: string): InstanceType<typeof DatabaseSync> {
  const connection = new DatabaseSync(path)
  onTestFinished(() => connection.close())
  connection.exec(sql)
  return connection
}

/** Another one whenever the index is built again. */
function generation(path: string): unknown {
  return somebody(`${path}-search`, '').prepare(`select value from meta where name = 'generation'`).get()
}

const usage = { input: 5, output: 7 }

describe('an erase that is refused', () => {
  it('[P4] a refused erase leaves the message, its words and its cost as they were, however often it is tried', async () => {
    const { store, path } = await openSqlite()
    const secret = messageAdded(`a ${marker} secret`, { usage })
    await store.append(proposal('c', [conversationCreated(), secret, messageAdded('other', { usage })]))
    await store.close()
    const again = await openAt(path, { busyTimeoutMs: 50 })
    const erase = () => again.erase({ project, messageId: secret.messageId, origin })
    const holder = somebody(path, 'begin immediate')
    for (let time = 0; time < 2; time++) expect(await errorOf(erase)).toBeInstanceOf(StoreBusy)
    holder.exec('rollback')

    expect(await again.search({ project, text: marker })).toHaveLength(1)
    expect((await again.spending(project))!.project).toMatchObject({ input: 10, output: 14, calls: 2 })
    await erase()
    expect(await again.search({ project, text: marker })).toEqual([])
    expect((await again.spending(project))!.project).toMatchObject({ input: 5, output: 7, calls: 1 })
    expect(filesWith(path)).toEqual([])
  })

  it('[P4] an erase that is refused because it was done counts nothing twice', async () => {
    const { store } = await openSqlite()
    const secret = messageAdded('secret', { usage })
    await store.append(proposal('c', [conversationCreated(), secret, messageAdded('other', { usage })]))
    const erase = () => errorOf(() => store.erase({ project, messageId: secret.messageId, origin }))
    const answers = await Promise.all([erase(), erase(), erase()])
    expect(answers.filter(answer => answer instanceof IllegalState)).toHaveLength(2)
    expect((await store.spending(project))!.project).toMatchObject({ messages: 1, input: 5, output: 7, calls: 1 })
  })
})

describe('an erase', () => {
  it('[P4] an erase removes an agent from the spending when it took its only message', async () => {
    const { store } = await openSqlite()
    const secret = messageAdded('secret', { usage, author: 'jane' })
    await store.append(proposal('c', [conversationCreated(), secret, messageAdded('other', { usage, author: 'dev' })]))
    expect(Object.keys((await store.spending(project))!.agents).sort()).toEqual(['dev', 'jane'])
    await store.erase({ project, messageId: secret.messageId, origin })
    expect(Object.keys((await store.spending(project))!.agents)).toEqual(['dev'])
  })

  it('[P4] an erase is seen by every read from when the log says so', async () => {
    const { store } = await openSqlite()
    const secret = messageAdded(`a ${marker} secret`)
    await store.append(proposal('c', [conversationCreated(), secret]))
    const viewer = { sees: 'everything' } as const
    const window = { project, conversationId: 'c', viewer, kinds: ['talk'] as const, start: 0, kept: [] }
    const read = async () => JSON.stringify(await store.messages(window, { limit: 10 }))
    // More than once: then it is kept in memory.
    for (let time = 0; time < 3; time++) expect(await read()).toContain(marker)
    const updates = store.subscribe({ project, from: await store.position() })
    const erasing = store.erase({ project, messageId: secret.messageId, origin })
    expect((await updates.next()).value?.event.type).toBe('message.erased')
    expect(await read()).not.toContain(marker)
    await erasing
    await updates.return?.(undefined)
  })
})

describe('an erase that another process hears of first', () => {
  it('[P4] another process that hears of an erase removes the words there, and builds nothing again', async () => {
    const { store, path, another } = await openSqlite()
    const other = await another()
    const secrets = Array.from({ length: 20 }, (_, number) => messageAdded(`a ${marker} secret ${number}`, { usage }))
    await store.append(proposal('c', [conversationCreated(), messageAdded('kept words'), ...secrets]))
    expect(await other.search({ project, text: marker })).toHaveLength(20)
    const made = generation(path)
    for (const { messageId } of secrets) {
      const erasing = store.erase({ project, messageId, origin })
      await other.search({ project, text: marker })
      await erasing
    }
    expect(await other.search({ project, text: marker })).toEqual([])
    expect(await store.search({ project, text: 'words' })).toHaveLength(1)
    expect((await store.spending(project))!.project).toMatchObject({ messages: 1, input: 0, calls: 0 })
    expect(generation(path)).toEqual(made)
    await Promise.all([store.close(), other.close()])
    expect(filesWith(path)).toEqual([])
  })
})

describe('an index that did not hear of a removal, as a crash leaves it', () => {
  /** The store as `remove` leaves it, with the index as it was before. */
  async function withOldIndex(remove: (store: StoreCalls) => Promise<unknown>): Promise<string> {
    const { store, path } = await openSqlite()
    await store.append(proposal('kept', [conversationCreated(), messageAdded('kept words')]))
    await store.append(
      proposal('c', [conversationCreated(), messageAdded(`a ${marker} secret`, { messageId: 'secret' })]),
    )
    expect(await store.search({ project, text: marker })).toHaveLength(1)
    await store.close()
    copyFileSync(`${path}-search`, `${path}-before`)
    const again = await openAt(path)
    await remove(again)
    await again.close()
    for (const suffix of ['-wal', '-shm']) rmSync(`${path}-search${suffix}`, { force: true })
    renameSync(`${path}-before`, `${path}-search`)
    expect(filesWith(path)).toEqual([`${basename(path)}-search`])
    return path
  }

  it.each([
    ['an erase', (store: StoreCalls) => store.erase({ project, messageId: 'secret', origin })],
    ['a purge', (store: StoreCalls) => store.purge({ project, conversationId: 'c', to: memoryArchives(), origin })],
  ])(
    '[P4] a search index that missed a removal in a crash is built again after %s: no word of it is left',
    async (_what, remove) => {
      const path = await withOldIndex(remove)
      const store = await openAt(path)
      expect(await store.search({ project, text: marker })).toEqual([])
      expect(await store.search({ project, text: 'words' })).toHaveLength(1)
      await store.close()
      expect(filesWith(path)).toEqual([])
    },
  )
})

it('[P4] a purge of most of the store has the search index built again, without blocking on word after word', async () => {
  const { store, path, another } = await openSqlite()
  const other = await another()
  const long = Array.from({ length: 1000 }, () => messageAdded(`a ${marker} word`))
  await store.append(proposal('c', [conversationCreated(), ...long]))
  await store.append(proposal('kept', [conversationCreated(), messageAdded('kept words', { usage })]))
  expect(await other.search({ project, text: 'words' })).not.toEqual([])
  const made = generation(path)
  const to = memoryArchives()
  const { archive } = await store.purge({ project, conversationId: 'c', to, origin })
  expect(await other.search({ project, text: marker })).toEqual([])
  expect(await other.search({ project, text: 'words' })).toHaveLength(1)
  expect((await other.spending(project))!.project).toMatchObject({ messages: 1, input: 5, calls: 1 })
  expect(generation(path)).not.toEqual(made)
  await store.restore({ project, lines: to.read(archive), origin })
  expect((await other.spending(project))!.project).toMatchObject({ messages: 1001 })
  await store.purge({ project, conversationId: 'c', to, origin })
  await Promise.all([store.close(), other.close()])
  expect(filesWith(path)).toEqual([])
})

describe('a purge that is refused', () => {
  it('[P4] a refused purge leaves the conversation to be found', async () => {
    const { store, path } = await openSqlite()
    await store.append(
      proposal('c', [conversationCreated(), messageAdded(`a ${marker} word`, { messageId: 'm', usage })]),
    )
    await store.close()
    const again = await openAt(path, { busyTimeoutMs: 50 })
    const branch = proposal('branch', [conversationCreated({ branchOf: { conversationId: 'c', version: 2 } })])
    // A branch is made while the archive is written.
    const to = memoryArchives()
    const late = {
      ...to,
      write: (...args: Parameters<typeof to.write>) => again.append(branch).then(() => to.write(...args)),
    }
    expect(await errorOf(() => again.purge({ project, conversationId: 'c', to: late, origin }))).toBeInstanceOf(
      IllegalState,
    )
    expect(to.files.size).toBe(0)
    expect(await again.search({ project, text: marker })).toHaveLength(1)
    expect(await again.message(project, 'm')).toBeDefined()
    expect((await again.spending(project))!.project).toMatchObject({ input: 5, calls: 1 })
  })

  it('[P4] a purge that is refused because the store is read-only writes no archive', async () => {
    const { store, path } = await openSqlite()
    await store.append(proposal('c', [conversationCreated(), messageAdded('words')]))
    await store.close()
    const readOnly = await openAt(path, { readOnly: true })
    const to = memoryArchives()
    expect(await errorOf(() => readOnly.purge({ project, conversationId: 'c', to, origin }))).toBeInstanceOf(
      StoreReadOnly,
    )
    expect(to.files.size).toBe(0)
  })
})

describe('while somebody reads the file as it was', () => {
  it('[P4] an erase during a long read blocks no writer, says that the content lingers, and removes it after the read', async () => {
    const { store, path } = await openSqlite()
    const secret = messageAdded(`a ${marker} secret`)
    await store.append(proposal('c', [conversationCreated(), secret]))
    const reader = somebody(path, 'begin; select count(*) from events')
    const erasing = store.erase({ project, messageId: secret.messageId, origin })
    let beside = 0
    let isErased = false
    const writing = (async () => {
      while (!isErased) {
        await store.append(proposal('c', messageAdded('beside')))
        beside++
      }
    })()
    const erased = await erasing
    isErased = true
    await writing
    expect(erased.lingers).toBe(true)
    // One a try would be all if each of them kept writers waiting.
    expect(beside).toBeGreaterThan(20)
    expect((await store.conversation(project, 'c'))?.version).toBe(3 + beside)

    reader.exec('rollback')
    await vi.waitFor(() => expect(filesWith(path)).toEqual([]), { timeout: 20_000, interval: 100 })
  })
})

describe('content that whoever removed it left in the write-ahead log, because they ended before it was gone', () => {
  it.each<[string, (store: StoreCalls) => Promise<unknown>, string]>([
    ['erase', store => store.erase({ project, messageId: 'secret', origin }), 'state/illegal'],
    [
      'purge',
      store => store.purge({ project, conversationId: 'c', to: memoryArchives(), origin }),
      'conversation/purged',
    ],
  ])(
    '[P4] content that a removal left in the write-ahead log goes when the same %s is repeated',
    async (_what, remove, code) => {
      const { store, path, another } = await openSqlite()
      const leaving = await another()
      await store.append(
        proposal('c', [conversationCreated(), messageAdded(`a ${marker} secret`, { messageId: 'secret' })]),
      )
      const reader = somebody(path, 'begin; select count(*) from events')
      expect(await remove(leaving)).toMatchObject({ lingers: true })
      await leaving.close()
      reader.exec('rollback')
      expect(filesWith(path)).not.toEqual([])
      expect(await errorOf(() => remove(store))).toMatchObject({ code })
      expect(filesWith(path)).toEqual([])
    },
  )
})

describe('an index that another process made anew', () => {
  it('a search index that another process rebuilt is fed with its own names of authors', async () => {
    const { store, another } = await openSqlite()
    await store.append(proposal('a', [conversationCreated(), messageAdded('hello', { author: 'zoe' })]))
    await store.append(proposal('b', [conversationCreated(), messageAdded('hello', { author: 'bob' })]))
    expect(await store.search({ project, text: 'hello' })).toHaveLength(2)
    await store.purge({ project, conversationId: 'a', to: memoryArchives(), origin })
    const other = await another()
    await other.repair!()
    for (const author of ['carl', 'bob']) await store.append(proposal('b', messageAdded('hello', { author })))
    const by = async (author: string) => (await store.search({ project, text: 'hello', author })).map(hit => hit.author)
    expect(await by('carl')).toEqual(['carl'])
    expect(await by('bob')).toEqual(['bob', 'bob'])
  })
})

describe('a store that is opened through a link', () => {
  it('[P4] a store that is opened through a link has one search index, which an erase under its own name reaches', async () => {
    const { store, path } = await openSqlite()
    const secret = messageAdded(`a ${marker} secret`)
    await store.append(proposal('c', [conversationCreated(), secret]))
    await store.close()
    const link = join(dirname(path), 'links', 'store.db')
    mkdirSync(dirname(link))
    symlinkSync(path, link)
    const linked = await openAt(link)
    expect(await linked.search({ project, text: marker })).toHaveLength(1)
    await linked.close()
    expect(existsSync(`${link}-search`)).toBe(false)
    const again = await openAt(path)
    await again.erase({ project, messageId: secret.messageId, origin })
    await again.close()
    expect(filesWith(path)).toEqual([])
  })
})
