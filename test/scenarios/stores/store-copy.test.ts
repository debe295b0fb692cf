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
import { errorOf, linesOf } from '../../support/builders.ts'
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

/** All that can be read of a project, without what belongs to one store only. */
async function readAll(store: string, project = 'shop') {
  const colloquy = await openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null, clock: soonAfter })
  const { conversations, sessions } = colloquy
  const listed = (await conversations.listConversations({ limit: 1000 })).items
  const ids = listed.map(one => one.id).sort()
  const order: string[] = []
  const total = (await colloquy.stats()).events
  const updates = colloquy.subscribe({ from: 'start' })
  while (order.length < total) {
    const { value } = await updates.next()
    order.push(`${value!.conversationId} ${value!.version}`)
  }
  await updates.return?.()
  const all = {
    archives: await Promise.all(ids.map(id => linesOf(conversations.export(id)))),
    conversations: await Promise.all(ids.map(id => conversations.getConversation(id))),
    sessions: (await sessions.listSessions({ limit: 1000 })).items,
    order,
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
  ])('are found in %s as they were where they come from', async (_what, freshTarget) => {
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
  ])('of %s is the same to the last byte, order and hash; the source is not touched', async (_, places) => {
    const { store, gone, dev } = await filledStore()
    const before = hashOfFile(store)
    const expected = await readAll(store)
    expect(expected.damages).toEqual([])
    let last = store
    for (const place of places) {
      const next = await place()
      const copied = await copyStore({ from: last, to: next })
      expect(copied.map(({ project }) => project)).toEqual(['bank', 'shop'])
      expect(copied.every(({ damages }) => damages.from.length + damages.to.length === 0)).toBe(true)
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

  it('of any log, there and back, is the same event for event', async () => {
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

  it('keeps what is damaged as it is, and says so', async () => {
    const { store, id } = await filledStore()
    const file = new DatabaseSync(store.slice(7))
    file.exec(`update events set body = replace(body, '"a"', '"A"') where version = 2 and conversation =
      (select conversation from conversations where id = '${id}')`)
    file.exec(`update conversations set info = '{' where id = '${id}'`)
    file.close()
    const server = await freshServer()
    const [, shop] = await copyStore({ from: store, to: server })
    expect(shop!.damages.from.map(({ version }) => version)).toEqual([2])
    expect(shop!.damages.to.map(({ conversationId, version, what }) => ({ conversationId, version, what }))).toEqual(
      shop!.damages.from.map(({ conversationId, version, what }) => ({ conversationId, version, what })),
    )
    const there = await openedAt(server)
    const events = await there.conversations.getEvents(id)
    expect(events[1]!.event.type).toBe('damaged')
    expect((await there.conversations.getConversation(id)).title).toBe('Lighthouse')
  })
})

describe('a copy that is interrupted', () => {
  async function large() {
    const { colloquy, store } = await freshColloquy({ store: freshFile() })
    const { id } = await colloquy.conversations.createConversation({ title: 'Long' })
    const say = (i: number) => colloquy.conversations.addEvent(id, { role: 'user', content: `line ${i}` })
    await Promise.all(Array.from({ length: 3000 }, (_, i) => say(i)))
    return { colloquy, store, id, say }
  }

  it.each(['server', 'file'])(
    '[P1] by kill -9 goes on where it was, and nothing of it is seen before (%s)',
    async kind => {
      const { colloquy, store } = await large()
      await colloquy.close()
      const target = kind === 'server' ? await freshServer() : freshFile()
      const file = fileURLToPath(new URL('../../contract/processes/copy.mjs', import.meta.url))
      const child = spawn(process.execPath, [file, store, target], { stdio: ['ignore', 'pipe', 'inherit'] })
      for await (const line of createInterface({ input: child.stdout })) {
        if (line === 'copying 1000') child.kill('SIGKILL')
      }
      expect(await storeStatus(target)).toMatchObject({ projects: [], unfinishedCopies: ['shop'] })
      const half = await openedAt(target)
      expect(await half.projects()).toEqual([])
      expect((await half.verify({ allProjects: true })).damages).toEqual([])
      await half.close()
      const [copied] = await copyStore({ from: store, to: target })
      expect(copied!.resumedAt).toBeGreaterThanOrEqual(1000)
      expect(copied!.events).toBe(3001)
      expect(await readAll(target)).toEqual(await readAll(store))
      expect(await storeStatus(target)).toMatchObject({ unfinishedCopies: [] })
      // Once more changes nothing.
      expect(await copyStore({ from: store, to: target })).toMatchObject([{ wasThere: true }])
    },
  )

  it.each(['server', 'file'])('takes what came since, and begins again when something was erased (%s)', async kind => {
    const { colloquy, store, say } = await large()
    const target = kind === 'server' ? await freshServer() : freshFile()
    const stop = () =>
      copyStore({
        from: store,
        to: target,
        onProgress({ done }) {
          if (done >= 1000) throw new Error('enough')
        },
      })
    expect(await errorOf(stop)).toMatchObject({ message: 'enough' })
    const later = await say(3000)
    expect(await errorOf(stop)).toMatchObject({ message: 'enough' })
    const [first] = await colloquy.conversations.getMessages(later.conversationId, { after: 0, limit: 1 })
    await colloquy.conversations.erase(first!.id)
    const [copied] = await copyStore({ from: store, to: target })
    expect(copied).toMatchObject({ resumedAt: 0, events: 3003, damages: { from: [], to: [] } })
    expect((await (await openedAt(target)).verify({ allProjects: true })).damages).toEqual([])
  })
})

describe('a target', () => {
  it('that is the source under another name is refused', async () => {
    const { store } = await filledStore()
    const file = store.replace('sqlite:', '')
    linkSync(file, `${file}-same`)
    for (const to of [store, `sqlite:${dirname(file)}/./${basename(file)}`, `sqlite:${file}-same`]) {
      await expect(copyStore({ from: store, to })).rejects.toMatchObject({
        code: 'store/unusable',
        message: 'A store cannot be copied into itself.',
      })
    }
  })

  it.each(['server', 'file'])('that has data of its own for a project is refused, with what to do (%s)', async kind => {
    const { store } = await filledStore()
    const target = kind === 'server' ? await freshServer() : freshFile()
    const other = await openedAt(target)
    await other.conversations.createConversation({ title: 'Its own' })
    await other.close()
    const before = await readAll(target)
    const error = await errorOf(() => copyStore({ from: store, to: target, projects: ['shop'] }))
    expect(error).toBeInstanceOf(IllegalState)
    expect(String(error)).toContain('name another target, or copy other projects only')
    expect(await readAll(target)).toEqual(before)
    // Other projects can be added to it.
    expect(await copyStore({ from: store, to: target, projects: ['bank'] })).toMatchObject([{ project: 'bank' }])
    expect(await readAll(target)).toEqual(before)
  })

  it.each(['server', 'file'])(
    'where the project is known but empty takes it; who had it open goes on (%s)',
    async kind => {
      const { store, dev } = await filledStore()
      const target = kind === 'server' ? await freshServer() : freshFile()
      const waiting = await openedAt(target)
      await waiting.maintain()
      await copyStore({ from: store, to: target, projects: ['shop'] })
      await waiting.conversations.createConversation({ title: 'New' })
      await waiting.sessions.addMessage(dev, { role: 'user', content: 'here' })
      expect((await waiting.verify()).damages).toEqual([])
    },
  )

  it('with an unfinished copy from elsewhere is refused, and begins anew when told to', async () => {
    const [one, two, target] = [await filledStore(), await filledStore(), await freshServer()]
    const stop = () => {
      throw new Error('enough')
    }
    await errorOf(() => copyStore({ from: one.store, to: target, projects: ['shop'], onProgress: stop }))
    const error = await errorOf(() => copyStore({ from: two.store, to: target, projects: ['shop'] }))
    expect(String(error)).toContain('--restart')
    await copyStore({ from: two.store, to: target, projects: ['shop'], restart: true })
    expect(await readAll(target)).toEqual(await readAll(two.store))
  })

  it('is not the source; a project that is not there is named', async () => {
    const { store } = await filledStore()
    expect(await errorOf(() => copyStore({ from: store, to: store }))).toBeInstanceOf(StoreUnusable)
    const error = await errorOf(() => copyStore({ from: store, to: freshFile(), projects: ['nowhere'] }))
    expect(String(error)).toContain('It has: bank, shop.')
  })
})

describe('colloquy store', () => {
  it('copies, says what it did, and tells the status of both', async () => {
    const { store } = await filledStore()
    const server = await freshServer()
    const copied = await runCli(['store', 'copy', store, server])
    expect(copied.exitCode).toBe(0)
    expect(copied.stdout).toMatch(/shop copied: 4 conversations, \d+ events, 1 key\.\n {2}both sides read the same/)
    const status = (await runCli(['store', 'status', server, '--json'])).json()
    expect(status).toMatchObject({ kind: 'postgres', projects: [{ project: 'bank' }, { project: 'shop' }] })
    expect(status.projects).toEqual((await runCli(['store', 'status', store, '--json'])).json().projects)
    expect((await runCli(['store', 'status', store])).stdout).toContain('up to date')
    const withPassword = server.replace('postgres@', 'postgres:swordfish@')
    const missing = await runCli(['show', 'nope', '--store', withPassword, '--project', 'shop', '--json'])
    expect(missing.error()).toMatchObject({ code: 'not-found', facts: { store: expect.stringContaining(':***@') } })
    expect(missing.stderr).not.toContain('swordfish')
    const again = await runCli(['store', 'copy', store, server, '--project', 'shop', '--json'])
    expect(again.json()).toMatchObject({ copied: [{ project: 'shop', wasThere: true }] })
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
