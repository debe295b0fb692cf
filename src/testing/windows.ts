/** The contract of windows of messages and their size: see `src/log/windows.ts`. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidInput } from '../errors.ts'
import type { Audience } from '../log/events/audience.ts'
import type { ConversationEvent } from '../log/events/event.ts'
import type { MessageAdded } from '../log/events/message.ts'
import type { Part } from '../log/events/part.ts'
import type { RecordedEvent } from '../log/events/recorded-event.ts'
import type { StoreCalls } from '../log/store.ts'
import type { Message } from '../log/views/message.ts'
import { isVisible, type Viewer } from '../log/visibility.ts'
import { memoryArchives } from './archives.ts'
import { conversationCreated, everyone, freshName, messageAdded, origin, proposal, sessionCreated } from './builders.ts'
import type { OpenStore } from './store-under-test.ts'

type Window = Parameters<StoreCalls['messages']>[0]
type Kind = Window['kinds'][number]

const project = 'shop'
const allKinds: readonly Kind[] = ['talk', 'system', 'internal']
const everything: Viewer = { sees: 'everything' }

export function describeWindows(name: string, open: OpenStore): void {
  describe(`windows on ${name}`, () => {
    describeLanes(open)
    describeRanges(open)
    describePages(open)
    describeContent(open)
    describeErasures(open)
    describeFreshness(open)
    describeVisibility(open)
  })
}

function windowOn(conversationId: string, more: Partial<Window> = {}): Window {
  return { project, conversationId, viewer: everything, kinds: allKinds, start: 0, kept: [], ...more }
}

function asSession(sessionId: string, agentName = sessionId, delegations?: readonly string[]): Viewer {
  return { sees: 'as-session', sessionId, agentName, ...(delegations && { delegations }) }
}

const contents = (messages: readonly Message[]) => messages.map(message => message.content)

function describeLanes(open: OpenStore): void {
  const audiences: Array<[text: string, audience: Audience]> = [
    ['to all', everyone],
    ['to s', { to: 'session', sessionId: 's' }],
    ['to t', { to: 'session', sessionId: 't' }],
    ['to dev and qa', { to: 'agents', agents: ['dev', 'qa'] }],
    ['to pm', { to: 'agents', agents: ['pm'] }],
    ['in delegation d', { to: 'delegation', delegationId: 'd' }],
    ['for the audit', { to: 'internal' }],
  ]

  const storeWithAudiences = async () => {
    const { store } = await open()
    const messages = audiences.map(([text, audience]) => messageAdded(text, { audience }))
    await store.append(proposal('c', [conversationCreated(), ...messages]))
    return store
  }

  it.each<[who: string, viewer: Viewer, sees: string[]]>([
    ['a session: its own, its agent, everyone', asSession('s', 'dev'), ['to all', 'to s', 'to dev and qa']],
    ['another session of another agent', asSession('t', 'pm'), ['to all', 'to t', 'to pm']],
    ['a stranger: everyone only', asSession('u', 'merge'), ['to all']],
    ['a session in a delegation', asSession('u', 'qa', ['d']), ['to all', 'to dev and qa', 'in delegation d']],
    ['the whole log', everything, audiences.map(([text]) => text)],
  ])('a window shows what is meant for %s', async (_who, viewer, sees) => {
    const store = await storeWithAudiences()
    const window = windowOn('c', { viewer })
    expect(contents(await store.messages(window, { limit: 50 }))).toEqual(sees)
    expect(await store.measure(window)).toMatchObject({ messages: sees.length, tokens: sees.join('').length })
  })

  it('a window shows the kinds that the caller chose', async () => {
    const { store } = await open()
    const kinds = [
      messageAdded('question'),
      messageAdded('answer', { role: 'assistant' }),
      messageAdded('rules', { role: 'system' }),
      messageAdded('note', { role: 'assistant', internal: true }),
      messageAdded('hidden rules', { role: 'system', internal: true }),
    ]
    await store.append(proposal('c', [conversationCreated(), ...kinds]))
    const shown = async (...wanted: Kind[]) =>
      contents(await store.messages(windowOn('c', { kinds: wanted }), { limit: 50 }))
    expect(await shown('talk')).toEqual(['question', 'answer'])
    expect(await shown('system')).toEqual(['rules'])
    expect(await shown('internal')).toEqual(['note', 'hidden rules'])
    expect(await shown('system', 'talk')).toEqual(['question', 'answer', 'rules'])
    expect(await shown()).toEqual([])
  })

  it('agents named in another order, or twice, are the same audience', async () => {
    const { store } = await open()
    const named = [['a', 'b'], ['b', 'a'], ['a', 'b', 'a'], ['a']].map((agents, index) =>
      messageAdded(`${index}`, { audience: { to: 'agents', agents } }),
    )
    await store.append(proposal('c', [conversationCreated(), ...named]))
    const window = windowOn('c', { viewer: asSession('s', 'b') })
    expect(contents(await store.messages(window, { limit: 9 }))).toEqual(['0', '1', '2'])
    expect((await store.measure(window)).messages).toBe(3)
  })

  it('ids that look like another audience or contain quotes are only ids', async () => {
    const { store } = await open()
    const unusualIds = ['everyone', 'internal', 'session s', '"]', 'a"b', '\u{10ffff}', 'zzz']
    const messages = unusualIds.map(id => messageAdded(id, { audience: { to: 'session', sessionId: id } }))
    await store.append(proposal('c', [conversationCreated(), ...messages]))
    for (const id of unusualIds) {
      expect(contents(await store.messages(windowOn('c', { viewer: asSession(id) }), { limit: 9 }))).toEqual([id])
    }
  })
}

function describeRanges(open: OpenStore): void {
  it('a window starts after a version, and keeps what a reset kept', async () => {
    const { store } = await open()
    const rules = messageAdded('rules', { role: 'system' })
    await store.append(
      proposal('c', [
        conversationCreated(),
        messageAdded('old'),
        rules,
        messageAdded('older'),
        messageAdded('new'),
        messageAdded('newer'),
      ]),
    )
    const window = windowOn('c', { start: 4, kept: [3] })
    expect(contents(await store.messages(window, { limit: 9 }))).toEqual(['rules', 'new', 'newer'])
    expect(contents(await store.messages(window, { limit: 2 }))).toEqual(['new', 'newer'])
    expect(contents(await store.messages(window, { limit: 2, after: 0 }))).toEqual(['rules', 'new'])
    expect(await store.measure(window)).toMatchObject({ messages: 3, tokens: 'rulesnewnewer'.length })
  })

  it('a window ends at a version: as it was then', async () => {
    const { store } = await open()
    const rules = messageAdded('rules', { role: 'system' })
    await store.append(
      proposal('c', [conversationCreated(), rules, messageAdded('old'), messageAdded('then'), messageAdded('later')]),
    )
    const window = windowOn('c', { start: 3, kept: [2], end: 4 })
    expect(contents(await store.messages(window, { limit: 9 }))).toEqual(['rules', 'then'])
    expect(contents(await store.messages(window, { limit: 9, after: 2 }))).toEqual(['then'])
    expect(await store.measure(window)).toMatchObject({ messages: 2, tokens: 'rulesthen'.length })
  })

  it('a version that no conversation reaches is after its end', async () => {
    const { store } = await open()
    await store.append(proposal('c', [conversationCreated(), messageAdded('a'), messageAdded('b')]))
    const far = Number.MAX_SAFE_INTEGER
    const shown = async (more: Partial<Window>, page = {}) =>
      contents(await store.messages(windowOn('c', more), { limit: 9, ...page }))
    expect(await shown({ end: far }, { before: far })).toEqual(['a', 'b'])
    expect(await shown({ start: far, kept: [2] })).toEqual(['a'])
    expect(await shown({}, { after: far })).toEqual([])
    expect(await store.measure(windowOn('c', { end: far }))).toMatchObject({ messages: 2 })
    expect(await store.measure(windowOn('c', { start: far, kept: [2] }))).toMatchObject({ messages: 1 })
    expect(await store.read({ project, conversationId: 'c', from: far, to: far, limit: far })).toEqual([])
  })

  it('a window counts what a reset kept only where its kind is chosen', async () => {
    const { store } = await open()
    await store.append(
      proposal('c', [
        conversationCreated(),
        messageAdded('rules', { role: 'system' }),
        messageAdded('old'),
        messageAdded('new'),
      ]),
    )
    const window = windowOn('c', { start: 3, kept: [2], kinds: ['talk'] })
    expect(contents(await store.messages(window, { limit: 9 }))).toEqual(['new'])
    expect(await store.measure(window)).toMatchObject({ messages: 1, tokens: 'new'.length })
  })

  it('a window says when its last message was added', async () => {
    const { store, clock } = await open()
    const window = windowOn('c', { viewer: asSession('s') })
    await store.append(proposal('c', conversationCreated()))
    expect((await store.measure(window)).lastActiveAt).toBeUndefined()
    await store.append(proposal('c', messageAdded('seen')))
    const seenAt = new Date(clock.now).toISOString()
    clock.now += 60_000
    await store.append(proposal('c', messageAdded('unseen', { audience: { to: 'internal' } })))
    expect((await store.measure(window)).lastActiveAt).toBe(seenAt)
  })

  it('the window of an unknown conversation is empty', async () => {
    const { store } = await open()
    expect(await store.messages(windowOn('none'), { limit: 5 })).toEqual([])
    expect(await store.measure(windowOn('none'))).toMatchObject({ messages: 0, tokens: 0, input: 0, output: 0 })
  })

  it('sums that would no longer be exact are refused, and block no writer at the same moment', async () => {
    const { store, reopen } = await open()
    const large = (text: string, usage: { input: number; output: number }) => messageAdded(text, { usage })
    const halfOfMaximum = 2 ** 52
    await store.append(proposal('c', [conversationCreated(), large('a', { input: halfOfMaximum, output: 1 })]))
    const results = await Promise.allSettled([
      store.append(proposal('c', messageAdded('before'))),
      store.append(
        proposal('c', [large('b', { input: 1, output: 1 }), large('c', { input: halfOfMaximum, output: 1 })]),
      ),
      store.append(proposal('c', large('d', { input: 1, output: 2 ** 53 }))),
      store.append(proposal('c', messageAdded('after'))),
    ])
    expect(results.map(one => one.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    const reasons = results.map(one => (one.status === 'rejected' ? one.reason : undefined))
    expect(reasons[1]).toBeInstanceOf(InvalidInput)
    expect(reasons[1]).toMatchObject({ field: 'usage.input' })
    expect(reasons[2]).toMatchObject({ field: 'usage.output' })
    const reopened = await reopen()
    const whole = { project, conversationId: 'c', viewer: everything, kinds: allKinds, start: 0, kept: [] }
    expect(await reopened.measure(whole)).toMatchObject({ messages: 3, input: halfOfMaximum, output: 1 })
    expect((await reopened.verify()).damages).toEqual([])
  })

  it('a window adds up what providers reported, apart from the size of the contents', async () => {
    const { store } = await open()
    const usage = { input: 100, output: 7, cacheRead: 3 }
    await store.append(
      proposal('c', [
        conversationCreated(),
        messageAdded('ab', { usage }),
        messageAdded('cde', { usage }),
        messageAdded('f'),
      ]),
    )
    expect(await store.measure(windowOn('c'))).toMatchObject({ messages: 3, tokens: 6, input: 200, output: 14 })
  })
}

function describePages(open: OpenStore): void {
  const hundred = async () => {
    const { store } = await open()
    const audienceOf = (index: number): Audience => (index % 3 === 0 ? everyone : { to: 'session', sessionId: 's' })
    const messages = Array.from({ length: 100 }, (_, index) =>
      messageAdded(`${index}`, { audience: audienceOf(index) }),
    )
    await store.append(proposal('c', [conversationCreated(), ...messages]))
    return store
  }

  it('a window gives the newest of a page, oldest first', async () => {
    const store = await hundred()
    expect(contents(await store.messages(windowOn('c'), { limit: 3 }))).toEqual(['97', '98', '99'])
    expect(contents(await store.messages(windowOn('c'), { limit: 3, before: 99 }))).toEqual(['94', '95', '96'])
  })

  it('a window of many lanes gives the newest, or the oldest after a version, of all together', async () => {
    const { store, reopen } = await open()
    const sessions = Array.from({ length: 300 }, (_, index) => `s${index}`)
    const to = (sessionId: string) => messageAdded(sessionId, { audience: { to: 'session', sessionId } })
    await store.append(proposal('c', [conversationCreated(), ...sessions.map(to)]))
    const reopened = await reopen()
    // Some lanes go on, in an order of their own.
    await reopened.append(proposal('c', ['s7', 's100', 's7', 's299', 's3', 's7'].map(to)))
    const contentsOf = async (page: Parameters<StoreCalls['messages']>[1], more: Partial<Window> = {}) =>
      contents(await reopened.messages(windowOn('c', more), page))
    for (const _ of ['asked', 'asked again']) {
      expect(await contentsOf({ limit: 4 })).toEqual(['s7', 's299', 's3', 's7'])
      expect(await contentsOf({ limit: 3, before: 305 })).toEqual(['s7', 's100', 's7'])
      expect(await contentsOf({ limit: 4, after: 299 })).toEqual(['s298', 's299', 's7', 's100'])
      expect(await contentsOf({ limit: 2, after: 0 }, { start: 50 })).toEqual(['s49', 's50'])
      expect(await contentsOf({ limit: 9 }, { start: 305 })).toEqual(['s3', 's7'])
    }
  })

  it('a window gives the oldest of a page after a version', async () => {
    const store = await hundred()
    expect(contents(await store.messages(windowOn('c'), { limit: 3, after: 0 }))).toEqual(['0', '1', '2'])
    expect(contents(await store.messages(windowOn('c'), { limit: 3, after: 4, before: 7 }))).toEqual(['3', '4'])
  })

  it.each([1, 7, 33, 100, 101])('pages of %i cover everything exactly once, in both directions', async limit => {
    const store = await hundred()
    const expected = Array.from({ length: 100 }, (_, index) => `${index}`)
    expect(contents(await allBackwards(store, windowOn('c'), limit))).toEqual(expected)
    expect(contents(await allForwards(store, windowOn('c'), limit))).toEqual(expected)
  })
}

async function allBackwards(store: StoreCalls, window: Window, limit: number): Promise<Message[]> {
  const collected: Message[] = []
  for (;;) {
    const before = collected[0]?.version
    const page = await store.messages(window, { limit, ...(before !== undefined && { before }) })
    if (page.length === 0) return collected
    collected.unshift(...page)
  }
}

async function allForwards(store: StoreCalls, window: Window, limit: number): Promise<Message[]> {
  const collected: Message[] = []
  for (;;) {
    const page = await store.messages(window, { limit, after: collected.at(-1)?.version ?? 0 })
    if (page.length === 0) return collected
    collected.push(...page)
  }
}

function describeContent(open: OpenStore): void {
  const unusualText = 'a\0b \ud800 \udfff\ud83d 登录 🜁 \u2028'
  const large = `${unusualText}${'lärge '.repeat(60_000)}${unusualText}`

  it('a message comes back with everything it carried', async () => {
    const { store, reopen } = await open()
    const message = messageAdded('hello', {
      role: 'assistant',
      author: 'dev',
      sessionId: 's',
      agentType: 'dev',
      featureId: 'login',
      taskId: 'form',
      iteration: 0,
      addressees: ['pm', 'qa'],
      mentions: ['pm'],
      replyTo: 'earlier',
      internal: false,
      pinned: true,
      usage: { input: 1, output: 2, cost: 0.25 },
      metadata: { nested: { deep: [1, 'two', null, { three: true }] }, blobs: [[0, 'text', 'x']], text: 'no' },
      envelope: { signature: 'x' },
    })
    await store.append(proposal('c', [conversationCreated(), message]))
    const { type: _, messageId, ...said_ } = message
    const reopened = await reopen()
    const [shown] = await reopened.messages(windowOn('c'), { limit: 1 })
    expect(shown).toEqual({
      ...said_,
      id: messageId,
      conversationId: 'c',
      version: 2,
      timestamp: expect.any(String),
      content: 'hello',
    })
    expect(await reopened.message(project, messageId)).toEqual(shown)
  })

  it.each<[what: string, part: Part]>([
    ['a text', { type: 'text', text: large }],
    ["a tool's input", { type: 'tool-call', callId: 'k', name: 'write', input: { path: unusualText, text: large } }],
    ["a tool's output", { type: 'tool-result', callId: 'k', output: large, isError: false }],
    ['a structured output', { type: 'tool-result', callId: 'k', output: [large, { again: [large] }] }],
    ['a file', { type: 'file', name: 'a.txt', mediaType: 'text/plain', text: large }],
    ['a reasoning', { type: 'reasoning', text: large, signature: 'x' }],
  ])('a message with %s over 256 KB comes back whole', async (_what, part) => {
    const { store, reopen } = await open()
    const small: Part = { type: 'text', text: unusualText }
    const message = messageAdded('', { parts: [small, part, part, small] })
    await store.append(proposal('c', [conversationCreated(), message, messageAdded('', { parts: [part] })]))
    const reopened = await reopen()
    const [first, second] = await reopened.messages(windowOn('c'), { limit: 2 })
    expect(first?.parts).toEqual([small, part, part, small])
    expect(second?.parts).toEqual([part])
    expect((await reopened.read({ project, conversationId: 'c', from: 2 }))[0]?.event).toEqual(message)
    expect((await reopened.verify()).damages).toEqual([])
  })

  it('a message is found by its id, in its project only', async () => {
    const { store } = await open()
    await store.append(proposal('c', [conversationCreated(), messageAdded('here', { messageId: 'same' })]))
    await store.append(
      proposal('c', [conversationCreated(), messageAdded('there', { messageId: 'same' })], { project: 'bank' }),
    )
    expect((await store.message('shop', 'same'))?.content).toBe('here')
    expect((await store.message('bank', 'same'))?.content).toBe('there')
    expect(await store.message('mill', 'same')).toBeUndefined()
    expect(await store.message('shop', 'none')).toBeUndefined()
  })
}

function describeErasures(open: OpenStore): void {
  it('[P4] an erased message keeps its place and its size, and says that it is gone', async () => {
    const { store } = await open()
    const secret = messageAdded('secret', { audience: { to: 'session', sessionId: 's' } })
    await store.append(proposal('c', [conversationCreated(), messageAdded('before'), secret, messageAdded('after')]))
    const window = windowOn('c', { viewer: asSession('s') })
    const size = await store.measure(window)
    await store.erase({ project, messageId: secret.messageId, origin })

    const shown = await store.messages(window, { limit: 9 })
    expect(contents(shown)).toEqual(['before', '', 'after'])
    expect(shown[1]).toMatchObject({ id: secret.messageId, version: 3, parts: [], missing: { because: 'erased' } })
    expect(await store.message(project, secret.messageId)).toEqual(shown[1])
    expect(await store.measure(window)).toEqual(size)
    expect(await store.messages(windowOn('c', { viewer: asSession('t') }), { limit: 9 })).toHaveLength(2)
  })

  it('[P4] a large content that two messages share stays whole for the one that is left', async () => {
    const { store } = await open()
    const parts: Part[] = [{ type: 'text', text: 'shared '.repeat(60_000) }]
    const [first, second] = [messageAdded('', { parts }), messageAdded('', { parts })]
    await store.append(proposal('c', [conversationCreated(), first, second]))
    await store.erase({ project, messageId: first.messageId, origin })
    expect((await store.message(project, second.messageId))?.parts).toEqual(parts)
    await store.erase({ project, messageId: second.messageId, origin })
    expect((await store.message(project, second.messageId))?.missing?.because).toBe('erased')
    expect((await store.verify()).damages).toEqual([])
  })
}

/** Windows are as the log is now, whatever was read before and whichever process wrote meanwhile. */
function describeFreshness(open: OpenStore): void {
  it('a window is read again with what came since, from any writer', async () => {
    const { store, another } = await open()
    const other = await another()
    await store.append(
      proposal('c', [conversationCreated(), messageAdded('one'), messageAdded('two'), messageAdded('three')]),
    )
    const shown = async (limit: number) => contents(await store.messages(windowOn('c'), { limit }))
    expect(await shown(2)).toEqual(['two', 'three'])
    await store.append(proposal('c', messageAdded('four')))
    await other.append(proposal('c', messageAdded('five')))
    expect(await shown(2)).toEqual(['four', 'five'])
    expect(await shown(9)).toEqual(['one', 'two', 'three', 'four', 'five'])
  })

  it('[P4] a window gives nothing that another process erased or purged', async () => {
    const { store, another } = await open()
    const other = await another()
    const secret = messageAdded('secret')
    await store.append(proposal('c', [conversationCreated(), messageAdded('before'), secret, messageAdded('after')]))
    const shown = async () => {
      const collected = contents(await store.messages(windowOn('c'), { limit: 9 }))
      expect(contents(await store.messages(windowOn('c'), { limit: 9 }))).toEqual(collected)
      return collected
    }
    expect(await shown()).toEqual(['before', 'secret', 'after'])
    await other.erase({ project, messageId: secret.messageId, origin })
    expect(await shown()).toEqual(['before', '', 'after'])
    await other.purge({ project, conversationId: 'c', to: memoryArchives(), origin })
    expect(await shown()).toEqual([])
  })

  it('changes that one caller makes to its messages reach no other', async () => {
    const { store } = await open()
    const parts: Part[] = [
      { type: 'text', text: 'as it was' },
      {
        type: 'tool-call',
        callId: 'k',
        name: 'write',
        input: JSON.parse('{"__proto__": {"a": 1}, "at": [{"line": 1}]}'),
      },
    ]
    const metadata = { tags: ['one'] }
    await store.append(proposal('c', [conversationCreated(), messageAdded('', { role: 'assistant', parts, metadata })]))
    const read = async () => (await store.messages(windowOn('c'), { limit: 9 }))[0]!
    const asItWas = JSON.stringify(await read())
    for (let time = 0; time < 4; time++) {
      const message = await read()
      expect(JSON.stringify(message)).toBe(asItWas)
      const [text, call] = message.parts as unknown as [{ text: string }, { input: { at: Array<{ line: number }> } }]
      text.text = 'changed'
      call.input.at[0]!.line = 2
      message.metadata!.tags = []
      message.parts.pop()
      message.tokens.count = 0
    }
  })

  const lane = fc.record({
    audience: fc.constantFrom<Audience>(everyone, { to: 'session', sessionId: 's' }, { to: 'internal' }),
    internal: fc.boolean(),
  })
  const change = fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('say' as const), where: fc.array(lane, { maxLength: 12 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('erase' as const), which: fc.nat(60) }) },
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('look' as const),
        sees: fc.constantFrom(everything, asSession('s'), asSession('t')),
        kinds: fc.subarray([...allKinds], { minLength: 1 }),
        start: fc.constantFrom(0, 0, 3, 20),
        end: fc.option(fc.nat(60), { freq: 3, nil: undefined }),
        before: fc.option(fc.nat(60), { freq: 4, nil: undefined }),
        limit: fc.integer({ min: 1, max: 30 }),
      }),
    },
  )

  it('a window equals a fresh read of it, however windows and writers change', async () => {
    const { store, another } = await open()
    const other = await another()
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(change, fc.boolean()), { maxLength: 30 }), async changes => {
        const conversationId = freshName('conversation')
        await store.append(proposal(conversationId, [conversationCreated(), messageAdded('first')]))
        const ids: string[] = []
        for (const [one, isOther] of changes) {
          const writer = isOther ? other : store
          if (one.do === 'say' && one.where.length > 0) {
            const messages = one.where.map(more => messageAdded(freshName('text'), more))
            ids.push(...messages.map(message => message.messageId))
            await writer.append(proposal(conversationId, messages))
          } else if (one.do === 'erase' && one.which < ids.length) {
            const [messageId] = ids.splice(one.which, 1)
            await writer.erase({ project, messageId: messageId!, origin })
          } else if (one.do === 'look') {
            const { sees: viewer, kinds, start, end, before, limit } = one
            const window = windowOn(conversationId, { viewer, kinds, start, ...(end !== undefined && { end }) })
            const page = { limit, ...(before !== undefined && { before }) }
            // The same messages, read forwards.
            const anew = (await store.messages(window, { ...page, after: 0, limit: 1000 })).slice(-limit)
            expect(await store.messages(window, page)).toEqual(anew)
          }
        }
      }),
      { numRuns: 60 },
    )
  })
}

// Compares a session's view with a naive filter of the whole log.

const sessions = ['s', 't'] as const
const agentOf = { s: 'dev', t: 'qa' } as const

const audience: fc.Arbitrary<Audience> = fc.oneof(
  fc.constant(everyone),
  fc.constantFrom(...sessions).map(sessionId => ({ to: 'session' as const, sessionId })),
  fc.subarray(['dev', 'qa', 'pm'], { minLength: 1 }).map(agents => ({ to: 'agents' as const, agents })),
  fc.constantFrom('d', 'e').map(delegationId => ({ to: 'delegation' as const, delegationId })),
  fc.constant({ to: 'internal' as const }),
)

type Step =
  | { do: 'say'; more: Pick<MessageAdded, 'role' | 'audience' | 'internal' | 'tokens' | 'usage'> }
  | { do: 'clear' | 'reset'; sessionId: (typeof sessions)[number] }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('say' as const),
      more: fc.record({
        role: fc.constantFrom('user', 'assistant', 'system'),
        audience,
        internal: fc.constantFrom(true, false, false),
        tokens: fc.record({ count: fc.nat(1000), by: fc.constant('test') }),
        usage: fc.record({ input: fc.nat(1000), output: fc.nat(1000) }),
      }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('clear' as const, 'reset' as const),
      sessionId: fc.constantFrom(...sessions),
    }),
  },
)

interface Look {
  store: StoreCalls
  window: Window
  limit: number
  expected: ReturnType<typeof naively>
}

/** Reads random conversations through random windows, and compares them with a naive filter of the whole log. */
async function forRandomWindows(open: OpenStore, look: (look: Look) => Promise<void>): Promise<void> {
  const { store } = await open()
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.subarray([...allKinds], { minLength: 1 }),
      fc.option(fc.subarray(['d', 'e'])),
      fc.integer({ min: 1, max: 9 }),
      fc.option(fc.nat(40)),
      async (steps, kinds, delegations, limit, end) => {
        const conversationId = freshName('conversation')
        await store.append(proposal(conversationId, eventsOf(conversationId, steps)))
        const events = await store.read({ project, conversationId })
        for (const one of sessions) {
          const sessionId = `${conversationId} ${one}`
          const { windowStart: start, kept } = (await store.session(project, sessionId))!
          const viewer = asSession(one, agentOf[one], delegations ?? undefined)
          const window = windowOn(conversationId, { viewer, kinds, start, kept, ...(end !== null && { end }) })
          await look({ store, window, limit, expected: naively(events, sessionId, window) })
        }
      },
    ),
    { numRuns: 100 },
  )
}

function describeVisibility(open: OpenStore): void {
  it('[P12] a session sees exactly what the one predicate says, on one page or on many', async () => {
    await forRandomWindows(open, async ({ store, window, limit, expected }) => {
      expect(idsOf(await store.messages(window, { limit: 1000 }))).toEqual(expected.ids)
      expect(idsOf(await allBackwards(store, window, limit))).toEqual(expected.ids)
      expect(idsOf(await allForwards(store, window, limit))).toEqual(expected.ids)
    })
  })

  it('[P12] the size of a window is the sum of what is seen in it', async () => {
    await forRandomWindows(open, async ({ store, window, expected }) => {
      expect(await store.measure(window)).toMatchObject(expected.sums)
    })
  })
}

const idsOf = (messages: readonly Message[]) => messages.map(message => message.id)

function eventsOf(conversationId: string, steps: readonly Step[]): ConversationEvent[] {
  const events: ConversationEvent[] = [conversationCreated()]
  for (const one of sessions) events.push(sessionCreated(`${conversationId} ${one}`, { agentName: agentOf[one] }))
  for (const one of steps) {
    if (one.do === 'say') events.push(messageAdded('x', one.more))
    else {
      const sessionId = `${conversationId} ${one.sessionId}`
      const viewer = asSession(one.sessionId, agentOf[one.sessionId])
      const first = events.findIndex(
        event => event.type === 'message.added' && kindOf(event) === 'system' && isVisible(event.audience, viewer),
      )
      const kept = first < 0 ? [] : [first + 1]
      events.push(
        one.do === 'clear' ? { type: 'session.cleared', sessionId } : { type: 'session.reset', sessionId, kept },
      )
    }
  }
  return events
}

/** Looks at every event, and asks the predicate for each. */
function naively(events: readonly RecordedEvent[], sessionId: string, { viewer, kinds, end = 1000 }: Window) {
  let start = 0
  let kept: readonly number[] = []
  for (const { event, version } of events) {
    if ((event.type === 'session.cleared' || event.type === 'session.reset') && event.sessionId === sessionId) {
      start = version
      kept = event.type === 'session.reset' ? event.kept : []
    }
  }
  const ids: string[] = []
  const sums = { messages: 0, tokens: 0, input: 0, output: 0 }
  for (const { event, version } of events) {
    if (event.type !== 'message.added' || !isVisible(event.audience, viewer)) continue
    if (!kinds.includes(kindOf(event)) || !(version > start || kept.includes(version)) || version > end) continue
    ids.push(event.messageId)
    sums.messages += 1
    sums.tokens += event.tokens.count
    sums.input += event.usage?.input ?? 0
    sums.output += event.usage?.output ?? 0
  }
  return { ids, sums }
}

function kindOf({ role, internal }: Pick<MessageAdded, 'role' | 'internal'>): Kind {
  return internal ? 'internal' : role === 'system' ? 'system' : 'talk'
}
