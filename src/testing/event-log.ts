/** The contract of the event log: see `src/log/event-log.ts`. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { ColloquyError, ConversationPurged, KeyReused, NotFound, PositionUnknown, VersionConflict } from '../errors.ts'
import type { EventRange, Proposal } from '../log/event-log.ts'
import type { RecordedEvent } from '../log/events/recorded-event.ts'
import type { StoreCalls } from '../log/store.ts'
import { sessionKey } from '../log/views/session.ts'
import { archiveLines, memoryArchives } from './archives.ts'
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
import type { OpenStore } from './store-under-test.ts'

const project = 'shop'

export function describeEventLog(name: string, open: OpenStore): void {
  describe(`event log on ${name}`, () => {
    describeWrites(open)
    describeRead(open)
    describeNewer(open)
    describeProjects(open)
    describeSubscriptions(open)
    describeLateSubscribers(open)
    describeEndedSubscriptions(open)
    describePositions(open)
  })
}

/** The part about writing, for a store that has more than one way to do it. */
export function describeAppends(name: string, open: OpenStore): void {
  describe(`event log on ${name}`, () => {
    describeWrites(open)
  })
}

function describeWrites(open: OpenStore): void {
  describeAppend(open)
  describeDecisions(open)
  describeAppendedHeads(open)
  describeConcurrentAppends(open)
  describeOnce(open)
  describeKeys(open)
}

function describeAppend(open: OpenStore): void {
  describe('append', () => {
    it('append records events at the versions after the last one', async () => {
      const { store } = await open()
      const first = await store.append(proposal('c', [conversationCreated(), messageAdded('one')]))
      const second = await store.append(proposal('c', messageAdded('two')))
      expect(first.events.map(event => event.version)).toEqual([1, 2])
      expect(second.events.map(event => event.version)).toEqual([3])
      expect(second.conversation?.version).toBe(3)
    })

    it('append returns what reading returns', async () => {
      const { store } = await open()
      const appended = await store.append(
        proposal('c', [conversationCreated({ metadata: { a: [1, null] } }), sessionCreated('s'), messageAdded('one')]),
      )
      expect(await allOf(store, 'c')).toEqual(appended.events)
    })

    it('append records the actor, the channel, the request and the time', async () => {
      const { store, clock } = await open()
      const who = { actor: 'grace', channel: 'http', requestId: 'request-7' }
      const { events } = await store.append(proposal('c', conversationCreated(), { origin: who }))
      const [recorded] = await allOf(store, 'c')
      expect(events).toEqual([recorded])
      expect(recorded).toMatchObject({ ...who, at: new Date(clock.now).toISOString(), project, conversationId: 'c' })
    })

    it.each([
      ['actor', { actor: 'a\0' }],
      ['channel', { channel: '\ud800' }],
      ['requestId', { requestId: '' }],
    ])('append refuses a message whose %s cannot be kept, changing nothing', async (field, odd) => {
      const { store } = await open()
      await store.append(proposal('c', [conversationCreated(), messageAdded('one')]))
      const error = await errorOf(() =>
        store.append(proposal('c', messageAdded('two'), { origin: { ...origin, ...odd } })),
      )
      expect(error).toMatchObject({ code: 'input/invalid', facts: { field } })
      expect(await allOf(store, 'c')).toHaveLength(2)
    })

    it('append takes pinned, large, private and other events one by one, and the log is whole', async () => {
      const { store, reopen } = await open()
      await store.append(proposal('c', [conversationCreated(), sessionCreated('s'), messageAdded('one')]))
      const messages = [
        messageAdded('two'),
        messageAdded('kept', { pinned: true }),
        messageAdded('large'.repeat(100_000)),
        messageAdded('rules', { role: 'system' }),
        messageAdded('aside', { audience: { to: 'session', sessionId: 's' } }),
        messageAdded('three'),
      ]
      for (const message of messages) await store.append(proposal('c', message))
      const reopened = await reopen()
      expect((await allOf(reopened, 'c')).slice(3).map(({ event }) => event)).toEqual(messages)
      expect((await reopened.verify()).damages).toEqual([])
    })

    it('[P3] append takes the expected version and refuses any other, changing nothing', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated(), { expected: 0 }))
      await store.append(proposal('c', messageAdded('one'), { expected: 1 }))
      const before = await allOf(store, 'c')

      const tooOld = await errorOf(() => store.append(proposal('c', messageAdded('late'), { expected: 1 })))
      const tooNew = await errorOf(() => store.append(proposal('c', messageAdded('early'), { expected: 9 })))
      const notNew = await errorOf(() => store.append(proposal('c', conversationCreated(), { expected: 0 })))

      expect(tooOld).toBeInstanceOf(VersionConflict)
      expect(tooOld).toMatchObject({ expected: 1, actual: 2, status: 409 })
      expect(tooNew).toMatchObject({ expected: 9, actual: 2 })
      expect(notNew).toMatchObject({ expected: 0, actual: 2 })
      expect(await allOf(store, 'c')).toEqual(before)
    })

    it('[P3] a conversation that does not exist is at version 0', async () => {
      const { store } = await open()
      expect(await errorOf(() => store.append(proposal('none', messageAdded('x'), { expected: 3 })))).toMatchObject({
        actual: 0,
      })
      expect(await store.conversation(project, 'none')).toBeUndefined()
    })

    it('of appends that expect the same version, one wins', async () => {
      const { store, another } = await open()
      const other = await another()
      await store.append(proposal('c', conversationCreated()))
      const tried = [store, other, store, other, store].map((handle, index) =>
        handle.append(proposal('c', messageAdded(`try ${index}`), { expected: 1 })),
      )
      const outcomes = await Promise.allSettled(tried)
      const refused = outcomes.filter(outcome => outcome.status === 'rejected')
      expect(refused).toHaveLength(4)
      for (const { reason } of refused) expect(reason).toBeInstanceOf(VersionConflict)
      expect(await allOf(store, 'c')).toHaveLength(2)
    })
  })
}

function describeDecisions(open: OpenStore): void {
  describe('append', () => {
    it('a decision that throws writes nothing, and those that share its commit go on', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const [before, thrown, after] = await Promise.allSettled([
        store.append(proposal('c', messageAdded('before'))),
        store.append(
          proposal('c', () => {
            throw new TypeError('a mistake in a decision')
          }),
        ),
        store.append(proposal('c', messageAdded('after'))),
      ])
      expect([before.status, after.status]).toEqual(['fulfilled', 'fulfilled'])
      expect(thrown).toMatchObject({ status: 'rejected', reason: new TypeError('a mistake in a decision') })
      expect(textsIn(await allOf(store, 'c'))).toEqual(['before', 'after'])
      expect((await store.verify()).clean).toBe(true)
    })

    it('a decision that refuses writes nothing, not even a project', async () => {
      const { store } = await open()
      const decide = () => {
        throw new NotFound('session', 's')
      }
      expect(await errorOf(() => store.append(proposal('c', decide)))).toBeInstanceOf(NotFound)
      expect(await store.projects()).toEqual([])
      expect(await store.conversation(project, 'c')).toBeUndefined()
    })

    it('a decision for nothing writes nothing', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const appended = await store.append(proposal('c', []))
      expect(appended).toMatchObject({ events: [], replayed: false, conversation: { version: 1 } })
      expect((await store.append(proposal('new', []))).conversation).toBeUndefined()
    })

    it('all events of a proposal are recorded or none is', async () => {
      const { store } = await open()
      await store.append(proposal('c', [conversationCreated(), sessionCreated('s', { agentName: 'dev' })]))
      const position = await store.position()
      // The last of them cannot be: the agent has an active session on this work item already.
      const impossible = [messageAdded('one'), messageAdded('two'), sessionCreated('rival', { agentName: 'dev' })]
      expect(await errorOf(() => store.append(proposal('c', impossible)))).toBeInstanceOf(Error)
      expect(await allOf(store, 'c')).toHaveLength(2)
      expect(await store.position()).toBe(position)
      expect(await store.measure(wholeOf('c'))).toMatchObject({ messages: 0, tokens: 0 })

      await store.append(proposal('c', [messageAdded('three'), messageAdded('four')]))
      expect((await allOf(store, 'c')).map(event => event.version)).toEqual([1, 2, 3, 4])
      expect((await store.verify()).damages).toEqual([])
    })

    it('an append to a conversation that was not created is refused', async () => {
      const { store } = await open()
      expect(await errorOf(() => store.append(proposal('none', messageAdded('x'))))).toBeInstanceOf(NotFound)
    })

    it('append decides on the heads as they are at the moment of writing', async () => {
      const { store, another } = await open()
      const other = await another()
      await store.append(proposal('c', [conversationCreated(), sessionCreated('s')]))
      await store.read({ project, conversationId: 'c' })
      await other.append(proposal('c', [messageAdded('x'), { type: 'session.archived', sessionId: 's' }]))
      // A decision may be asked again; the last time counts.
      let received: unknown[] = []
      await store.append(
        proposal(
          'c',
          heads => {
            received = [heads.conversation?.version, heads.session?.head.status]
            return []
          },
          { session: { id: 's' } },
        ),
      )
      expect(received).toEqual([4, 'archived'])
    })
  })
}

function describeAppendedHeads(open: OpenStore): void {
  describe('append', () => {
    it('append finds the conversation by its work item, and the one a session is on', async () => {
      const { store } = await open()
      const workItem = { type: 'feature', featureId: 'login' } as const
      await store.append(proposal('first', [conversationCreated({ workItem }), sessionCreated('s')]))
      const byItem = await store.append(
        proposal('second', messageAdded('x'), { conversation: { id: 'second', workItem } }),
      )
      const bySession = await store.append(
        proposal('', messageAdded('y'), { conversation: 'of-session', session: { id: 's' } }),
      )
      expect([byItem, bySession].map(appended => appended.events[0]?.conversationId)).toEqual(['first', 'first'])
      expect(
        await errorOf(() =>
          store.append(proposal('', messageAdded('z'), { conversation: 'of-session', session: { id: 't' } })),
        ),
      ).toBeInstanceOf(NotFound)
    })

    it('a session gives its natural key to another, and gets it back, in one write each', async () => {
      const { store } = await open()
      await store.append(proposal('c', [conversationCreated(), sessionCreated('s')]))
      const key = sessionKey((await store.session(project, 's'))!)
      const active = async () => (await store.sessionByKey(project, key))?.id
      await store.append(
        proposal('c', [{ type: 'session.archived', sessionId: 's' }, sessionCreated('t', { agentName: 's' })]),
      )
      expect(await active()).toBe('t')
      await store.append(
        proposal('c', [
          { type: 'session.archived', sessionId: 't' },
          { type: 'session.reopened', sessionId: 's' },
        ]),
      )
      expect(await active()).toBe('s')
      expect((await store.verify()).damages).toEqual([])
    })

    it('append records nothing of changes that a decision makes to its heads', async () => {
      const { store } = await open()
      const joining = sessionCreated('s', { metadata: { list: [1] } })
      const appended = await store.append(proposal('a', [conversationCreated({ metadata: { list: [1] } }), joining]))
      const more = await store.append(proposal('a', messageAdded('more')))
      const heads = [(await store.conversation(project, 'a'))?.info, await store.session(project, 's')]
      for (const head of [appended.conversation?.info, appended.session, more.conversation?.info, ...heads]) {
        // They may be frozen, or copies.
        Reflect.set(head!.metadata, 'x', 1)
        Reflect.set(head!.metadata.list as number[], 1, 2)
        Reflect.set(head!.workItem, 'threadId', 'other')
      }
      await store.append(proposal('a', { type: 'conversation.annotated', metadata: { b: 2 } }))
      await store.append(proposal('a', { type: 'session.annotated', sessionId: 's', metadata: { b: 2 } }))
      expect((await store.conversation(project, 'a'))?.info.metadata).toEqual({ list: [1], b: 2 })
      expect((await store.session(project, 's'))?.metadata).toEqual({ list: [1], b: 2 })
      expect(await store.verify()).toMatchObject({ clean: true })
    })
  })
}

function describeConcurrentAppends(open: OpenStore): void {
  describe('append', () => {
    it('[P2] concurrent appends through two handles get versions without gaps', async () => {
      const { store, another } = await open()
      const other = await another()
      await store.append(proposal('c', conversationCreated()))
      const writers = Array.from({ length: 60 }, (_, index) =>
        (index % 2 === 0 ? store : other).append(
          proposal('c', [messageAdded(`${index} a`), messageAdded(`${index} b`)]),
        ),
      )
      const appended = await Promise.all(writers)
      const events = await allOf(store, 'c')
      expect(events.map(event => event.version)).toEqual(Array.from({ length: 121 }, (_, index) => index + 1))
      for (const { events: pair } of appended) expect(pair[1]!.version).toBe(pair[0]!.version + 1)
      expect((await store.verify()).damages).toEqual([])
    })

    it('[P2] a handle that read what another wrote goes on writing after it', async () => {
      const { store, another } = await open()
      const other = await another()
      await store.append(proposal('c', conversationCreated()))
      await other.append(proposal('c', messageAdded('from the other')))
      expect(await allOf(store, 'c')).toHaveLength(2)
      await store.append(proposal('c', messageAdded('from this one')))
      expect(textsIn(await allOf(other, 'c'))).toEqual(['from the other', 'from this one'])
    })

    it('an append to a purged conversation is refused as such, until it is restored or created again', async () => {
      const { store } = await open()
      const place = memoryArchives()
      const add: Proposal['decide'] = heads => {
        if (!heads.conversation) throw new NotFound('conversation', 'c')
        return [messageAdded('a')]
      }
      const refused = async (more: Partial<Proposal> = {}) => {
        const error = await errorOf(() => store.append(proposal('c', add, more)))
        return error instanceof ColloquyError && error.code
      }
      expect(await refused()).toBe('not-found')
      await store.append(proposal('c', conversationCreated()))
      const { archive } = await store.purge({ project, conversationId: 'c', to: place, origin })
      expect([
        await refused(),
        await refused({ expected: 1 }),
        await refused({ once: { key: 'k', digest: 'd' } }),
      ]).toEqual(Array(3).fill('conversation/purged'))
      expect(await refused({ project: 'bank' })).toBe('not-found')
      await store.restore({ project, lines: place.read(archive), origin })
      expect(await refused()).toBe(false)
      expect(await refused({ expected: 1 })).toBe('log/version-conflict')
    })

    it('[P2] versions and order do not depend on the clock', async () => {
      const { store, clock } = await open()
      await store.append(proposal('c', conversationCreated()))
      for (const text of ['one', 'two', 'three']) {
        clock.now -= 3_600_000
        await store.append(proposal('c', messageAdded(text)))
      }
      expect(textsIn(await allOf(store, 'c'))).toEqual(['one', 'two', 'three'])
      expect((await store.messages(wholeOf('c'), { limit: 2 })).map(one => one.content)).toEqual(['two', 'three'])
    })

    it('[P2] a single appended message reaches subscribers', async () => {
      const { store } = await open()
      await store.append(proposal('c', [conversationCreated(), messageAdded('one')]))
      const heard = nextEvents(store.subscribe({ project, from: 'now' }), 2)
      for (const text of ['two', 'three']) await store.append(proposal('c', messageAdded(text)))
      expect(textsIn(await heard)).toEqual(['two', 'three'])
    })

    it('[P1] closing waits for a single message that is being appended', async () => {
      const { store, reopen } = await open()
      await store.append(proposal('c', [conversationCreated(), messageAdded('one')]))
      const writing = store.append(proposal('c', messageAdded('two')))
      await store.close()
      expect((await writing).events).toHaveLength(1)
      expect(textsIn(await allOf(await reopen(), 'c'))).toEqual(['one', 'two'])
    })

    it('closing again waits for what the first closing waits for', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      await store.search({ project, text: 'x' })
      let isClosed = false
      const first = store.close().then(() => {
        isClosed = true
      })
      await store.close()
      expect(isClosed).toBe(true)
      await first
      await store.close()
    })

    it('[P1] an acknowledged append is there after the store was opened again', async () => {
      const { store, reopen } = await open()
      const { events } = await store.append(
        proposal('c', [conversationCreated(), sessionCreated('s'), messageAdded('kept')]),
      )
      const reopened = await reopen()
      expect(await allOf(reopened, 'c')).toEqual(events)
      expect(await reopened.session(project, 's')).toMatchObject({ id: 's', status: 'active' })
    })
  })
}

const once = { key: 'key-1', digest: 'digest-1' }

function describeOnce(open: OpenStore): void {
  describe('once', () => {
    it('[P3] the same key always returns the first result', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const first = await store.append(proposal('c', [messageAdded('a'), messageAdded('b')], { once }))
      await store.append(proposal('c', messageAdded('later')))
      const second = await store.append(proposal('c', messageAdded('not written'), { once }))
      expect(first.replayed).toBe(false)
      expect(second.replayed).toBe(true)
      expect(second.events).toEqual(first.events)
      expect(textsIn(await allOf(store, 'c'))).toEqual(['a', 'b', 'later'])
    })

    it('[P3] the same key returns the first result although the expected version is outdated', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const ask = () => store.append(proposal('c', messageAdded('a'), { once, expected: 1 }))
      const first = await ask()
      expect((await ask()).events).toEqual(first.events)
    })

    it('[P3] the same key returns the first result to concurrent calls, through two handles', async () => {
      const { store, another } = await open()
      const other = await another()
      await store.append(proposal('c', conversationCreated()))
      const appends = Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? store : other).append(proposal('c', messageAdded(`try ${index}`), { once })),
      )
      const results = await Promise.all(appends)
      expect(results.filter(result => !result.replayed)).toHaveLength(1)
      expect(new Set(results.map(result => result.events[0]!.hash)).size).toBe(1)
      expect(await allOf(store, 'c')).toHaveLength(2)
    })

    it('[P3] the same key returns the first result after the store was opened again', async () => {
      const { store, reopen } = await open()
      await store.append(proposal('c', conversationCreated()))
      const first = await store.append(proposal('c', [sessionCreated('s'), messageAdded('a')], { once }))
      const reopened = await reopen()
      const second = await reopened.append(proposal('c', messageAdded('b'), { once }))
      expect(second).toMatchObject({ replayed: true, session: { id: 's' } })
      expect(second.events).toEqual(first.events)
    })

    it('[P3] the same key returns the first result of a proposal with very many events', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const many = Array.from({ length: 1200 }, (_, index) => messageAdded(`${index}`))
      const first = await store.append(proposal('c', many, { once }))
      const second = await store.append(proposal('c', many, { once }))
      expect(second.events).toHaveLength(first.events.length)
    })

    it('[P3] a key records nothing only where there is nothing to do now, whatever another handle has done', async () => {
      const { store, another } = await open()
      const other = await another()
      const complete: Proposal['decide'] = heads =>
        heads.conversation?.info.status === 'completed' ? [] : [{ type: 'conversation.completed' }]
      await store.append(proposal('c', [conversationCreated(), { type: 'conversation.completed' }]))
      await other.append(proposal('c', { type: 'conversation.reopened' }))
      const lateProposal = proposal('c', complete, { once: { key: 'late', digest: 'digest' }, expected: 2 })
      await expect(store.append(lateProposal)).rejects.toThrow(VersionConflict)
      await other.append(proposal('c', complete))
      await store.append(proposal('c', complete))
      await other.append(proposal('c', { type: 'conversation.reopened' }))
      const { events } = await store.append(proposal('c', complete, { once }))
      expect(events).toMatchObject([{ version: 6, event: { type: 'conversation.completed' } }])
    })

    it('[P3] a key that recorded nothing records nothing later', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const complete: Proposal['decide'] = heads =>
        heads.conversation?.info.status === 'completed' ? [] : [{ type: 'conversation.completed' }]
      await store.append(proposal('c', complete))
      await store.append(proposal('c', complete, { once }))
      await store.append(proposal('c', { type: 'conversation.reopened' }))
      const retried = await store.append(proposal('c', complete, { once }))
      expect(retried.events).toEqual([])
      expect((await store.conversation(project, 'c'))?.info.status).toBe('active')
    })

    it('[P3] a refused proposal leaves its key free', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      await errorOf(() => store.append(proposal('c', messageAdded('x'), { once, expected: 7 })))
      expect((await store.append(proposal('c', messageAdded('y'), { once }))).replayed).toBe(false)
    })
  })
}

function describeKeys(open: OpenStore): void {
  describe('once', () => {
    it('[P3] a different body under the same key is an error and changes nothing', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      await store.append(proposal('c', messageAdded('a'), { once }))
      const error = await errorOf(() =>
        store.append(proposal('c', messageAdded('b'), { once: { ...once, digest: 'other' } })),
      )
      expect(error).toBeInstanceOf(KeyReused)
      expect(await allOf(store, 'c')).toHaveLength(2)
    })

    it('[P12] each project has its own keys', async () => {
      const { store } = await open()
      for (const one of ['shop', 'bank'])
        await store.append(proposal('c', conversationCreated(), { project: one, once }))
      const [inShop, inBank] = await Promise.all(
        ['shop', 'bank'].map(one => store.append(proposal('c', messageAdded('x'), { project: one, once }))),
      )
      expect(inShop!.events[0]).toMatchObject({ project: 'shop', version: 1 })
      expect(inBank!.events[0]).toMatchObject({ project: 'bank', version: 1 })
    })

    it('[P3] keys that differ in one unusual character are different keys', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      for (const key of ['a\0b', 'a\0c', 'a', '\ud800', '\ud801', '\ufffd', '"', "'"]) {
        const outcome = await store
          .append(proposal('c', messageAdded(key), { once: { key, digest: key } }))
          .catch(error => error)
        // Refusing a key that is not well-formed text is fine; taking it for another one is not.
        if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'input/invalid' })
        else expect(outcome.replayed).toBe(false)
      }
    })

    it('[P3] a key outlives the purge of its conversation, and says so', async () => {
      const { store, reopen } = await open()
      await store.append(proposal('c', conversationCreated()))
      const first = await store.append(proposal('c', messageAdded('a'), { once }))
      const nothing = { key: 'records nothing', digest: 'nothing' }
      await store.append(proposal('c', [], { once: nothing }))
      const place = memoryArchives()
      const { archive } = await store.purge({ project, conversationId: 'c', to: place, origin })

      const reopened = await reopen()
      const error = await errorOf(() =>
        reopened.append(proposal('c', [conversationCreated(), messageAdded('a')], { once })),
      )
      expect(error).toBeInstanceOf(ConversationPurged)
      expect(error).toMatchObject({ facts: { conversationId: 'c', archive }, status: 410 })
      expect(await reopened.conversation(project, 'c')).toBeUndefined()

      expect(await errorOf(() => reopened.append(proposal('c', [], { once: nothing })))).toMatchObject({
        code: 'conversation/purged',
        facts: { conversationId: 'c', archive },
      })

      await reopened.restore({ project, lines: place.read(archive), origin })
      expect(await reopened.append(proposal('c', [], { once: nothing }))).toMatchObject({ events: [], replayed: true })
      const replayed = await reopened.append(proposal('c', messageAdded('a'), { once }))
      expect(replayed.replayed).toBe(true)
      expect(replayed.events.map(event => event.hash)).toEqual(first.events.map(event => event.hash))

      const { archive: newest } = await reopened.purge({ project, conversationId: 'c', to: place, origin })
      expect(await errorOf(() => reopened.append(proposal('c', messageAdded('a'), { once })))).toMatchObject({
        facts: { conversationId: 'c', archive: newest },
      })
    })
  })
}

function describeRead(open: OpenStore): void {
  const tenEvents = async () => {
    const { store } = await open()
    await store.append(
      proposal('c', [conversationCreated(), ...Array.from({ length: 9 }, (_, index) => messageAdded(`${index + 2}`))]),
    )
    return async (range: Partial<EventRange>) =>
      (await store.read({ project, conversationId: 'c', ...range })).map(event => event.version)
  }

  describe('read', () => {
    it('read gives events forwards, from the first to the newest', async () => {
      const versions = await tenEvents()
      expect(await versions({})).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    })

    it('read gives events backwards, the newest first', async () => {
      const versions = await tenEvents()
      expect(await versions({ backwards: true })).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
    })

    it('read gives a range, both ends included, in both directions', async () => {
      const versions = await tenEvents()
      expect(await versions({ from: 3, to: 5 })).toEqual([3, 4, 5])
      expect(await versions({ from: 3, to: 5, backwards: true })).toEqual([5, 4, 3])
      expect(await versions({ from: 9 })).toEqual([9, 10])
      expect(await versions({ to: 2 })).toEqual([1, 2])
    })

    it('read gives no more than the limit, counted from where reading starts', async () => {
      const versions = await tenEvents()
      expect(await versions({ from: 3, limit: 2 })).toEqual([3, 4])
      expect(await versions({ to: 8, limit: 2, backwards: true })).toEqual([8, 7])
      expect(await versions({ limit: 0 })).toEqual([])
    })

    it('read gives nothing for an empty range, or one beyond the end', async () => {
      const versions = await tenEvents()
      expect(await versions({ from: 11 })).toEqual([])
      expect(await versions({ from: 5, to: 4 })).toEqual([])
    })

    it('read gives at most 1000 events where no limit is given', async () => {
      const { store } = await open()
      await store.append(
        proposal('c', [conversationCreated(), ...Array.from({ length: 1100 }, () => messageAdded('x'))]),
      )
      expect(await store.read({ project, conversationId: 'c' })).toHaveLength(1000)
      expect(await store.read({ project, conversationId: 'c', limit: 2000 })).toHaveLength(1101)
    })

    it('read gives no events of an unknown conversation', async () => {
      const { store } = await open()
      expect(await store.read({ project, conversationId: 'none' })).toEqual([])
      await store.append(proposal('c', conversationCreated()))
      expect(await store.read({ project, conversationId: 'none' })).toEqual([])
    })

    it('read never takes an id for another one', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      for (const id of ['c\0', 'c\0d', 'C', 'c ', '', '\ud800']) {
        expect(await store.read({ project, conversationId: id })).toEqual([])
        expect(await store.read({ project: `${project}${id.slice(1)}!`, conversationId: 'c' })).toEqual([])
      }
    })

    it('read takes ids in any script, with slashes, dots and quotes', async () => {
      const { store, reopen } = await open()
      const ids = ['a/b', '..', 'it\'s "quoted"', '登录', 'ñandú', '🜁', 'x'.repeat(512), "'; drop table events; --"]
      for (const id of ids) await store.append(proposal(id, [conversationCreated(), messageAdded(id)]))
      const reopened = await reopen()
      for (const id of ids) expect(textsIn(await allOf(reopened, id))).toEqual([id])
    })

    it('read gives NUL bytes and lone surrogates back as they were', async () => {
      const { store, reopen } = await open()
      const unusualText = 'a\0b \ud800 \udfff\ud83d é \u2028 \u0001'
      await store.append(
        proposal('c', [
          conversationCreated({ title: unusualText, metadata: { [unusualText]: unusualText } }),
          messageAdded(unusualText),
        ]),
      )
      const reopened = await reopen()
      const events = await allOf(reopened, 'c')
      expect(events[0]?.event).toMatchObject({ title: unusualText, metadata: { [unusualText]: unusualText } })
      expect(textsIn(events)).toEqual([unusualText])
      expect((await reopened.conversation(project, 'c'))?.info.title).toBe(unusualText)
      expect((await reopened.verify()).damages).toEqual([])
    })
  })
}

function describeNewer(open: OpenStore): void {
  /** A store that holds what a newer program wrote: a type and a schema that this one does not know. */
  const withNewer = async () => {
    const opened = await open()
    const lane = { audienceKey: 'everyone', audience: { to: 'everyone' }, kind: 'talk' }
    const adds = { messages: 1, tokens: 3, input: 0, output: 0 }
    const message = { role: 'user', tokens: [1, 'x'], text: 'known' }
    const lines = archiveLines({ project, conversationId: 'c' }, [
      { type: 'conversation.created', schema: 1, body: { title: 'T', workItem: { type: 'thread', threadId: 't' } } },
      { type: 'poll.opened', schema: 4, body: { question: 'a\0b\ud800', options: [1, null] } },
      { type: 'message.added', schema: 1, body: message, messageId: 'm1', lane, adds: { ...adds, tokens: 1 } },
      { type: 'message.added', schema: 9, body: { scroll: 'unknown form' }, messageId: 'm2', lane, adds },
      { type: 'session.created', schema: 2, body: { sessionId: 's', more: true } },
    ])
    await opened.store.restore({ project, lines: asyncItems(lines), origin })
    return { ...opened, store: opened.store, lines }
  }
  const unknown = (storedType: string, storedSchema: number, data: unknown) => ({
    type: 'unknown',
    storedType,
    storedSchema,
    data,
  })

  describe('what a newer program wrote', () => {
    it('an event of a newer program is kept and passed through by read and subscribe', async () => {
      const { store, reopen } = await withNewer()
      await store.append(proposal('c', messageAdded('after')))
      const reopened = await reopen()
      const events = await allOf(reopened, 'c')
      expect(events.map(event => event.event)).toEqual([
        { type: 'conversation.created', title: 'T', workItem: { type: 'thread', threadId: 't' } },
        unknown('poll.opened', 4, { question: 'a\0b\ud800', options: [1, null] }),
        expect.objectContaining({ type: 'message.added', messageId: 'm1', parts: [{ type: 'text', text: 'known' }] }),
        unknown('message.added', 9, { scroll: 'unknown form' }),
        unknown('session.created', 2, { sessionId: 's', more: true }),
        expect.objectContaining({ type: 'message.added' }),
      ])
      expect(await nextEvents(reopened.subscribe({ project, from: 'start' }), 6)).toEqual(events)
    })

    it('an event of a newer program is proved by the same chain and leaves the store clean', async () => {
      const { store } = await withNewer()
      await store.append(proposal('c', messageAdded('after')))
      expect((await store.verify()).damages).toEqual([])
    })

    it('an event of a newer program comes out of an export as it went in', async () => {
      const { store, lines } = await withNewer()
      const exported = await linesOf(store.export({ project, conversationId: 'c' }))
      expect(exported.map(line => JSON.parse(line))).toEqual(lines.map(line => JSON.parse(line)))
    })

    it('a message of an unknown form has its place in windows and does not hide the others', async () => {
      const { store } = await withNewer()
      await store.append(proposal('c', messageAdded('after')))
      const shown = await store.messages(wholeOf('c'), { limit: 10 })
      expect(shown.map(message => message?.id).slice(0, 2)).toEqual(['m1', 'm2'])
      expect(shown.at(-1)?.content).toBe('after')
      expect(await store.measure(wholeOf('c'))).toMatchObject({ messages: 3, tokens: 9 })
    })

    it('a message of an unknown form is found by its id, and erased on demand', async () => {
      const { store } = await withNewer()
      expect(await store.message(project, 'm2')).toMatchObject({ version: 4, missing: { because: 'unknown' } })
      await store.erase({ project, messageId: 'm2', origin })
      expect(await store.message(project, 'm2')).toMatchObject({ version: 4, missing: { because: 'erased' } })
      const exported = await linesOf(store.export({ project, conversationId: 'c' }))
      expect(exported.join()).not.toContain('unknown form')
      expect((await store.verify()).damages).toEqual([])
    })
  })
}

function describeProjects(open: OpenStore): void {
  describe('projects', () => {
    it('[P12] no project sees anything of another, whatever their ids', async () => {
      const { store } = await open()
      const workItem = { type: 'feature', featureId: 'login' } as const
      const inShop = await store.append(
        proposal('c', [conversationCreated({ workItem }), sessionCreated('s'), messageAdded('of the shop')]),
      )
      const inBank = await store.append(
        proposal('c', [conversationCreated({ workItem }), sessionCreated('s')], { project: 'bank' }),
      )

      expect(textsIn(await store.read({ project: 'bank', conversationId: 'c' }))).toEqual([])
      expect(textsIn(await store.read({ project: 'shop', conversationId: 'c' }))).toEqual(['of the shop'])
      expect(await store.messages({ ...wholeOf('c'), project: 'bank' }, { limit: 10 })).toEqual([])
      expect(await store.session('mill', 's')).toBeUndefined()
      expect(await store.conversationOf('mill', workItem)).toBeUndefined()
      expect(await store.totals('bank')).toMatchObject({ conversations: 1, sessions: 1, messages: 0 })
      expect(inShop.events[0]?.hash).not.toBe(inBank.events[0]?.hash)
      expect(await store.projects()).toEqual(['bank', 'shop'])
    })

    it('conversations of a project are listed in the order of their last use, also those of one minute', async () => {
      const { store, clock } = await open()
      clock.now = Math.ceil(clock.now / 60_000) * 60_000
      for (const id of ['a', 'b', 'c']) {
        clock.now += 1000
        await store.append(proposal(id, conversationCreated()))
      }
      clock.now += 1000
      await store.append(proposal('a', messageAdded('once more')))
      const idsOf = ({ items }: Awaited<ReturnType<StoreCalls['conversations']>>) => items.map(({ info }) => info.id)
      expect(idsOf(await store.conversations({ project: 'shop' }))).toEqual(['a', 'c', 'b'])
      const first = await store.conversations({ project: 'shop', limit: 2 })
      const second = await store.conversations({ project: 'shop', limit: 2, cursor: first.next! })
      expect([...idsOf(first), ...idsOf(second)].sort()).toEqual(['a', 'b', 'c'])
      expect(second.next).toBeUndefined()
    })

    it('[P12] a subscriber sees its own project only, however busy the others are', async () => {
      const { store } = await open()
      const shop = store.subscribe({ project: 'shop', from: 'start' })
      await store.append(proposal('c', conversationCreated()))
      for (let i = 0; i < 20; i++) {
        const texts = Array.from({ length: 30 }, () => messageAdded('noise'))
        await store.append(proposal(`other-${i}`, [conversationCreated(), ...texts], { project: 'bank' }))
      }
      await store.append(proposal('c', messageAdded('signal')))
      const received = await nextEvents(shop, 2)
      expect(received.map(event => [event.project, event.version])).toEqual([
        ['shop', 1],
        ['shop', 2],
      ])
    })
  })
}

function describeSubscriptions(open: OpenStore): void {
  describe('subscribe', () => {
    it("subscribe from 'start' gives the log, then new events", async () => {
      const { store } = await open()
      await store.append(proposal('c', [conversationCreated(), messageAdded('old')]))
      const events = store.subscribe({ project, from: 'start' })
      expect(textsIn(await nextEvents(events, 2))).toEqual(['old'])
      const next = events.next()
      await store.append(proposal('c', messageAdded('new')))
      expect(textsIn([(await next).value!])).toEqual(['new'])
    })

    it("subscribe from 'now', the default, gives only events after the call", async () => {
      const { store } = await open()
      await store.append(proposal('c', [conversationCreated(), messageAdded('old')]))
      const byName = store.subscribe({ project, from: 'now' })
      const byDefault = store.subscribe({ project })
      await store.append(proposal('c', messageAdded('new')))
      expect(textsIn(await nextEvents(byName, 1))).toEqual(['new'])
      expect(textsIn(await nextEvents(byDefault, 1))).toEqual(['new'])
    })

    it('[P2] subscribe from a position gives exactly the events after it', async () => {
      const { store } = await open()
      const { events } = await store.append(
        proposal('c', [conversationCreated(), messageAdded('a'), messageAdded('b'), messageAdded('c')]),
      )
      for (const [index, { position }] of events.entries()) {
        const laterEvents = await nextEvents(store.subscribe({ project, from: position }), events.length - index - 1)
        expect(laterEvents).toEqual(events.slice(index + 1))
      }
    })

    it('[P2] subscribe from the position of the log gives the events after it', async () => {
      const { store } = await open()
      const atTheVeryStart = await store.position()
      await store.append(proposal('c', conversationCreated()))
      const afterOne = await store.position()
      await store.append(proposal('c', messageAdded('next')))
      expect(await nextEvents(store.subscribe({ project, from: atTheVeryStart }), 2)).toEqual(await allOf(store, 'c'))
      expect(textsIn(await nextEvents(store.subscribe({ project, from: afterOne }), 1))).toEqual(['next'])
    })

    it('[P2] subscribe gives the same events as read, positions included', async () => {
      const { store } = await open()
      const live = store.subscribe({ project, from: 'now' })
      const appended = await store.append(
        proposal('c', [conversationCreated(), sessionCreated('s'), messageAdded('a')]),
      )
      expect(await nextEvents(live, 3)).toEqual(appended.events)
      expect(await allOf(store, 'c')).toEqual(appended.events)
    })

    it('[P2] subscribe gives no gap and no duplicate while appends go on, from two handles', async () => {
      const { store, another } = await open()
      const other = await another()
      const conversations = ['a', 'b', 'c', 'd']
      for (const id of conversations) await store.append(proposal(id, [conversationCreated(), ...manySaid(150)]))
      const count = 4 * 151 + 4 * 60
      const writing = conversations.map(async (id, index) => {
        for (let i = 0; i < 60; i++)
          await (index % 2 === 0 ? store : other).append(proposal(id, messageAdded(`${id} ${i}`)))
      })
      const readers = [
        ...[1, 2, 3].map(() => nextEvents(store.subscribe({ project, from: 'start' }), count)),
        nextEvents(other.subscribe({ project, from: 'start' }), count),
      ]
      await Promise.all(writing)
      for (const received of await Promise.all(readers))
        expectEveryEventOnce(received, { a: 211, b: 211, c: 211, d: 211 })
    })

    it('[P2] all subscribers see one order across conversations, the order of the log', async () => {
      const { store, another } = await open()
      const other = await another()
      const live = nextEvents(store.subscribe({ project }), 80)
      const elsewhere = nextEvents(other.subscribe({ project }), 80)
      await Promise.all(
        ['a', 'b', 'c', 'd'].map(async (id, index) => {
          const handle = index % 2 === 0 ? store : other
          await handle.append(proposal(id, conversationCreated()))
          for (let i = 0; i < 19; i++) await handle.append(proposal(id, messageAdded(`${i}`)))
        }),
      )
      const orders = [await live, await elsewhere, await nextEvents(store.subscribe({ project, from: 'start' }), 80)]
      const [first, ...rest] = orders.map(received => received.map(event => event.position))
      expect(new Set(first).size).toBe(80)
      for (const order of rest) expect(order).toEqual(first)
    })
  })
}

function describeLateSubscribers(open: OpenStore): void {
  describe('subscribe', () => {
    it('[P2] a subscriber is woken by what another handle appended', async () => {
      const { store, another } = await open()
      const other = await another()
      const next = store.subscribe({ project }).next()
      await other.append(proposal('c', conversationCreated()))
      expect((await next).value).toMatchObject({ version: 1, conversationId: 'c' })
    }, 10_000)

    it('[P2] a subscriber is woken also when its handle read the events before', async () => {
      const { store, another } = await open()
      const other = await another()
      await store.append(proposal('c', conversationCreated()))
      const next = store.subscribe({ project }).next()
      await other.append(proposal('c', messageAdded('news')))
      expect(await allOf(store, 'c')).toHaveLength(2)
      expect((await next).value).toMatchObject({ version: 2 })
    }, 10_000)

    it('[P2] a subscriber resumes exactly, over and over, while appends go on', async () => {
      const { store, another, reopen } = await open()
      const other = await another()
      await store.append(proposal('c', conversationCreated()))
      const writing = (async () => {
        for (let i = 0; i < 100; i++) await other.append(proposal('c', messageAdded(`${i}`)))
      })()
      const received: RecordedEvent[] = []
      let handle = store
      let from = 'start'
      for (let round = 1; received.length < 101; round++) {
        const events = handle.subscribe({ project, from })
        received.push(...(await nextEvents(events, Math.min(1 + (round % 7), 101 - received.length))))
        await events.return?.()
        from = received.at(-1)!.position
        if (round % 10 === 0) handle = await reopen()
      }
      await writing
      expectEveryEventOnce(received, { c: 101 })
    })

    it('[P2] a subscriber of one conversation gets all of it and nothing else, from anywhere and however far behind', async () => {
      const { store, another } = await open()
      const other = await another()
      // Before there is such a conversation.
      const live = nextEvents(store.subscribe({ project, conversationId: 'b' }), 46)
      const elsewhere = nextEvents(other.subscribe({ project, conversationId: 'b' }), 46)
      const slow = store.subscribe({ project, conversationId: 'b', from: 'start' })
      await store.append(proposal('a', conversationCreated()))
      await store.append(proposal('b', [conversationCreated(), messageAdded('first')], { project: 'bank' }))
      await store.append(proposal('b', conversationCreated()))
      const middles = [await store.position()]
      expect((await slow.next()).value).toMatchObject({ conversationId: 'b', version: 1 })
      for (let round = 0; round < 15; round++) {
        const handle = round % 2 === 0 ? store : other
        await handle.append(proposal('a', manySaid(150)))
        await handle.append(proposal('b', manySaid(2)))
        await handle.append(proposal('b', messageAdded('elsewhere'), { project: 'bank' }))
        await (round % 3 === 0 ? store : other).append(proposal('b', messageAdded(`${round}`)))
        middles.push(await store.position())
      }
      const all = await allOf(store, 'b')
      expect(all).toHaveLength(46)
      expect(await live).toEqual(all)
      expect(await elsewhere).toEqual(all)
      expect(await nextEvents(slow, 45)).toEqual(all.slice(1))
      const follow = (from: string) => store.subscribe({ project, conversationId: 'b', from })
      expect(await nextEvents(follow('start'), 46)).toEqual(all)
      for (const [round, from] of middles.entries()) {
        expect(await nextEvents(follow(from), 45 - 3 * round)).toEqual(all.slice(1 + 3 * round))
      }
    })

    it('a slow subscriber gets everything', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const slow = store.subscribe({ project, from: 'start' })
      const received: RecordedEvent[] = []
      for (let round = 0; round < 20; round++) {
        await store.append(proposal('c', manySaid(150)))
        received.push(...(await nextEvents(slow, 2)))
      }
      received.push(...(await nextEvents(slow, 3001 - received.length)))
      expectEveryEventOnce(received, { c: 3001 })
    })

    it('a subscriber that never reads costs a cursor, not a queue', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const readers = Array.from({ length: 20 }, () => store.subscribe({ project, from: 'start' }))
      const before = heapUsed()
      const text = 'x'.repeat(10_000)
      for (let i = 0; i < 10; i++) await store.append(proposal('c', manySaid(300, text)))
      // 3,000 events of 10 kB are 30 MB; what readers share of the newest may stay.
      expect(heapUsed() - before).toBeLessThan(18_000_000)
      expectEveryEventOnce(await nextEvents(readers[7]!, 3001), { c: 3001 })
    })
  })
}

function describeEndedSubscriptions(open: OpenStore): void {
  describe('subscribe', () => {
    it('return() ends a subscription, also while an event is awaited', async () => {
      const { store } = await open()
      const events = store.subscribe({ project })
      const waiting = [events.next(), events.next()]
      await nextTurn()
      await events.return?.()
      expect(await Promise.all(waiting)).toEqual([ended, ended])
      await store.append(proposal('c', conversationCreated()))
      expect(await events.next()).toEqual(ended)
    }, 10_000)

    it('a signal ends a subscription, also while an event is awaited', async () => {
      const { store } = await open()
      const abort = new AbortController()
      const events = store.subscribe({ project, signal: abort.signal })
      const waiting = events.next()
      await nextTurn()
      abort.abort()
      expect(await waiting).toEqual(ended)
      expect(await events.next()).toEqual(ended)
    }, 10_000)

    it('an ended subscription is released at once, although nothing is appended', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      // One that stays: what all share does not go with the last of them.
      const staying = store.subscribe({ project }).next()
      const ended: Array<WeakRef<AbortSignal>> = []
      for (let i = 0; i < 20; i++) {
        const abort = new AbortController()
        const waiting = store.subscribe({ project, signal: abort.signal }).next()
        await nextTurn()
        ended.push(new WeakRef(abort.signal))
        abort.abort()
        await waiting
      }
      await nextTurn()
      heapUsed()
      expect(ended.filter(one => one.deref() !== undefined).length).toBeLessThan(3)
      await store.append(proposal('c', messageAdded('on')))
      await staying
    })

    it('a signal that is already aborted ends a subscription at once', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const events = store.subscribe({ project, from: 'start', signal: AbortSignal.abort() })
      expect(await events.next()).toEqual(ended)
    }, 10_000)

    it('leaving the loop ends a subscription', async () => {
      const { store } = await open()
      await store.append(proposal('c', [conversationCreated(), messageAdded('a'), messageAdded('b')]))
      const events = store.subscribe({ project, from: 'start' })
      const received: number[] = []
      for await (const { version } of events) {
        received.push(version)
        if (version === 2) break
      }
      expect(received).toEqual([1, 2])
      expect(await events.next()).toEqual(ended)
    })

    it('closing the store ends a subscription, waiting or not', async () => {
      const { store, reopen } = await open()
      const waiting = store.subscribe({ project })
      const idle = store.subscribe({ project })
      const next = waiting.next()
      await nextTurn()
      await reopen()
      expect(await next).toEqual(ended)
      expect(await idle.next()).toEqual(ended)
    }, 10_000)
  })
}

function describePositions(open: OpenStore): void {
  describe('positions', () => {
    it('[P2] garbage is not a position', async () => {
      const { store } = await open()
      await store.append(proposal('c', conversationCreated()))
      const position = await store.position()
      for (const from of [
        '',
        'x',
        '0',
        '-1',
        'START',
        '..',
        `${position}.`,
        `.${position}`,
        'a.b.c.d',
        '\0',
        '\ud800',
      ]) {
        expect(await errorOf(() => store.subscribe({ project, from }).next())).toBeInstanceOf(PositionUnknown)
      }
    })

    it("[P2] another store's position is unknown here", async () => {
      const [one, two] = [await open(), await open()]
      await one.store.append(proposal('c', conversationCreated()))
      await two.store.append(proposal('c', conversationCreated()))
      const from = await one.store.position()
      expect(await errorOf(() => two.store.subscribe({ project, from }).next())).toBeInstanceOf(PositionUnknown)
    })

    it('[P2] a position holds after the store was opened again and through other handles', async () => {
      const { store, another, reopen } = await open()
      await store.append(proposal('c', [conversationCreated(), messageAdded('a')]))
      const from = await store.position()
      const other = await another()
      const reopened = await reopen()
      await reopened.append(proposal('c', messageAdded('b')))
      expect(textsIn(await nextEvents(other.subscribe({ project, from }), 1))).toEqual(['b'])
      expect(textsIn(await nextEvents(reopened.subscribe({ project, from }), 1))).toEqual(['b'])
    })

    it('[P2] a position holds when the event it names was purged since', async () => {
      const { store } = await open()
      await store.append(proposal('kept', conversationCreated()))
      const purgedEvents = await store.append(proposal('gone', [conversationCreated(), messageAdded('x')]))
      await store.purge({ project, conversationId: 'gone', to: memoryArchives(), origin })
      await store.append(proposal('kept', messageAdded('after')))
      for (const { position } of purgedEvents.events) {
        expect(textsIn(await nextEvents(store.subscribe({ project, from: position }), 1))).toEqual(['after'])
      }
    })

    it('[P2] positions are never used again, also after the newest events were purged', async () => {
      const { store, another, reopen } = await open()
      await store.append(proposal('kept', conversationCreated()))
      const purgedEvents = await store.append(proposal('gone', [conversationCreated(), messageAdded('x')]))
      await store.purge({ project, conversationId: 'gone', to: memoryArchives(), origin })
      const here = await store.append(proposal('kept', messageAdded('here')))
      await (await another()).append(proposal('kept', messageAdded('elsewhere')))
      const later = await (await reopen()).append(proposal('kept', messageAdded('later')))
      const positions = [...purgedEvents.events, ...here.events, ...later.events].map(event => event.position)
      expect(new Set(positions).size).toBe(positions.length)
    })
  })
}

const ended = { done: true, value: undefined }

function allOf(store: StoreCalls, conversationId: string): Promise<RecordedEvent[]> {
  return store.read({ project, conversationId, limit: 100_000 })
}

function wholeOf(conversationId: string) {
  const viewer = { sees: 'everything' } as const
  return { project, conversationId, viewer, kinds: ['talk', 'system', 'internal'] as const, start: 0, kept: [] }
}

function manySaid(count: number, text = 'x') {
  return Array.from({ length: count }, () => messageAdded(text, { messageId: freshName('m') }))
}

/** Each conversation's versions are all there, in order, none twice. */
function expectEveryEventOnce(received: readonly RecordedEvent[], versions: Record<string, number>): void {
  const byConversation = new Map<string, number[]>()
  for (const { conversationId, version } of received) {
    byConversation.set(conversationId, [...(byConversation.get(conversationId) ?? []), version])
  }
  for (const [id, count] of Object.entries(versions)) {
    expect(byConversation.get(id)).toEqual(Array.from({ length: count }, (_, index) => index + 1))
  }
  expect(received).toHaveLength(Object.values(versions).reduce((sum, count) => sum + count, 0))
}

/** Memory in use after a garbage collection. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}
