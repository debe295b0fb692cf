/** The contract of upkeep: verify, erase, purge, restore and expiry. See `src/log/upkeep.ts`. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ConversationPurged, IllegalState, KeyReused, NotFound, StoreClosed, VersionConflict } from '../errors.ts'
import type { ArchivePlace } from '../log/archive-place.ts'
import type { ConversationEvent } from '../log/events/event.ts'
import type { Part } from '../log/events/part.ts'
import type { RecordedEvent } from '../log/events/recorded-event.ts'
import type { StoreCalls } from '../log/store.ts'
import { failingArchives, memoryArchives } from './archives.ts'
import {
  asyncItems,
  conversationCreated,
  errorOf,
  freshName,
  linesOf,
  messageAdded,
  nextEvents,
  origin,
  proposal,
  sessionCreated,
  textsIn,
} from './builders.ts'

type Copies = NonNullable<Parameters<StoreCalls['erase']>[0]['copies']>

import type { OpenStore } from './store-under-test.ts'

const project = 'shop'
const hour = 3_600_000
const largePart: Part = { type: 'text', text: 'large '.repeat(60_000) }

export function describeUpkeep(name: string, open: OpenStore): void {
  describe(`upkeep on ${name}`, () => {
    describeVerify(open)
    describeRepair(open)
    describeErase(open)
    describeErasedCopies(open)
    describePurge(open)
    describeRefusedPurge(open)
    describeRestore(open)
    describeRefusedRestore(open)
    describeExport(open)
    describeDue(open)
    describeDueConversations(open)
  })
}

function describeVerify(open: OpenStore): void {
  describe('verify', () => {
    it('verify finds an empty store clean', async () => {
      const { store } = await open()
      expect(await store.verify()).toEqual({ conversations: 0, events: 0, damages: [], clean: true })
    })

    it('verify counts what it checked, of one project or of all, and reports its progress', async () => {
      const { store } = await open()
      await store.append(proposal('a', [conversationCreated(), messageAdded('x')]))
      await store.append(proposal('b', conversationCreated()))
      await store.append(proposal('c', conversationCreated(), { project: 'bank' }))
      const progress: number[] = []
      const whole = await store.verify({ onProgress: done => progress.push(done) })
      expect(whole).toMatchObject({ conversations: 3, events: 4, clean: true })
      expect(await store.verify({ project: 'bank' })).toMatchObject({ conversations: 1, events: 1, clean: true })
      expect(progress.at(-1)).toBe(4)
    })

    it('[P13] verify finds the store clean after any writes, through two handles', async () => {
      const { store, another } = await open()
      const handles = [store, await another()]
      await fc.assert(
        fc.asyncProperty(fc.array(work, { minLength: 1, maxLength: 25 }), async steps => {
          const place = memoryArchives()
          const scope = freshName('project')
          const done = new Set<string>()
          for (const [index, one] of steps.entries()) await doWork(handles[index % 2]!, { scope, place, done }, one)
          const { damages } = await store.verify({ project: scope })
          expect(damages).toEqual([])
        }),
        { numRuns: 40 },
      )
    })
  })
}

const work = fc.record({
  what: fc.constantFrom('say', 'say', 'say', 'say large', 'join', 'clear', 'annotate', 'erase', 'purge', 'restore'),
  conversation: fc.constantFrom('a', 'b', 'c'),
  who: fc.constantFrom('s', 't'),
})

/** Does a piece of work as well as it can be done: what does not fit the state of things is refused, or skipped. */
async function doWork(
  store: StoreCalls,
  { scope, place, done }: { scope: string; place: ReturnType<typeof memoryArchives>; done: Set<string> },
  { what, conversation, who }: typeof work extends fc.Arbitrary<infer W> ? W : never,
): Promise<void> {
  const write = (...events: Parameters<typeof proposal>[1][]) =>
    store.append(proposal(conversation, events.flat() as never, { project: scope }))
  const purged = (await store.purges(scope)).find(one => one.conversationId === conversation)
  if (!purged && !(await store.conversation(scope, conversation))) {
    await write(conversationCreated({ workItem: { type: 'bead', beadId: conversation } }))
  }
  const sessionId = `${conversation} ${who}`
  const hasSession = async () => (await store.session(scope, sessionId)) !== undefined
  if (what === 'restore') {
    if (purged) await store.restore({ project: scope, lines: place.read(purged.archive), origin })
    return
  }
  if (purged) return
  switch (what) {
    case 'say':
      await write(
        messageAdded('x', { sessionId, audience: { to: 'session', sessionId }, usage: { input: 3, output: 4 } }),
      )
      return
    case 'say large':
      await write(messageAdded('', { parts: [largePart] }))
      return
    case 'join':
      if (!(await hasSession())) await write(sessionCreated(sessionId))
      return
    case 'clear':
      if (await hasSession()) await write({ type: 'session.cleared', sessionId })
      return
    case 'annotate':
      await write({ type: 'conversation.annotated', title: freshName('title'), metadata: { [who]: null, x: [1] } })
      return
    case 'erase': {
      const said_ = (await store.read({ project: scope, conversationId: conversation, backwards: true })).find(
        ({ event }) => event.type === 'message.added' && !done.has(event.messageId),
      )
      if (said_?.event.type !== 'message.added') return
      done.add(said_.event.messageId)
      await store.erase({ project: scope, messageId: said_.event.messageId, origin })
      return
    }
    case 'purge':
      await store.purge({ project: scope, conversationId: conversation, to: place, origin })
      return
    default:
      throw new Error(`no such work: ${what}`)
  }
}

async function storeWithSecret(open: OpenStore) {
  const opened = await open()
  const secret = messageAdded('the secret is xylophone')
  await opened.store.append(proposal('c', [conversationCreated(), messageAdded('hello'), secret, messageAdded('bye')]))
  return { ...opened, store: opened.store, secret }
}

function describeRepair(open: OpenStore): void {
  describe('repair, where a store has it', () => {
    it('repair ends with the error that its progress callback throws, and harms no other caller', async () => {
      const { store } = await open()
      await store.append(proposal('c', [conversationCreated(), messageAdded('one')]))
      const onProgress = () => {
        throw new Error('out of paper')
      }
      for (const work of [() => store.verify({ onProgress }), () => store.repair!({ onProgress })]) {
        expect(await errorOf(work)).toMatchObject({ message: 'out of paper' })
      }
      expect(await store.verify()).toMatchObject({ clean: true, events: 2 })
    })

    it('[P13] repair finds nothing to do on a whole store, changes nothing in the log, and leaves all of it searchable', async () => {
      const { store } = await open()
      if (!store.repair) return
      await store.append(
        proposal('c', [conversationCreated(), messageAdded('apple'), sessionCreated('s'), messageAdded('apple pie')]),
      )
      await store.append(
        proposal('branch', [
          conversationCreated({ branchOf: { conversationId: 'c', version: 2 } }),
          messageAdded('apple tart'),
        ]),
      )
      await store.append(proposal('c', [conversationCreated(), messageAdded('elsewhere')], { project: 'bank' }))
      const before = [await allOf(store, 'c'), await allOf(store, 'branch'), await store.conversation(project, 'c')]
      const steps: number[] = []
      const report = await store.repair({ project, onProgress: done => steps.push(done) })
      expect(report.heads).toEqual([])
      // One index for the whole file, or one for each project.
      expect(report.indexed).toBeGreaterThanOrEqual(3)
      expect(steps.at(-1)).toBe(6)
      expect([await allOf(store, 'c'), await allOf(store, 'branch'), await store.conversation(project, 'c')]).toEqual(
        before,
      )
      expect(await store.search({ project, text: 'apple' })).toHaveLength(3)
      expect((await store.verify()).damages).toEqual([])
    })
  })
}

function describeErase(open: OpenStore): void {
  describe('erase', () => {
    it('[P4] erase removes the content, keeps the place, and is recorded itself', async () => {
      const { store, secret } = await storeWithSecret(open)
      const erased = await store.erase({ project, messageId: secret.messageId, reason: 'asked to', origin })
      expect(erased).toEqual({ conversationId: 'c', version: 3, archives: [] })
      const events = await allOf(store, 'c')
      expect(events[2]?.event).toEqual({
        type: 'erased',
        storedType: 'message.added',
        messageId: secret.messageId,
      })
      expect(events[4]).toMatchObject({
        version: 5,
        ...origin,
        event: { type: 'message.erased', messageId: secret.messageId, version: 3, reason: 'asked to' },
      })
      expect(JSON.stringify(events)).not.toContain('xylophone')
    })

    it('[P4][P13] erase leaves the hash chain as it was, and provable', async () => {
      const { store, secret, reopen } = await storeWithSecret(open)
      const before = (await allOf(store, 'c')).map(event => event.hash)
      await store.erase({ project, messageId: secret.messageId, origin })
      const reopened = await reopen()
      expect((await allOf(reopened, 'c')).map(event => event.hash).slice(0, 4)).toEqual(before)
      expect(await reopened.verify()).toMatchObject({ clean: true, events: 5 })
    })

    it('[P4] the words of an erased message are no longer found', async () => {
      const { store, secret } = await storeWithSecret(open)
      expect(await store.search({ project, text: 'xylophone' })).toHaveLength(1)
      await store.erase({ project, messageId: secret.messageId, origin })
      expect(await store.search({ project, text: 'xylophone' })).toEqual([])
      expect(await store.search({ project, text: 'hello' })).toHaveLength(1)
    })

    it('[P4] a subscriber that comes after an erase does not get the content', async () => {
      const { store, secret } = await storeWithSecret(open)
      const early = store.subscribe({ project, from: 'start' })
      await store.erase({ project, messageId: secret.messageId, origin })
      for (const events of [early, store.subscribe({ project, from: 'start' })]) {
        expect(JSON.stringify(await nextEvents(events, 5))).not.toContain('xylophone')
      }
    })

    it('[P4] an erased message that waits for readers in memory is erased there too', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const slow = store.subscribe({ project, from: 'now' })
      const secret = messageAdded('xylophone')
      await store.append(proposal('c', secret))
      await store.erase({ project, messageId: secret.messageId, origin })
      expect(JSON.stringify(await nextEvents(slow, 2))).not.toContain('xylophone')
    })

    it('erasing an unknown message, or one of another project, is refused as not found', async () => {
      const { store, secret } = await storeWithSecret(open)
      const erase = (scope: string, messageId: string) => store.erase({ project: scope, messageId, origin })
      expect(await errorOf(() => erase(project, 'none'))).toBeInstanceOf(NotFound)
      expect(await errorOf(() => erase('bank', secret.messageId))).toBeInstanceOf(NotFound)
      expect(textsIn(await allOf(store, 'c'))).toContain('the secret is xylophone')
    })

    it('a message cannot be erased twice', async () => {
      const { store, secret } = await storeWithSecret(open)
      await store.erase({ project, messageId: secret.messageId, origin })
      const twice = await errorOf(() => store.erase({ project, messageId: secret.messageId, origin }))
      expect(twice).toBeInstanceOf(IllegalState)
      expect(await allOf(store, 'c')).toHaveLength(5)
    })
  })
}

function describeErasedCopies(open: OpenStore): void {
  describe('erase', () => {
    it('[P4] erase names the archives that may still hold the content', async () => {
      const { store, secret } = await storeWithSecret(open)
      const place = memoryArchives()
      const { archive } = await store.purge({ project, conversationId: 'c', to: place, origin })
      await store.restore({ project, lines: place.read(archive), origin })
      const { archives } = await store.erase({ project, messageId: secret.messageId, origin })
      expect(archives).toEqual([archive])
    })

    it('[P3] a key whose message was erased still returns its place, without the content', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const once = { key: 'k', digest: 'd' }
      const secret = messageAdded('xylophone')
      await store.append(proposal('c', secret, { once }))
      await store.erase({ project, messageId: secret.messageId, origin })
      const repeated = await store.append(proposal('c', secret, { once }))
      expect(repeated).toMatchObject({ replayed: true, events: [{ version: 2, event: { type: 'erased' } }] })
    })

    it('[P4] erase rewrites facts that repeat the content, provably, or nothing if another came meanwhile', async () => {
      const { store, reopen } = await open()
      const secret = messageAdded('xylophone')
      await store.append(
        proposal('c', [
          conversationCreated(),
          sessionCreated('s'),
          secret,
          checkpointTaken('s', 'It is about a xylophone'),
        ]),
      )
      await store.append(proposal('c', checkpointTaken('s', 'Still about a xylophone')))
      const anew = (version: number) => ({ version, event: checkpointTaken('s', 'It is about music') })
      const erase = (copies: Copies) => store.erase({ project, messageId: secret.messageId, origin, copies })
      expect(await errorOf(() => erase({ upTo: 4, facts: [anew(4)] }))).toBeInstanceOf(VersionConflict)
      expect(JSON.stringify(await allOf(store, 'c')).match(/xylophone/g)).toHaveLength(3)

      await erase({ upTo: 5, facts: [anew(4), anew(5)] })
      const reopened = await reopen()
      expect(JSON.stringify(await allOf(reopened, 'c'))).not.toContain('xylophone')
      expect((await reopened.session(project, 's'))?.checkpoint).toMatchObject({ version: 5 })
      expect((await reopened.verify()).damages).toEqual([])
      const to = memoryArchives()
      const { archive } = await reopened.purge({ project, conversationId: 'c', to, origin })
      await reopened.restore({ project, lines: to.read(archive), origin })
      expect((await reopened.verify()).damages).toEqual([])
      // Without the fact that proves it, it is a change like any other.
      await reopened.purge({ project, conversationId: 'c', to, origin })
      const cut = [...to.files.get(archive)!]
      const [heading, end] = [JSON.parse(cut[0]!), JSON.parse(cut.at(-1)!)]
      const lines = [JSON.stringify({ ...heading, events: 5 }), ...cut.slice(1, 6)]
      const hash = (JSON.parse(cut[5]!) as { hash: string }).hash
      const without = asyncItems([...lines, JSON.stringify({ ...end, events: 5, hash })])
      expect(await errorOf(() => reopened.restore({ project, lines: without, origin }))).toBeInstanceOf(IllegalState)
    })

    it('[P4] erase removes the digest of the call from its key, and only that one', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const secret = messageAdded('PIN 4711')
      await store.append(proposal('c', messageAdded('before'), { once: { key: 'other', digest: 'b' } }))
      await store.append(proposal('c', secret, { once: { key: 'k', digest: 'd' } }))
      await store.erase({ project, messageId: secret.messageId, origin })
      // A guess gets the same answer, right or wrong.
      for (const digest of ['d', 'e']) {
        expect(await store.append(proposal('c', secret, { once: { key: 'k', digest } }))).toMatchObject({
          replayed: true,
        })
      }
      const other = await errorOf(() => store.append(proposal('c', secret, { once: { key: 'other', digest: 'e' } })))
      expect(other).toBeInstanceOf(KeyReused)
    })
  })
}

function describePurge(open: OpenStore): void {
  describe('purge', () => {
    it('[P4] purge writes an archive first, then removes all of the conversation', async () => {
      const { store, clock } = await open()
      await store.append(
        proposal('c', [
          conversationCreated(),
          sessionCreated('s'),
          messageAdded('words'),
          messageAdded('', { parts: [largePart] }),
        ]),
      )
      await store.append(
        proposal('kept', [conversationCreated(), messageAdded('words'), messageAdded('', { parts: [largePart] })]),
      )
      const place = memoryArchives()
      const purged = await store.purge({ project, conversationId: 'c', to: place, reason: 'over', origin })

      expect(purged).toEqual({ conversationId: 'c', events: 4, archive: [...place.files.keys()][0] })
      expect(await store.conversation(project, 'c')).toBeUndefined()
      expect(await store.session(project, 's')).toBeUndefined()
      expect(await allOf(store, 'c')).toEqual([])
      expect((await store.search({ project, text: 'words' })).map(hit => hit.conversationId)).toEqual(['kept'])
      expect(await store.purges(project)).toEqual([
        { conversationId: 'c', archive: purged.archive, at: new Date(clock.now).toISOString(), events: 4 },
      ])
      const [, , large] = await allOf(store, 'kept')
      expect(large?.event).toMatchObject({ parts: [largePart] })
      expect((await store.verify()).damages).toEqual([])
    })

    it.each([0, 1, 3])(
      '[P4] purge is refused when the archive fails after %i lines: nothing is removed',
      async linesTaken => {
        const { store } = await open()
        await store.append(proposal('c', [conversationCreated(), sessionCreated('s'), messageAdded('words')]))
        const before = await allOf(store, 'c')
        const error = await errorOf(() =>
          store.purge({ project, conversationId: 'c', to: failingArchives(linesTaken), origin }),
        )
        expect(error).toMatchObject({ message: 'no room for archives' })
        expect(await allOf(store, 'c')).toEqual(before)
        expect(await store.purges(project)).toEqual([])
        expect(await store.search({ project, text: 'words' })).toHaveLength(1)
        await store.append(proposal('c', messageAdded('more')))
        expect((await store.verify()).damages).toEqual([])
      },
    )

    it('[P4] purge removes content also from readers of another process that have not come to it yet', async () => {
      const { store, another } = await open()
      const other = await another()
      await store.append(proposal('kept', conversationCreated()))
      const behind = other.subscribe({ project, from: 'start' })
      const ahead = other.subscribe({ project, from: 'start' })
      const upTo = async (text: string) => {
        while (!JSON.stringify(await ahead.next()).includes(text));
      }
      // One that waits at the end has what comes read into memory, for all.
      for (const text of ['one', 'two', 'three']) {
        const heard = upTo(text)
        await store.append(proposal('kept', messageAdded(text)))
        await heard
      }
      await nextEvents(behind, 4)
      const heard = upTo('last of it')
      await store.append(proposal('c', [conversationCreated(), messageAdded('xylophone'), messageAdded('last of it')]))
      await heard
      await store.purge({ project, conversationId: 'c', to: memoryArchives(), origin })
      await store.append(proposal('kept', messageAdded('behind it')))
      await upTo('behind it')
      expect(textsIn(await nextEvents(behind, 1))).toEqual(['behind it'])
    })
  })
}

function describeRefusedPurge(open: OpenStore): void {
  describe('purge', () => {
    it('[P4] purge is refused when a message was added while the archive was written', async () => {
      const { store, another } = await open()
      const other = await another()
      await store.append(proposal('c', [conversationCreated(), messageAdded('words')]))
      const removed: string[] = []
      const interrupted: ArchivePlace = {
        async write(_name, lines) {
          await linesOf(lines)
          await other.append(proposal('c', messageAdded('at the last moment')))
          return 'archive'
        },
        async remove(address) {
          removed.push(address)
        },
        read: () => asyncItems([]),
      }
      const error = await errorOf(() => store.purge({ project, conversationId: 'c', to: interrupted, origin }))
      expect(error).toBeInstanceOf(IllegalState)
      // No record names it: a later erase could not tell of this copy.
      expect(removed).toEqual(['archive'])
      expect(textsIn(await allOf(store, 'c'))).toEqual(['words', 'at the last moment'])
    })

    it('[P4] purge leaves no archive behind when the store was closed while it was written', async () => {
      const { store, another } = await open()
      const closing = await another()
      await store.append(proposal('c', [conversationCreated(), messageAdded('words')]))
      const to = memoryArchives()
      const slowArchives: ArchivePlace = {
        ...to,
        async write(name, lines) {
          const archive = await to.write(name, lines)
          await closing.close()
          return archive
        },
      }
      const error = await errorOf(() => closing.purge({ project, conversationId: 'c', to: slowArchives, origin }))
      expect(error).toBeInstanceOf(StoreClosed)
      expect([...to.files.keys()]).toEqual([])
      expect(textsIn(await allOf(store, 'c'))).toEqual(['words'])
    })

    it('purging an unknown conversation, or one of another project, is refused as not found; a purged one says so', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const purge = (scope: string, conversationId: string) =>
        store.purge({ project: scope, conversationId, to: memoryArchives(), origin })
      expect(await errorOf(() => purge(project, 'none'))).toBeInstanceOf(NotFound)
      expect(await errorOf(() => purge('bank', 'c'))).toBeInstanceOf(NotFound)
      await purge(project, 'c')
      expect(await errorOf(() => purge(project, 'c'))).toBeInstanceOf(ConversationPurged)
    })
  })
}

async function storeAfterPurge(open: OpenStore) {
  const opened = await open()
  const { store } = opened
  const secret = messageAdded('erased before')
  await store.append(
    proposal('c', [
      conversationCreated({ metadata: { a: 1 } }),
      sessionCreated('s'),
      messageAdded('words', { sessionId: 's' }),
      secret,
    ]),
  )
  await store.append(
    proposal('c', [
      messageAdded('', { parts: [largePart] }),
      messageAdded('a\0\ud800'),
      { type: 'session.cleared', sessionId: 's' },
    ]),
  )
  await store.append(proposal('c', messageAdded('last'), { origin: { ...origin, requestId: 'r' } }))
  await store.erase({ project, messageId: secret.messageId, origin })
  const events = await allOf(store, 'c')
  const heads = { conversation: await store.conversation(project, 'c'), session: await store.session(project, 's') }
  const place = memoryArchives()
  const { archive } = await store.purge({ project, conversationId: 'c', to: place, origin })
  return { ...opened, store, events, heads, lines: place.files.get(archive)! }
}

function describeRestore(open: OpenStore): void {
  describe('restore', () => {
    it('[P3] [P4] restoring an archive from before the last purge is refused, and the newest one named', async () => {
      const { store } = await open()
      const to = memoryArchives()
      const purge = () => store.purge({ project, conversationId: 'c', to, origin })
      const restore = (archive: string) => store.restore({ project, lines: to.read(archive), origin })
      await store.append(proposal('c', [conversationCreated(), messageAdded('one')]))
      const first = await purge()
      await restore(first.archive)
      const once = { key: 'k', digest: 'd' }
      const two = await store.append(proposal('c', messageAdded('two'), { once }))
      const second = await purge()
      const refused = await errorOf(() => restore(first.archive))
      expect(refused).toBeInstanceOf(IllegalState)
      expect((refused as IllegalState).message).toContain(second.archive)
      expect(await store.conversation(project, 'c')).toBeUndefined()
      await restore(second.archive)
      expect(await store.append(proposal('c', messageAdded('two'), { once }))).toMatchObject({
        replayed: true,
        events: [{ version: two.events[0]!.version }],
      })
    })

    it('[P4] restore brings back identical events, hashes and heads', async () => {
      const { store, events, heads, lines, another } = await storeAfterPurge(open)
      const head = await store.restore({ project, lines: asyncItems(lines), origin })
      expect(head).toEqual(heads.conversation)
      for (const handle of [store, await another()]) {
        expect((await allOf(handle, 'c')).map(withoutPosition)).toEqual(events.map(withoutPosition))
        expect(await handle.conversation(project, 'c')).toEqual(heads.conversation)
        expect(await handle.session(project, 's')).toEqual(heads.session)
        expect(await handle.purges(project)).toEqual([])
        expect((await handle.verify()).damages).toEqual([])
      }
    })

    it('[P4] a restored conversation goes on where it was, found and searchable as before', async () => {
      const { store, events, lines } = await storeAfterPurge(open)
      await store.restore({ project, lines: asyncItems(lines), origin })
      const { events: more } = await store.append(proposal('c', messageAdded('and on')))
      expect(more[0]?.version).toBe(events.length + 1)
      expect(await store.search({ project, text: 'words' })).toHaveLength(1)
      expect(await store.search({ project, text: 'erased' })).toEqual([])
      expect((await store.verify()).damages).toEqual([])
    })

    it('[P2] restored events get new positions, never ones that were used', async () => {
      const { store, events, lines } = await storeAfterPurge(open)
      const between = await store.append(proposal('other', conversationCreated()))
      await store.restore({ project, lines: asyncItems(lines), origin })
      const positions = [...events, ...between.events, ...(await allOf(store, 'c'))].map(event => event.position)
      expect(new Set(positions).size).toBe(positions.length)
    })

    it('restore brings an archive into another store, byte for byte', async () => {
      const { events, lines } = await storeAfterPurge(open)
      const { store: other } = await open()
      await other.restore({ project, lines: asyncItems(lines), origin })
      expect((await allOf(other, 'c')).map(event => event.hash)).toEqual(events.map(event => event.hash))
      expect(await linesOf(other.export({ project, conversationId: 'c' }))).toEqual(lines)
    })

    it('[P4] a restored conversation can be purged and restored again, at once', async () => {
      const { store, events, lines } = await storeAfterPurge(open)
      await store.append(proposal('other', conversationCreated()))
      await store.restore({ project, lines: asyncItems(lines), origin })
      const place = memoryArchives()
      const { archive } = await store.purge({ project, conversationId: 'c', to: place, origin })
      expect(place.files.get(archive)).toEqual(lines)
      await store.restore({ project, lines: place.read(archive), origin })
      expect((await allOf(store, 'c')).map(event => event.hash)).toEqual(events.map(event => event.hash))
    })

    it('[P4] every archive of a conversation that is purged over and over is whole', async () => {
      const { store } = await open()
      await store.append(proposal('c', [conversationCreated(), messageAdded('words')]))
      await store.append(proposal('other', conversationCreated()))
      const archives: string[][] = []
      for (let round = 0; round < 3; round++) {
        const place = memoryArchives()
        const { archive } = await store.purge({ project, conversationId: 'c', to: place, origin })
        archives.push(place.files.get(archive)!)
        await store.restore({ project, lines: place.read(archive), origin })
      }
      expect(archives[1]).toEqual(archives[0])
      expect(archives[2]).toEqual(archives[0])
      expect(textsIn(await allOf(store, 'c'))).toEqual(['words'])
    })
  })
}

function describeRefusedRestore(open: OpenStore): void {
  describe('restore', () => {
    it('restore is refused when the conversation exists, or its work item has another', async () => {
      const { store, lines } = await storeAfterPurge(open)
      await store.restore({ project, lines: asyncItems(lines), origin })
      expect(await errorOf(() => store.restore({ project, lines: asyncItems(lines), origin }))).toBeInstanceOf(
        IllegalState,
      )

      const { workItem } = (await store.conversation(project, 'c'))!.info
      const { store: taken } = await open()
      await taken.append(proposal('rival', conversationCreated({ workItem })))
      expect(await errorOf(() => taken.restore({ project, lines: asyncItems(lines), origin }))).toBeInstanceOf(
        IllegalState,
      )
      expect(await taken.conversation(project, 'c')).toBeUndefined()
    })

    it('[P12] restore is refused in another project', async () => {
      const { store, lines } = await storeAfterPurge(open)
      const error = await errorOf(() => store.restore({ project: 'bank', lines: asyncItems(lines), origin }))
      expect(error).toBeInstanceOf(IllegalState)
      expect(await store.projects()).not.toContain('bank')
    })

    const harm: Record<string, (lines: string[]) => string[]> = {
      'was cut off': lines => lines.slice(0, -1),
      'is empty': () => [],
      'has no heading': lines => lines.slice(1),
      'lacks an event': lines => lines.filter(line => !line.includes('"version":3')),
      'has its events in another order': ([heading, one, two, ...rest]) => [heading!, two!, one!, ...rest],
      'has a changed content': lines => lines.map(line => line.replace('words', 'wards')),
      'has a changed author': lines => lines.map(line => line.replace('"actor":"holder"', '"actor":"eve"')),
      'lacks a large content': lines => lines.filter(line => !line.startsWith('{"blob"')),
      'has a changed large content': lines => lines.map(line => line.replace('large large', 'large enough')),
      'is not JSON': lines => lines.map((line, index) => (index === 2 ? line.slice(5) : line)),
      'is not an archive': () => ['{"some":"json"}'],
    }

    let wholeArchive: Promise<string[]> | undefined

    it.each(Object.keys(harm))('[P13] restoring an archive that %s is refused and nothing changes', async what => {
      wholeArchive ??= storeAfterPurge(open).then(({ lines }) => lines)
      const lines = await wholeArchive
      const harmed = harm[what]!(lines)
      expect(harmed).not.toEqual(lines)
      const { store } = await open()
      const error = await errorOf(() => store.restore({ project, lines: asyncItems(harmed), origin }))
      expect(error).toBeInstanceOf(IllegalState)
      expect(await store.conversation(project, 'c')).toBeUndefined()
      // And the whole one still fits.
      await store.restore({ project, lines: asyncItems(lines), origin })
      expect((await store.verify()).damages).toEqual([])
    })
  })
}

function describeExport(open: OpenStore): void {
  describe('export', () => {
    it('export gives lines that another store takes, and removes nothing', async () => {
      const { store } = await open()
      await store.append(
        proposal('c', [conversationCreated(), messageAdded('', { parts: [largePart, largePart] }), messageAdded('x')]),
      )
      const lines = await linesOf(store.export({ project, conversationId: 'c' }))
      const { store: other } = await open()
      await other.restore({ project, lines: asyncItems(lines), origin })
      expect((await allOf(other, 'c')).map(event => event.hash)).toEqual(
        (await allOf(store, 'c')).map(event => event.hash),
      )
      expect((await other.verify()).damages).toEqual([])
    })

    it('export of a long conversation that grows meanwhile gives lines that another store takes', async () => {
      const { store } = await open()
      await store.append(
        proposal('c', [conversationCreated(), ...Array.from({ length: 1500 }, () => messageAdded('x'))]),
      )
      const lines: string[] = []
      for await (const line of store.export({ project, conversationId: 'c' })) {
        if (lines.push(line) % 500 === 1) await store.append(proposal('c', messageAdded('meanwhile')))
      }
      const { store: other } = await open()
      await other.restore({ project, lines: asyncItems(lines), origin })
      expect((await allOf(other, 'c')).length).toBeGreaterThanOrEqual(1501)
      expect((await other.verify()).damages).toEqual([])
    })

    it('exporting an unknown conversation is refused as not found, a purged one says so', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      await store.purge({ project, conversationId: 'c', to: memoryArchives(), origin })
      const lines = (conversationId: string) => linesOf(store.export({ project, conversationId }))
      expect(await errorOf(() => lines('none'))).toBeInstanceOf(NotFound)
      expect(await errorOf(() => lines('c'))).toBeInstanceOf(ConversationPurged)
    })
  })
}

function ids(heads: ReadonlyArray<{ id: string }>): string[] {
  return heads.map(head => head.id).sort()
}

function describeDue(open: OpenStore): void {
  describe('what is due', () => {
    it('a session looks expired when its time without use is over', async () => {
      const { store, clock } = await open()
      const of = (id: string, expiresInMs: number | null) => sessionCreated(id, { expiresInMs })
      await store.append(
        proposal('c', [conversationCreated(), of('short', hour), of('long', 3 * hour), of('ever', null)]),
      )
      expect(await store.expiring(project, clock.now + hour - 1, 10)).toEqual([])
      expect(ids(await store.expiring(project, clock.now + hour, 10))).toEqual(['short'])
      expect(ids(await store.expiring(project, clock.now + 1000 * hour, 10))).toEqual(['long', 'short'])
      expect(await store.expiring(project, clock.now + 1000 * hour, 1)).toHaveLength(1)
      expect(await store.expiring('bank', clock.now + 1000 * hour, 10)).toEqual([])
    })

    it('a message slides the expiry of the sessions that see it, and of no other', async () => {
      const { store, clock } = await open()
      await store.append(
        proposal('c', [
          conversationCreated(),
          sessionCreated('used', { expiresInMs: hour }),
          sessionCreated('left', { expiresInMs: hour }),
        ]),
      )
      const start = clock.now
      clock.now += hour / 2
      await store.append(proposal('c', messageAdded('x', { audience: { to: 'session', sessionId: 'used' } })))
      expect(ids(await store.expiring(project, start + hour, 10))).toEqual(['left'])
      expect(ids(await store.expiring(project, start + 1.5 * hour, 10))).toEqual(['left', 'used'])
    })

    it('sessions that may have expired are listed next to those that are marked', async () => {
      const { store, clock } = await open()
      const of = (id: string, expiresInMs: number | null) => sessionCreated(id, { expiresInMs })
      await store.append(proposal('c', [conversationCreated(), of('marked', hour), of('over', hour), of('ever', null)]))
      const lastActiveAt = new Date(clock.now).toISOString()
      await store.append(proposal('c', { type: 'session.expired', sessionId: 'marked', lastActiveAt }))
      const listed = async (overdueAt?: number) =>
        ids((await store.sessions({ project, status: ['expired'], ...(overdueAt && { overdueAt }) })).items)
      expect(await listed()).toEqual(['marked'])
      expect(await listed(clock.now + hour - 1)).toEqual(['marked'])
      expect(await listed(clock.now + hour)).toEqual(['marked', 'over'])
    })

    it('an inactive session is not due again', async () => {
      const { store, clock } = await open()
      await store.append(proposal('c', [conversationCreated(), sessionCreated('s', { expiresInMs: hour })]))
      await store.append(proposal('c', { type: 'session.archived', sessionId: 's' }))
      expect(await store.expiring(project, clock.now + 10 * hour, 10)).toEqual([])
    })

    it('many sessions in use do not hide the one that is due', async () => {
      const { store, clock } = await open()
      const inUse = Array.from({ length: 10 }, (_, index) => sessionCreated(`s${index}`, { expiresInMs: hour }))
      await store.append(proposal('c', [conversationCreated(), ...inUse]))
      clock.now += 1
      await store.append(proposal('d', [conversationCreated(), sessionCreated('left', { expiresInMs: hour })]))
      clock.now += hour / 2
      await store.append(proposal('c', messageAdded('x')))
      expect(ids(await store.expiring(project, clock.now + hour / 2, 3))).toEqual(['left'])
    })
  })
}

function describeDueConversations(open: OpenStore): void {
  describe('what is due', () => {
    it('a conversation is due for the archive by completion, age or inactivity', async () => {
      const { store, clock } = await open()
      const due = async (rule: Parameters<StoreCalls['archivable']>[1]) =>
        (await store.archivable(project, rule, { limit: 10 })).items.map(head => head.info.id).sort()
      const start = clock.now
      await store.append(proposal('done', [conversationCreated(), { type: 'conversation.completed' }]))
      await store.append(proposal('old', conversationCreated()))
      await store.append(proposal('put away', [conversationCreated(), { type: 'conversation.archived' }]))
      clock.now += hour
      await store.append(proposal('old', messageAdded('still in use')))
      await store.append(proposal('young', conversationCreated()))

      expect(await due({})).toEqual([])
      expect(await due({ completed: true })).toEqual(['done'])
      expect(await due({ createdBefore: start })).toEqual(['done', 'old'])
      expect(await due({ createdBefore: start - 1 })).toEqual([])
      expect(await due({ inactiveSince: start })).toEqual(['done'])
      expect(await due({ inactiveSince: clock.now })).toEqual(['done', 'old', 'young'])
      const rule = { createdBefore: clock.now }
      const first = await store.archivable(project, rule, { limit: 2 })
      const secondPage = await store.archivable(project, rule, { limit: 2, cursor: first.next! })
      expect([...first.items, ...secondPage.items].map(head => head.info.id).sort()).toEqual(await due(rule))
      expect(secondPage).toMatchObject({ items: [{}] })
      expect(secondPage.next).toBeUndefined()
      expect(await store.archivable('bank', { completed: true }, { limit: 10 })).toEqual({ items: [] })
    })

    it('marking a session as expired is no use of its conversation, for lists and for the archive', async () => {
      const { store: kept, clock, reopen } = await open()
      let store = kept
      const start = clock.now
      await store.append(proposal('left', [conversationCreated(), sessionCreated('s', { expiresInMs: hour })]))
      await store.append(proposal('left', messageAdded('the last word')))
      const lastUse = new Date(clock.now).toISOString()
      clock.now += 2 * hour
      await store.append(proposal('used', conversationCreated()))
      clock.now += 2 * hour
      const mark = { type: 'session.expired', sessionId: 's', lastActiveAt: lastUse } as const
      await store.append(proposal('left', mark))
      expect((await store.conversation(project, 'left'))?.activeAt).toBe(lastUse)
      store = await reopen()
      expect((await store.conversation(project, 'left'))?.activeAt).toBe(lastUse)
      const { items } = await store.conversations({ project })
      expect(items.map(({ info, activeAt }) => [info.id, activeAt])).toEqual([
        ['used', new Date(start + 2 * hour).toISOString()],
        ['left', lastUse],
      ])
      const due = await store.archivable(project, { inactiveSince: start + hour }, { limit: 10 })
      expect(due.items.map(({ info }) => info.id)).toEqual(['left'])
      expect((await store.verify()).damages).toEqual([])
      await store.append(proposal('left', messageAdded('back again')))
      expect((await store.conversation(project, 'left'))?.activeAt).toBe(new Date(clock.now).toISOString())
    })

    it('a conversation is due for the sweep by time-outs, open delegations and running executions, a page at a time', async () => {
      const { store, clock } = await open()
      const start = clock.now
      const due = async (now: number, page = { limit: 10 }) => {
        const { items, next } = await store.due(project, now, page)
        return { ids: items.map(head => head.info.id), next }
      }
      const delegation = { delegationId: 'd', childId: 'x', from: 'a', to: 'b', title: 't' }
      await store.append(proposal('quiet', conversationCreated({ phase: 'chat' })))
      await store.append(proposal('slow', conversationCreated({ phase: 'chat', phaseTimeoutMs: 3 * hour })))
      await store.append(proposal('out', [conversationCreated(), { type: 'delegation.started', ...delegation }]))
      await store.append(
        proposal('busy', [conversationCreated(), { type: 'execution.started', executionId: 'e', agent: 'dev' }]),
      )
      const dueAt = new Date(start + 2 * hour).toISOString()
      const turn = { turnId: 't', number: 1, orchestrator: 'o', agents: ['dev'], reason: 'r', dueAt }
      await store.append(proposal('waiting', [conversationCreated(), { type: 'turn.started', ...turn }]))

      expect((await due(start + 60_000)).ids).toEqual(['out', 'busy'])
      expect((await due(start + 2 * hour)).ids).toEqual(['out', 'busy', 'waiting'])
      expect((await due(start + 3 * hour)).ids).toEqual(['out', 'busy', 'waiting', 'slow'])
      const first = await store.due(project, start + 3 * hour, { limit: 3 })
      const secondPage = await store.due(project, start + 3 * hour, { limit: 3, cursor: first.next! })
      expect([first.items.length, secondPage.items.map(head => head.info.id), secondPage.next]).toEqual([
        3,
        ['slow'],
        undefined,
      ])
      expect((await store.due('bank', start + 3 * hour, { limit: 10 })).items).toEqual([])

      // Completed, moved or stopped work is due no more; an execution is due also on a completed conversation.
      await store.append(proposal('slow', { type: 'phase.changed', to: 'plan' }))
      await store.append(proposal('out', { type: 'conversation.completed' }))
      await store.append(proposal('busy', { type: 'conversation.completed' }))
      expect((await due(start + 3 * hour)).ids).toEqual(['busy', 'waiting'])
    })
  })
}

/** A checkpoint that says one thing. */
function checkpointTaken(sessionId: string, text: string): Extract<ConversationEvent, { type: 'checkpoint.taken' }> {
  const item = { id: 'i', section: 'facts' as const, text, sources: [3], since: 1 }
  const carried = { openCalls: [], filesRead: [], filesChanged: [], userMessages: [] }
  const tokens = { checkpoint: 10, lastCompactionInput: 100, totalSaved: 90 }
  const range = { number: 1, base: 0, from: 1, upTo: 3, messages: 1, author: 'offline' }
  return {
    type: 'checkpoint.taken',
    sessionId,
    compactionId: 'c',
    checkpoint: { ...range, items: [item], carried, tokens },
    messages: 1,
    tokensBefore: 100,
    tokensAfter: 10,
    durationMs: 1,
  }
}

function allOf(store: StoreCalls, conversationId: string): Promise<RecordedEvent[]> {
  return store.read({ project, conversationId, limit: 100_000 })
}

function withoutPosition({ position: _, ...rest }: RecordedEvent): Omit<RecordedEvent, 'position'> {
  return rest
}
