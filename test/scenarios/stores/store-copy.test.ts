/** A store is copied into another, of whatever kind, and is the same there; nothing happens to the one it is from. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { linkSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { type Colloquy, openColloquy } from 'colloquy'
import { IllegalState, KeyReused, StoreUnusable } from 'colloquy/errors'
import { copyStore, migrateStore, storeStatus } from 'colloquy/stores'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errorOf, linesOf } from '../../../src/testing/builders.ts'
import { runCli } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import { freshSchema } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary.ts'

/** Sessions that were made by the tests' clock have not expired by then. */
const soonAfter = () => Date.parse('2026-11-15T20:00:00Z')

const freshFile = () => `sqlite:${join(temporaryFolder(), 'copy.db')}`
const freshServer = async () => (await freshSchema()).url

/** A store with a little of everything, closed. */
async function filledStore(store = freshFile()) {
  const { colloquy } = await freshColloquy({ store })
  const { conversations, sessions } = colloquy
  const { id } = await conversations.createConversation({
    title: 'Lighthouse',
    initial: { role: 'user', content: 'a' },
  })
  const dev = await sessions.getOrCreateSession({ type: 'feature', agentType: 'dev', featureId: 'login' })
  await sessions.addMessage(
    dev.id,
    { role: 'user', content: 'NUL \0, half \ud800, 登录 🜁' },
    { idempotencyKey: 'once' },
  )
  await sessions.addMessage(dev.id, { role: 'assistant', content: 'large '.repeat(60_000) })
  const secret = await sessions.addMessage(dev.id, { role: 'user', content: 'the password is xylophone' })
  await sessions.addMessage(dev.id, {
    role: 'user',
    content: 'only for me',
    audience: { to: 'agents', agents: ['qa'] },
  })
  await conversations.erase(secret.id, 'asked to')
  const { version } = await conversations.transitionPhase(id, { to: 'plan' })
  const branch = await conversations.branch(id, version)
  await conversations.addEvent(branch.id, { role: 'user', content: 'another way' })
  const gone = await conversations.createConversation({ title: 'Gone', initial: { role: 'user', content: 'bye' } })
  await conversations.purge(gone.id)
  const put = await conversations.createConversation({ title: 'Put away' })
  await conversations.complete(put.id, 'done')
  await conversations.archive(put.id)
  await colloquy.as({ project: 'bank' }).conversations.createConversation({ title: 'Elsewhere' })
  await colloquy.close()
  return { store, id, dev: dev.id, gone: gone.id }
}

async function openedAt(store: string, project = 'shop'): Promise<Colloquy> {
  const colloquy = await openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null, clock: soonAfter })
  onTestFinished(() => colloquy.close())
  return colloquy
}

/** All that can be read of a project, without what belongs to one store only, such as the order between conversations. */
async function readAll(store: string, project = 'shop') {
  const colloquy = await openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null, clock: soonAfter })
  const { conversations, sessions } = colloquy
  const listed = (await conversations.listConversations({ limit: 1000 })).items
  const ids = listed.map(one => one.id).sort()
  const all = {
    archives: await Promise.all(ids.map(id => linesOf(conversations.export(id)))),
    conversations: await Promise.all(ids.map(id => conversations.getConversation(id))),
    sessions: (await sessions.listSessions({ limit: 1000 })).items.sort((a, b) => (a.id < b.id ? -1 : 1)),
    stats: await colloquy.stats(),
    damages: (await colloquy.verify()).damages,
  }
  await colloquy.close()
  return all
}

const hashOfFile = (store: string) =>
  createHash('sha256')
    .update(readFileSync(store.slice(7)))
    .digest('hex')

describe('work items', () => {
  it.each([
    ['a server', freshServer],
    ['a file', async () => freshFile()],
  ])('copied work items are found in %s as in their source', async (_what, freshTarget) => {
    const source = freshFile()
    const first = await openedAt(source)
    await first.work.addBead({ beadId: 'late', title: 'Late' })
    await first.work.addBead({ beadId: 'soon', title: 'Soon', priority: 0 })
    await first.work.planTasks('login', { add: [{ taskId: 'form', title: 'Form' }] })
    await first.work.moveTask('login', 'form', 'in_dev')
    const [beads, graph] = [await first.work.listBeads(), await first.work.graph('login')]
    await first.close()
    const target = await freshTarget()
    await copyStore({ from: source, to: target })
    const copy = await openedAt(target)
    expect(await copy.work.listBeads()).toEqual(beads)
    expect(await copy.work.graph('login')).toEqual(graph)
    expect((await copy.work.ready()).map(one => one.title)).toEqual(['Soon', 'Form', 'Late'])
  })
})

describe('[P1][P13] a copy', () => {
  it.each([
    ['a file to a server and back', [freshServer, freshFile]],
    ['a file to a file', [freshFile]],
    ['a server to a server', [freshServer, freshServer]],
  ])('of %s is the same to the last byte and hash; the source is not touched', async (_, places) => {
    const { store, gone, dev } = await filledStore()
    const before = hashOfFile(store)
    const expected = await readAll(store)
    expect(expected.damages).toEqual([])
    let last = store
    for (const place of places) {
      const next = await place()
      const copied = await copyStore({ from: last, to: next })
      expect(copied.map(({ project }) => project)).toEqual(['bank', 'shop'])
      expect(copied.flatMap(({ refused }) => refused)).toEqual([])
      expect(await readAll(next)).toEqual(expected)
      last = next
    }
    expect(hashOfFile(store)).toBe(before)
    const there = await openedAt(last)
    // The key and the record of the purge are copied.
    const again = { role: 'user', content: 'NUL \0, half \ud800, 登录 🜁' } as const
    await there.sessions.addMessage(dev, again, { idempotencyKey: 'once' })
    expect(await there.stats()).toEqual(expected.stats)
    const other = () => there.sessions.addMessage(dev, { role: 'user', content: 'x' }, { idempotencyKey: 'once' })
    expect(await errorOf(other)).toBeInstanceOf(KeyReused)
    expect(await errorOf(() => there.conversations.getConversation(gone))).toMatchObject({
      code: 'conversation/purged',
    })
    // And it is a store like any other.
    await there.sessions.addMessage(dev, { role: 'user', content: 'goes on' })
    expect((await there.conversations.search({ text: 'goes' })).messages).toHaveLength(1)
    expect((await there.verify({ allProjects: true })).damages).toEqual([])
  })

  it('[P1][P13] a copy of any log, there and back, is the same event for event', async () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 })
    const step = fc.record({
      what: fc.constantFrom('say', 'say', 'say', 'begin', 'erase', 'branch', 'purge', 'join', 'archive', 'once'),
      which: fc.nat(7),
      text,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async steps => {
        const { colloquy, store } = await freshColloquy({ store: freshFile() })
        const { conversations, sessions } = colloquy
        const ids = [(await conversations.createConversation({ title: 'first' })).id]
        const said: string[] = []
        for (const { what, which, text: words } of steps) {
          const id = ids[which % ids.length]!
          const work = async () => {
            if (what === 'begin') ids.push((await conversations.createConversation({ title: words })).id)
            else if (what === 'erase') await conversations.erase(said[which % said.length] ?? 'none')
            else if (what === 'branch') ids.push((await conversations.branch(id, 1)).id)
            else if (what === 'purge') await conversations.purge(id)
            else if (what === 'archive') await conversations.archive(id)
            else if (what === 'join') {
              await sessions.getOrCreateSession({ type: 'thread', agentType: 'qa', threadId: `t${which}` })
            } else {
              const options = what === 'once' ? { idempotencyKey: `key ${which}` } : {}
              said.push((await conversations.addEvent(id, { role: 'user', content: words }, options)).id)
            }
          }
          // Steps that do not fit the present state are refused.
          await work().catch(() => undefined)
        }
        await colloquy.close()
        const expected = await readAll(store)
        const [server, back] = [await freshServer(), freshFile()]
        await copyStore({ from: store, to: server })
        await copyStore({ from: server, to: back })
        expect(await readAll(server)).toEqual(expected)
        expect(await readAll(back)).toEqual(expected)
        expect(expected.damages).toEqual([])
      }),
      { numRuns: 8, endOnFailure: true },
    )
  }, 120_000)

  it('leaves a damaged conversation out with its branches, and names them', async () => {
    const { store, id } = await filledStore()
    const file = new DatabaseSync(store.slice(7))
    file.exec(`update events set body = replace(body, '"a"', '"A"') where version = 2 and conversation =
      (select conversation from conversations where id = '${id}')`)
    file.close()
    const server = await freshServer()
    const [, shop] = await copyStore({ from: store, to: server })
    expect(shop!.refused.map(({ conversationId }) => conversationId)).toContain(id)
    expect(shop!.refused.map(({ reason }) => reason)).toContainEqual(expect.stringContaining('branches off'))
    expect(shop).toMatchObject({ conversations: 4, copied: 2 })
    const there = await openedAt(server)
    expect((await there.conversations.listConversations()).items).toHaveLength(2)
    expect((await there.verify()).damages).toEqual([])
  })
})

describe('a copy that is interrupted', () => {
  async function manyConversations() {
    const { colloquy, store } = await freshColloquy({ store: freshFile() })
    for (let i = 0; i < 40; i++) {
      const initial = { role: 'user', content: `line ${i}` } as const
      await colloquy.conversations.createConversation({ title: `Talk ${i}`, initial })
    }
    await colloquy.close()
    return store
  }

  it.each(['server', 'file'])('[P1] by kill -9 goes on where it was (%s)', async kind => {
    const store = await manyConversations()
    const target = kind === 'server' ? await freshServer() : freshFile()
    const file = fileURLToPath(new URL('../../contract/processes/copy.mjs', import.meta.url))
    const child = spawn(process.execPath, [file, store, target], { stdio: ['ignore', 'pipe', 'inherit'] })
    for await (const line of createInterface({ input: child.stdout })) {
      if (Number(line) >= 20) child.kill('SIGKILL')
    }
    const half = await openedAt(target)
    expect((await half.verify({ allProjects: true })).damages).toEqual([])
    await half.close()
    const [copied] = await copyStore({ from: store, to: target })
    expect(copied!.copied).toBeLessThan(40)
    expect(await readAll(target)).toEqual(await readAll(store))
    // Once more changes nothing.
    expect(await copyStore({ from: store, to: target })).toMatchObject([{ copied: 0, refused: [] }])
  })
})

describe('a target', () => {
  it('a target that is the source under another name is refused', async () => {
    const { store } = await filledStore()
    const file = store.replace('sqlite:', '')
    linkSync(file, `${file}-same`)
    for (const to of [store, `sqlite:${dirname(file)}/./${basename(file)}`, `sqlite:${file}-same`]) {
      await expect(copyStore({ from: store, to })).rejects.toMatchObject({
        code: 'store/unusable',
        message: 'A store cannot be copied into itself. Nothing was copied; name another target.',
      })
    }
  })

  it.each(['server', 'file'])('keeps the conversations of its own (%s)', async kind => {
    const { store, dev } = await filledStore()
    const target = kind === 'server' ? await freshServer() : freshFile()
    const other = await openedAt(target)
    const own = await other.conversations.createConversation({ title: 'Its own' })
    await copyStore({ from: store, to: target, projects: ['shop'] })
    expect((await other.conversations.getConversation(own.id)).title).toBe('Its own')
    await other.sessions.addMessage(dev, { role: 'user', content: 'here' })
    expect((await other.verify()).damages).toEqual([])
  })

  it.each(['server', 'file'])('in which a conversation went on is refused, with what to do (%s)', async kind => {
    const { store, id } = await filledStore()
    const target = kind === 'server' ? await freshServer() : freshFile()
    await copyStore({ from: store, to: target, projects: ['shop'] })
    const other = await openedAt(target)
    await other.conversations.addEvent(id, { role: 'user', content: 'goes on' })
    await other.close()
    const before = await readAll(target)
    const error = await errorOf(() => copyStore({ from: store, to: target, projects: ['shop'] }))
    expect(error).toBeInstanceOf(IllegalState)
    expect(String(error)).toContain('purge it there, or copy into an empty store')
    expect(await readAll(target)).toEqual(before)
  })

  it('a target is not the source; a missing project is named', async () => {
    const { store } = await filledStore()
    expect(await errorOf(() => copyStore({ from: store, to: store }))).toBeInstanceOf(StoreUnusable)
    const error = await errorOf(() => copyStore({ from: store, to: freshFile(), projects: ['nowhere'] }))
    expect(String(error)).toContain('It has: bank, shop.')
  })
})

describe('colloquy store', () => {
  it('colloquy store copies, says what it did, and shows the status of both', async () => {
    const { store } = await filledStore()
    const server = await freshServer()
    const copied = await runCli(['store', 'copy', store, server])
    expect(copied.exitCode).toBe(0)
    expect(copied.stdout).toMatch(/shop copied: 4 conversations, \d+ events, 1 key\.\n/)
    const status = (await runCli(['store', 'status', server, '--json'])).json()
    expect(status).toMatchObject({ kind: 'postgres', projects: [{ project: 'bank' }, { project: 'shop' }] })
    expect(status.projects).toEqual((await runCli(['store', 'status', store, '--json'])).json().projects)
    expect((await runCli(['store', 'status', store])).stdout).toContain('up to date')
    const withPassword = server.replace('postgres@', 'postgres:swordfish@')
    const missing = await runCli(['show', 'nope', '--store', withPassword, '--project', 'shop', '--json'])
    expect(missing.error()).toMatchObject({ code: 'not-found', facts: { store: expect.stringContaining(':***@') } })
    expect(missing.stderr).not.toContain('swordfish')
    const again = await runCli(['store', 'copy', store, server, '--project', 'shop', '--json'])
    expect(again.json()).toMatchObject({ copied: [{ project: 'shop', copied: 0 }] })
    const refused = await runCli(['store', 'copy', store, store, '--json'])
    expect([refused.exitCode, refused.error().code]).toEqual([1, 'store/unusable'])
  })

  it("brings a store to today's schema", async () => {
    const server = await freshServer()
    expect(await storeStatus(server)).toMatchObject({ schema: 0, projects: [] })
    const migrated = await runCli(['store', 'migrate', server, '--json'])
    const { from, to } = migrated.json() as { from: number; to: number }
    expect([from, to > 0]).toEqual([0, true])
    expect(await migrateStore(server)).toEqual({ from: to, to })
  })
})
