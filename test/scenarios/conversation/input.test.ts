/** Inputs of callers, and the errors for invalid ones. Bad input never loses data. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type MessageInput, type OpenOptions, openColloquy } from 'colloquy'
import { ContentTooLarge, InvalidInput, KeyReused, NotFound, VersionConflict } from 'colloquy/errors'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'
import { folderWith } from '../../support/repository.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const feature = { type: 'feature', agentType: 'pm', featureId: 'login' } as const

function nestedValue(levels: number): unknown {
  let value: unknown = 'deep'
  for (let i = 0; i < levels; i++) value = [value]
  return value
}

describe('content', () => {
  it.each([
    ['a NUL byte', 'a\0b'],
    ['a lone surrogate', 'a\ud800b\udc00'],
    ['every kind of space', '\u2028\u2029\ufeff\t\r\n'],
    ['text that looks like a token', '<|endoftext|>'],
    ['quotes and backslashes', '\\"\'`'],
    ['more than 256 KB', 'é'.repeat(300_000)],
  ])('content with %s comes back byte for byte', async (_, content) => {
    const { colloquy } = await freshColloquy({ tokens: 'exact' })
    const session = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.sessions.addMessage(session.id, { role: 'user', content })
    expect((await colloquy.sessions.getAllMessages(session.id))[0]?.content).toBe(content)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it.each([
    ['nothing', { role: 'user' }],
    ['an empty text', { role: 'user', content: '' }],
    ['an empty text part', { role: 'user', parts: [{ type: 'text', text: '' }] }],
  ] as const)('content that is %s is refused', async (_, message) => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    await expect(colloquy.sessions.addMessage(session.id, { ...message, parts: [] })).rejects.toMatchObject({
      code: 'input/invalid',
      field: 'content',
    })
    expect(await colloquy.sessions.getAllMessages(session.id)).toEqual([])
  })

  it('content over the limit is refused, and the limit can be set', async () => {
    const { colloquy } = await freshColloquy({ maxMessageBytes: 1000 })
    const session = await colloquy.sessions.getOrCreateSession(feature)
    await expect(colloquy.sessions.addMessage(session.id, { role: 'user', content: 'é'.repeat(501) })).rejects.toThrow(
      ContentTooLarge,
    )
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'é'.repeat(500) })
    const large = { role: 'user', content: 'x', metadata: { note: 'y'.repeat(1000) } } as const
    await expect(colloquy.sessions.addMessage(session.id, large)).rejects.toThrow(ContentTooLarge)
  })

  it('content in several parts is measured in bytes, as one text is', async () => {
    const { colloquy } = await freshColloquy({ maxMessageBytes: 3000 })
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const euros = (count: number) => ({ type: 'text', text: '€'.repeat(count) }) as const
    const inParts = (...counts: number[]) =>
      colloquy.sessions.addMessage(session.id, { role: 'user', parts: counts.map(euros) })
    await expect(inParts(1000, 1000, 1000)).rejects.toThrow(ContentTooLarge)
    await expect(inParts(500, 501)).rejects.toThrow(ContentTooLarge)
    await inParts(500, 500)
  })

  it('the content of a head has a limit: a long title or reason is refused, and so is metadata that keeps growing', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const { conversationId } = session
    const tooLarge = (field: string) => ({ code: 'input/too-large', facts: expect.objectContaining({ field }) })
    const title = 'é'.repeat(2049)
    await expect(colloquy.conversations.createConversation({ title })).rejects.toMatchObject(tooLarge('title'))
    await expect(colloquy.conversations.describe(conversationId, { title })).rejects.toMatchObject(tooLarge('title'))
    const long = 'x'.repeat(300_000)
    await expect(colloquy.sessions.archiveSession(session.id, long)).rejects.toMatchObject(tooLarge('reason'))
    const { id } = await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'hello' })
    await expect(colloquy.conversations.erase(id, long)).rejects.toMatchObject(tooLarge('reason'))
    await expect(colloquy.conversations.purge(conversationId, long)).rejects.toMatchObject(tooLarge('reason'))
    expect(await colloquy.conversations.getMessage(id)).toMatchObject({ content: 'hello' })
    const some = 'x'.repeat(100_000)
    await colloquy.sessions.setMetadata(session.id, { a: some })
    await colloquy.sessions.setMetadata(session.id, { b: some })
    await expect(colloquy.sessions.setMetadata(session.id, { c: some })).rejects.toMatchObject(tooLarge('metadata'))
    await colloquy.sessions.setMetadata(session.id, { a: null, c: some })
    const { metadata } = await colloquy.sessions.getSession(session.id)
    expect(Object.keys(metadata).sort()).toEqual(['b', 'c'])
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it.each([
    ['a letter', 'é'],
    ['a space', ' '],
    ['a line break', '\n'],
    ['a sign', '!'],
    ['an emoji', '🙂'],
  ])('content of megabytes of %s is counted and kept', async (_, character) => {
    const { colloquy } = await freshColloquy({ tokens: 'exact' })
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const content = `a${character.repeat(Math.floor((15 * 1024 * 1024) / Buffer.byteLength(character)))}`
    const { tokens } = await colloquy.sessions.addMessage(session.id, { role: 'user', content })
    expect(tokens.count).toBeGreaterThan(10_000)
    expect((await colloquy.sessions.getAllMessages(session.id))[0]?.content === content).toBe(true)
  })

  it('a message keeps every key of its metadata, whatever its name', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const metadata = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as Record<string, unknown>
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'hello', metadata })
    const [message] = await colloquy.sessions.getAllMessages(session.id)
    const { sessions, conversations } = colloquy
    const ofSession = await sessions.createSession({ ...feature, featureId: 'other', metadata })
    const ofConversation = await conversations.createConversation({ title: 'x', metadata })
    const kept = [
      message?.metadata,
      (await sessions.getSession(ofSession.id)).metadata,
      (await conversations.getConversation(ofConversation.id)).metadata,
    ]
    for (const one of kept) expect(JSON.stringify(one)).toBe('{"__proto__":{"a":1},"constructor":2}')
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('a message with a part that is not JSON is refused, and not stored as an empty object', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const values = [new Error('full'), new Map([['a', 1]]), new Set([1]), /a/, Promise.resolve(1), Uint8Array.of(1)]
    for (const value of [...values, Object(5), Object('s'), new ArrayBuffer(1)]) {
      const result = { type: 'tool-result', callId: 'c', output: { value } } as const
      for (const message of [{ metadata: { value } }, { parts: [result] }, { envelope: [value] }]) {
        const adding = colloquy.sessions.addMessage(session.id, { role: 'user', content: 'a', ...message })
        await expect(adding).rejects.toMatchObject({ code: 'input/invalid' })
      }
    }
    class Point {
      x = 1
    }
    const at = new Date(0)
    const metadata = { point: new Point(), at, bare: Object.assign(Object.create(null), { y: 2 }) }
    const said = await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'a', metadata })
    expect(said.metadata).toEqual({ point: { x: 1 }, at: at.toISOString(), bare: { y: 2 } })
    expect(await colloquy.sessions.getAllMessages(session.id)).toHaveLength(1)
  })

  it('a message is returned as it will be read: holes of a list are null, and there is one zero', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    // biome-ignore lint/suspicious/noSparseArray: it is what is asked about
    const metadata = { list: [1, , 3], zero: -0 }
    const given = await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'x', metadata })
    const [read] = await colloquy.sessions.getAllMessages(session.id)
    expect(given.metadata).toStrictEqual({ list: [1, null, 3], zero: 0 })
    expect(read?.metadata).toStrictEqual(given.metadata)
  })

  it('a refused message names the part that is invalid', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const call = { type: 'tool-call', callId: 'c', name: 'x', input: 1n } as const
    const parts = [{ type: 'text', text: 'x' } as const, call]
    await expect(colloquy.sessions.addMessage(session.id, { role: 'user', parts })).rejects.toMatchObject({
      field: 'parts.1.input',
    })
  })

  it('a message keeps unknown keys of its metadata, and those that repeat a field', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const say = (message: object) =>
      colloquy.sessions.addMessage(session.id, { role: 'user', content: 'a', ...message })
    const toolUse = { name: 'grep', input: { q: 'x' }, result: 'no', isError: true }
    expect(await say({ metadata: { toolUse, tokens: { input: 1, output: 2, cacheRead: 9 } } })).toMatchObject({
      parts: [{ type: 'text' }, { type: 'tool-call', name: 'grep' }, { type: 'tool-result', output: 'no' }],
      usage: { input: 1, output: 2 },
      metadata: { toolUse, tokens: { input: 1, output: 2, cacheRead: 9 } },
    })
    expect(await say({ iteration: 1, metadata: { iteration: 2 } })).toMatchObject({
      iteration: 1,
      metadata: { iteration: 2 },
    })
    const called = await say({ metadata: { toolUse: { name: 'grep', input: {} }, taskId: 't' } })
    expect(called.parts.map(part => part.type)).toEqual(['text', 'tool-call'])
    expect(called).toMatchObject({ taskId: 't' })
    expect(called.metadata).toBeUndefined()
  })

  it('content nested deeper than a hundred levels is refused, a hundred is accepted', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const call = (input: unknown): MessageInput => ({
      role: 'assistant',
      parts: [{ type: 'tool-call', callId: 'c', name: 't', input }],
    })
    await expect(colloquy.sessions.addMessage(session.id, call(nestedValue(101)))).rejects.toThrow(/nested deeper/)
    await colloquy.sessions.addMessage(session.id, call(nestedValue(100)))
    const circular: Record<string, unknown> = {}
    circular.self = circular
    await expect(colloquy.sessions.setMetadata(session.id, circular)).rejects.toThrow(/nested deeper/)
  })

  it.each([[{ n: Number.NaN }], [{ f: () => 1 }], [{ b: 1n }]])(
    'content that is not JSON is refused: %o',
    async metadata => {
      const { colloquy } = await freshColloquy()
      const session = await colloquy.sessions.getOrCreateSession(feature)
      await expect(colloquy.sessions.addMessage(session.id, { role: 'user', content: 'x', metadata })).rejects.toThrow(
        InvalidInput,
      )
    },
  )

  it('content with an unknown field is refused by name', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const message = { role: 'user', content: 'x', contnet: 'y' } as never
    await expect(colloquy.sessions.addMessage(session.id, message)).rejects.toThrow(/contnet/)
    for (const inside of [
      { parts: [{ type: 'file', name: 'x', data: 'base64' }] },
      { content: 'x', usage: { input: 1, output: 2, total: 3 } },
      { content: 'x', audience: { to: 'everyone', agents: ['qa'] } },
    ]) {
      const adding = colloquy.sessions.addMessage(session.id, { role: 'user', ...inside } as never)
      await expect(adding).rejects.toThrow(/data|total|agents/)
    }
    expect(await colloquy.sessions.getAllMessages(session.id)).toEqual([])
  })
})

describe('ids', () => {
  it.each(['a/b/../c', '.', "it's", '"q"', 'задача-№1', '機能', 'x'.repeat(512), ' ', '__proto__'])(
    'an id may be %s',
    async featureId => {
      const { colloquy } = await freshColloquy()
      const session = await colloquy.sessions.getOrCreateSession({ ...feature, featureId })
      expect((await colloquy.sessions.getOrCreateSession({ ...feature, featureId })).id).toBe(session.id)
      expect(session.workItem).toEqual({ type: 'feature', featureId })
    },
  )

  it.each([
    ['', /empty/],
    ['x'.repeat(513), /512/],
    ['é'.repeat(300), /512/],
    ['a\0b', /NUL/],
    ['a\ud800', /surrogate/],
  ])('an id may not be %j', async (featureId, reason) => {
    const { colloquy } = await freshColloquy()
    await expect(colloquy.sessions.getOrCreateSession({ ...feature, featureId })).rejects.toMatchObject({
      code: 'input/invalid',
      field: 'featureId',
      message: expect.stringMatching(reason),
    })
  })

  it('an unknown id is not found, and the error says so', async () => {
    const { colloquy } = await freshColloquy()
    await expect(colloquy.sessions.addMessage('nobody', { role: 'user', content: 'x' })).rejects.toThrow(NotFound)
    await expect(colloquy.sessions.getAllMessages('nobody')).rejects.toThrow(/no session "nobody"/)
    await expect(colloquy.conversations.addEvent('nothing', { role: 'user', content: 'x' })).rejects.toThrow(NotFound)
    await expect(colloquy.conversations.erase('no message')).rejects.toThrow(NotFound)
    await expect(colloquy.conversations.purge('nothing')).rejects.toThrow(NotFound)
  })
})

describe('[P3] once', () => {
  it('the same idempotency key returns the first message again, also at the same moment and after a restart', async () => {
    const kept = await freshColloquy()
    const session = await kept.colloquy.sessions.getOrCreateSession(feature)
    const send = () =>
      kept.colloquy.sessions.addMessage(session.id, { role: 'user', content: 'pay' }, { idempotencyKey: 'k1' })
    const [a, b] = await Promise.all([send(), send()])
    await kept.reopen()
    const c = await send()
    expect([b, c]).toEqual([a, a])
    expect(await kept.colloquy.sessions.getAllMessages(session.id)).toHaveLength(1)
  })

  it('an idempotency key still returns the message of a session that was deleted since', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions } = colloquy
    const { id } = await sessions.createSession(feature)
    await sessions.archiveSession(id)
    type Call = (write: { idempotencyKey: string }) => Promise<unknown>
    const calls: Call[] = [
      write => sessions.reopenSession(id, write),
      write => sessions.resetSession(id, {}, write),
      write => sessions.clearMessages(id, write),
    ]
    for (const [index, call] of calls.entries()) await call({ idempotencyKey: `key ${index}` })
    await sessions.deleteSession(id)
    for (const [index, call] of calls.entries())
      expect(await call({ idempotencyKey: `key ${index}` }), String(call)).toMatchObject({ id, status: 'deleted' })
  })

  it('an idempotency key still returns a message that was erased since', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const add = () =>
      colloquy.sessions.addMessage(session.id, { role: 'user', content: 'a secret' }, { idempotencyKey: 'e' })
    const { id, version } = await add()
    await colloquy.conversations.erase(id)
    expect(await add()).toMatchObject({ id, version, content: '', missing: { because: 'erased' } })
  })

  it('a call about something else is refused under the key of an erased message', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const one = await sessions.getOrCreateSession(feature)
    const other = await sessions.getOrCreateSession({ ...feature, featureId: 'other' })
    const secret = { role: 'user', content: 'a secret' } as const
    const told = { idempotencyKey: 'told' }
    const said = { idempotencyKey: 'said' }
    await conversations.erase((await conversations.addEvent(one.conversationId, secret, told)).id)
    await conversations.erase((await sessions.addMessage(one.id, secret, said)).id)
    await expect(sessions.createSession(feature, told)).rejects.toThrow(KeyReused)
    await expect(sessions.clearMessages(one.id, told)).rejects.toThrow(KeyReused)
    await expect(conversations.addEvent(other.conversationId, secret, told)).rejects.toThrow(KeyReused)
    await expect(sessions.clearMessages(other.id, said)).rejects.toThrow(KeyReused)
  })

  it('another body under the same key is refused', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'pay 1' }, { idempotencyKey: 'k1' })
    await expect(
      colloquy.sessions.addMessage(session.id, { role: 'user', content: 'pay 2' }, { idempotencyKey: 'k1' }),
    ).rejects.toThrow(KeyReused)
  })

  it('[P3] the same body put together in another order is the same call', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const say = (message: MessageInput) =>
      colloquy.sessions.addMessage(session.id, message, { idempotencyKey: 'retried' })
    const parts = (input: object) => [{ type: 'tool-call' as const, callId: 'c1', name: 'pay', input }]
    const first = await say({ role: 'assistant', parts: parts({ to: 'shop', sum: [1, 2] }), metadata: { a: 1, b: 2 } })
    const again = await say({ metadata: { b: 2, a: 1 }, parts: parts({ sum: [1, 2], to: 'shop' }), role: 'assistant' })
    expect(again).toEqual(first)
    const other = { role: 'assistant' as const, parts: parts({ to: 'shop', sum: [2, 1] }), metadata: { a: 1, b: 2 } }
    await expect(say(other)).rejects.toThrow(KeyReused)
    expect(await colloquy.sessions.getAllMessages(session.id)).toHaveLength(1)
  })

  it('every argument, the method and its target belong to what an idempotency key stands for', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const one = await sessions.createSession(feature)
    const other = await sessions.createSession({ ...feature, featureId: 'other' })
    const first = one.conversationId
    const branch = await conversations.branch(first)
    type Call = (write: { idempotencyKey: string }) => Promise<unknown>
    const pairs: Array<[first: Call, another: Call]> = [
      [
        write => conversations.describe(first, { title: 'A' }, write),
        write => conversations.describe(other.conversationId, { title: 'A' }, write),
      ],
      [write => sessions.createSession(feature, write), write => sessions.getOrCreateSession(feature, write)],
      [
        write => conversations.branch(first, 1, { tracingId: 'a' }, write),
        write => conversations.branch(first, 1, { tracingId: 'b' }, write),
      ],
      [
        write => conversations.merge(branch.id, { conclusion: 'done', author: 'ann' }, write),
        write => conversations.merge(branch.id, { conclusion: 'done', author: 'bob' }, write),
      ],
      [
        write => sessions.archiveSession(other.id, 'done', write),
        write => sessions.archiveSession(other.id, 'no longer needed', write),
      ],
      [
        write => sessions.deleteSession(other.id, 'a mistake', write),
        write => sessions.deleteSession(other.id, 'another reason', write),
      ],
    ]
    for (const [index, [call, another]] of pairs.entries()) {
      const write = { idempotencyKey: `key ${index}` }
      await call(write)
      await expect(another(write), String(another)).rejects.toThrow(KeyReused)
      await call(write)
    }
    expect(await conversations.getConversation(other.conversationId)).toMatchObject({ title: 'Feature other' })
  })

  it('a branch off the newest version is the same branch when the conversation has gone on since', async () => {
    const { colloquy } = await freshColloquy()
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(feature)
    const write = { idempotencyKey: 'branch' }
    const branch = await colloquy.conversations.branch(conversationId, undefined, {}, write)
    await colloquy.sessions.addMessage(id, { role: 'user', content: 'on we go' })
    expect(await colloquy.conversations.branch(conversationId, undefined, {}, write)).toEqual(branch)
  })

  it('an idempotency key of a purged conversation gives an error, also where the call recorded nothing', async () => {
    const { colloquy } = await freshColloquy()
    const { conversationId } = await colloquy.sessions.getOrCreateSession(feature)
    const write = { idempotencyKey: 'there already' }
    await colloquy.sessions.getOrCreateSession(feature, write)
    await colloquy.conversations.purge(conversationId)
    await expect(colloquy.sessions.getOrCreateSession(feature, write)).rejects.toMatchObject({
      code: 'conversation/purged',
      status: 410,
    })
  })

  it.each([
    ['write', 'my-key'],
    ['write', null],
    ['idempotencykey', { idempotencykey: 'x' }],
    ['idempotencyKey', { idempotencyKey: 5 }],
    ['expectedVersion', { expectedVersion: '2' }],
    ['expectedVersion', { expectedVersion: Number.NaN }],
    ['fence', { fence: null }],
    ['fence', { fence: 'x' }],
  ])('an invalid %s among the options of a write is refused by name, and nothing is written', async (field, write) => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const adding = colloquy.sessions.addMessage(session.id, { role: 'user', content: 'a' }, write as object)
    await expect(adding).rejects.toMatchObject({ code: 'input/invalid', field })
    expect(await colloquy.sessions.getAllMessages(session.id)).toEqual([])
  })

  it('a wrong expected version changes nothing and says where the log is', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const message = { role: 'user', content: 'x' } as const
    await expect(colloquy.sessions.addMessage(session.id, message, { expectedVersion: 7 })).rejects.toMatchObject({
      code: 'log/version-conflict',
      status: 409,
      actual: 2,
    })
    await colloquy.sessions.addMessage(session.id, message, { expectedVersion: 2 })
    await expect(colloquy.sessions.addMessage(session.id, message, { expectedVersion: 2 })).rejects.toThrow(
      VersionConflict,
    )
    expect(await colloquy.sessions.getAllMessages(session.id)).toHaveLength(1)
  })
})

describe('questions', () => {
  it('an impossible query is refused by the field that is wrong, and not answered with nothing', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const { id, conversationId } = await sessions.getOrCreateSession(feature)
    await sessions.addMessage(id, { role: 'user', content: 'hello' })
    const odd = (value: unknown) => value as never
    const asked: Array<[field: string, ask: () => Promise<unknown>]> = [
      ['limit', () => conversations.listConversations({ limit: 0 })],
      ['limit', () => sessions.listSessions({ limit: -1 })],
      ['limit', () => conversations.getMessages(conversationId, { limit: 0 })],
      ['limit', () => conversations.getEvents(conversationId, { limit: 0 })],
      ['limit', async () => (await conversations.at(conversationId, 1)).messages({ limit: 0 })],
      ['limit', () => sessions.getAllMessages(id, { limit: 1.5 })],
      ['limit', () => conversations.getMessages(conversationId, { limit: 1e300 })],
      ['limit', () => sessions.getRecentContext(id, 2 ** 53)],
      ['limit', () => conversations.search({ text: 'hello', limit: 1e300 })],
      ['offset', () => conversations.search({ text: 'hello', offset: 1e300 })],
      ['limit', () => conversations.getTurns(conversationId, { limit: 0 })],
      ['cursor', () => conversations.getTurns(conversationId, { cursor: 'x' })],
      ['limit', () => conversations.getPhaseHistory(conversationId, { limit: 0 })],
      ['cursor', () => conversations.getPhaseHistory(conversationId, { cursor: 'x' })],
      ['limit', () => conversations.buildOrchestratorRoutingContext(conversationId, { limit: -1 })],
      ['author', () => conversations.search({ text: 'hello', author: '' })],
      ['participant', () => conversations.search({ participant: '' })],
      ['agentName', () => sessions.listSessions({ agentName: '' })],
      ['actor', () => colloquy.audit({ actor: '' })],
      ['from', () => conversations.getEvents(conversationId, { from: 1e300 })],
      ['before', () => sessions.getAllMessages(id, { before: 1e300 })],
      ['after', () => sessions.getAllMessages(id, { after: 1e300 })],
      ['before', () => sessions.getAllMessages(id, { before: Number.NaN })],
      ['page', () => sessions.getAllMessages(id, odd(null))],
      ['page', () => conversations.getMessages(conversationId, odd(null))],
      ['options', () => sessions.resetSession(id, odd(null))],
      ['options.keepSystemMessage', () => sessions.resetSession(id, { keepSystemMessage: odd('yes') })],
      ['name', async () => colloquy.subscribe({ name: odd('sesion:updated') })],
      ['before', () => sessions.getRecentMessages(id, 5, { before: odd('x') })],
      ['after', () => conversations.getMessages(conversationId, { after: -1 })],
      ['status.0', () => conversations.listConversations({ status: [odd('gone')] })],
      ['status.0', () => sessions.listSessions({ status: [odd('gone')] })],
      ['since', () => conversations.search({ text: 'hello', since: 'yesterday' })],
      ['since', () => conversations.search({ text: 'hello', since: '2026-02-30' })],
      ['text', () => conversations.search({ author: 'pm' })],
      ['text', () => conversations.search({ role: 'user', participant: 'pm', text: ' ' })],
      ['until', () => colloquy.audit({ until: '1' })],
      ['limit', () => conversations.search({ text: 'hello', limit: -1 })],
      ['role', () => conversations.search({ text: 'hello', role: odd('robot') })],
      ['idempotencyKey', () => sessions.addMessage(id, { role: 'user', content: 'x' }, { idempotencyKey: odd(5) })],
      ['workItem', () => conversations.findConversation(odd(undefined))],
      ['workItem.type', () => sessions.getSessionLinks(odd({ type: 'x' }))],
      ['input', () => conversations.claim(conversationId, 'pm', odd(null))],
      ['forMs', () => conversations.claim(conversationId, 'pm', { forMs: Number.NaN })],
      ['fence', () => conversations.releaseClaim(odd('x'))],
      ['forMs', () => conversations.renewClaim({ name: 'x', generation: 1 }, -1)],
      ['input', () => conversations.branch(conversationId, 1, odd(null))],
      ['lines', () => conversations.restoreLines(odd(undefined))],
      ['signal', () => conversations.purge(conversationId, 'why', { signal: odd('now') })],
      ['keep', () => sessions.forceCompact(id, { keep: odd(Number.NaN) })],
      ['budget', () => sessions.forceCompact(id, { budget: Number.NaN })],
      ['system', () => sessions.setOutsideId(id, '', 'x')],
      ['outsideId', () => sessions.setOutsideId(id, 'claude', '')],
      ['input', () => colloquy.verify(odd(null))],
      ['limit', () => colloquy.totals({ limit: Number.NaN })],
      ['limit', () => colloquy.audit({ limit: -1 })],
      ['signal', async () => colloquy.subscribe({ signal: odd('x') })],
      ['from', () => conversations.replay(conversationId, { from: -1 }).next()],
    ]
    for (const [field, ask] of asked) {
      await expect(ask(), String(ask)).rejects.toMatchObject({ code: 'input/invalid', field })
    }
    expect(await sessions.getAllMessages(id)).toHaveLength(1)
  })

  it('a query may give a time in any form of ISO', async () => {
    const { conversations } = (await freshColloquy()).colloquy
    for (const since of ['2026-11-18', '2026-11-18T10:00', '2026-11-18T10:00Z', '2026-11-18T10:00:00.5+01:00']) {
      expect(await conversations.search({ text: 'hello', since })).toEqual({ messages: [], conversations: [] })
    }
  })

  it('a query with a misspelt filter is refused by its name, and not answered as if it were not there', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const { id, conversationId } = await sessions.getOrCreateSession(feature)
    const odd = (value: object) => value as never
    const asked: Array<[field: string, ask: () => Promise<unknown>]> = [
      ['autor', () => conversations.search(odd({ text: 'hello', autor: 'pm' }))],
      ['agent', () => sessions.listSessions(odd({ agent: 'pm' }))],
      ['statuses', () => conversations.listConversations(odd({ statuses: ['active'] }))],
      ['limt', () => sessions.getAllMessages(id, odd({ limt: 1 }))],
      ['fom', () => conversations.getEvents(conversationId, odd({ fom: 2 }))],
      ['options.keepSystemMesage', () => sessions.resetSession(id, odd({ keepSystemMesage: false }))],
      ['lmt', () => conversations.getTurns(conversationId, odd({ lmt: 1 }))],
      ['turnID', () => conversations.undoTurn(conversationId, odd({ turnID: 'an older one' }))],
      ['execution', () => conversations.stopExecution(conversationId, odd({ agent: 'pm', execution: 'another' }))],
      ['alProjects', () => colloquy.verify(odd({ alProjects: true }))],
      ['actr', () => colloquy.audit(odd({ actr: 'me' }))],
      ['form', async () => colloquy.subscribe(odd({ form: 'start' }))],
    ]
    for (const [field, ask] of asked) {
      await expect(ask(), String(ask)).rejects.toMatchObject({ code: 'input/invalid', field })
    }
  })

  it('a search without a text returns the conversations that pass the filters', async () => {
    const { colloquy } = await freshColloquy()
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.sessions.addMessage(id, { role: 'user', author: 'ann', content: 'hello' })
    const { messages, conversations } = await colloquy.conversations.search({ participant: 'ann' })
    expect(messages).toEqual([])
    expect(conversations).toMatchObject([{ conversationId }])
  })
})

describe('words about sessions and conversations', () => {
  it('text about a session or conversation that is no string is refused by name, and nothing of it is recorded', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const { id, conversationId } = await sessions.getOrCreateSession(feature)
    const { id: messageId } = await sessions.addMessage(id, { role: 'user', content: 'hello' })
    const before = await conversations.getEvents(conversationId)
    const odd = (value: unknown) => value as never
    const point = { conversationId, version: 2 }
    const told: Array<[field: string, tell: () => Promise<unknown>]> = [
      ['title', () => conversations.describe(conversationId, { title: odd(5) })],
      ['metadata', () => conversations.describe(conversationId, { metadata: odd('text') })],
      ['metadata', () => sessions.setMetadata(id, odd('text'))],
      ['metadata', () => sessions.setMetadata(id, odd([1]))],
      ['metadata', () => sessions.setMetadata(id, odd(null))],
      ['reason', () => sessions.archiveSession(id, odd(5))],
      ['reason', () => sessions.deleteSession(id, odd(5))],
      ['title', () => conversations.createConversation(odd(undefined))],
      ['input', () => conversations.createConversation({ title: 'Login', initial: odd('') })],
      ['id', () => conversations.createConversation(odd({ title: 'Login', id: 'login' }))],
      ['metdata', () => conversations.createConversation(odd({ title: 'Login', metdata: { a: 1 } }))],
      ['branchOf', () => conversations.createConversation(odd({ title: 'Login', branchOf: point }))],
      ['changes', () => conversations.describe(conversationId, odd(null))],
      ['changes.titel', () => conversations.describe(conversationId, odd({ titel: 'Login' }))],
      ['reason', () => conversations.erase(messageId, odd(5))],
      ['reason', () => conversations.erase(messageId, odd(5n))],
      ['reason', () => conversations.purge(conversationId, odd({ why: 'done' }))],
      ['idempotencyKey', () => sessions.archiveSession(id, odd(5n), { idempotencyKey: 'once' })],
      ['pinned', () => conversations.pinMessage(messageId, odd('no'))],
      ['agent', () => conversations.acknowledge(conversationId, odd(null), 1)],
      [
        'agent',
        () => conversations.previewAgentMessages(conversationId, odd({ session: id }), { trigger: { messageId } }),
      ],
      ['agent', () => conversations.claim(conversationId, odd(undefined))],
      ['write', () => sessions.resetSession(id, {}, odd(5))],
      ['key', () => sessions.resetSession(id, {}, odd({ key: 'once' }))],
      ['upTo', () => conversations.acknowledge(conversationId, 'pm', odd('2'))],
      ['upTo', () => conversations.acknowledge(conversationId, 'pm', -1)],
      ['archive', () => conversations.restoreFrom(odd(5))],
      ['input', () => sessions.updateContext(id, odd('text'))],
      ['root', () => sessions.updateContext(id, { root: odd(5) })],
      ['feature.name', () => sessions.updateContext(id, { feature: odd({ id: 'login' }) })],
      ['task.title', () => sessions.updateContext(id, { task: odd({ id: 'form' }) })],
      ['dagSummary', () => sessions.updateContext(id, { dagSummary: odd(5) })],
      ['limits.commits', () => sessions.updateContext(id, { limits: { commits: odd('ten') } })],
      ['dag', () => sessions.updateContext(id, odd({ dag: 'One task' }))],
    ]
    for (const [field, tell] of told) {
      await expect(tell(), String(tell)).rejects.toMatchObject({ code: 'input/invalid', field })
    }
    for (const nobody of [5, undefined, null]) {
      await expect(sessions.getSession(odd(nobody))).rejects.toThrow(NotFound)
      await expect(sessions.addMessage(odd(nobody), { role: 'user', content: 'x' })).rejects.toThrow(NotFound)
      await expect(conversations.getConversation(odd(nobody))).rejects.toThrow(NotFound)
    }
    expect(await conversations.getEvents(conversationId)).toEqual(before)
  })

  it('an invalid text takes nothing back from a branch', async () => {
    const { colloquy } = await freshColloquy()
    const { conversations } = colloquy
    const { id } = await conversations.createConversation({ title: 'Login' })
    const branch = await conversations.branch(id)
    const odd = (value: unknown) => value as never
    const taken = (write: unknown) => conversations.merge(branch.id, { conclusion: 'Done' }, odd(write))
    await expect(taken(null)).rejects.toMatchObject({ code: 'input/invalid', field: 'write' })
    await expect(taken({ idempotencyKey: null })).rejects.toMatchObject({ field: 'idempotencyKey' })
    expect(await conversations.getEvents(id)).toHaveLength(1)
  })

  it('an invalid text brings back nothing that was purged', async () => {
    const { colloquy } = await freshColloquy()
    const { conversations } = colloquy
    const { id } = await conversations.createConversation({ title: 'Login' })
    await conversations.purge(id)
    const odd = (value: unknown) => value as never
    const told: Array<[field: string, restore: () => Promise<unknown>]> = [
      ['reason', () => conversations.restore(id, odd(5))],
      ['idempotencyKey', () => conversations.restore(id, 'needed', { idempotencyKey: '' })],
      ['idempotencykey', () => conversations.restore(id, 'needed', odd({ idempotencykey: 'once' }))],
    ]
    for (const [field, restore] of told) {
      await expect(restore(), String(restore)).rejects.toMatchObject({ code: 'input/invalid', field })
      await expect(conversations.getConversation(id)).rejects.toMatchObject({ code: 'conversation/purged' })
    }
    expect(await conversations.restore(id, 'needed', { idempotencyKey: 'once' })).toMatchObject({ status: 'active' })
  })
})

describe('options', () => {
  it.each([
    ['clock', { clock: 5 }],
    ['ids', { ids: 'random' }],
    ['tokens', { tokens: 'some' }],
    ['durability', { durability: 'maybe' }],
    ['sessionExpiresInMs', { sessionExpiresInMs: -1 }],
    ['maxMessageBytes', { maxMessageBytes: 0 }],
    ['sharing.thread', { sharing: { thread: 'everything' } }],
    ['phases', { phases: 5 }],
    ['phases.initial', { phases: { initial: 5, phases: {} } }],
    ['durabilty', { durabilty: 'relaxed' }],
    ['agents.modle', { agents: { modle: 'x' } }],
    ['dispatch.guards.hoplimit', { dispatch: { guards: { hoplimit: 3 } } }],
    ['projects.bank.requests.buget', { projects: { bank: { requests: { buget: 3 } } } }],
    ['readOnly', { readOnly: 'false' }],
    ['redact', { redact: 'false' }],
    ['resolvers', { resolvers: 5 }],
    ['configuration', { configuration: false }],
  ])('%s that is impossible is refused by name', async (field, options) => {
    await expect(freshColloquy(options as never)).rejects.toMatchObject({ code: 'input/invalid', field })
  })

  it('unknown options are refused', async () => {
    for (const none of [null, 'sqlite::memory:', 5]) {
      await expect(openColloquy(none as never)).rejects.toMatchObject({ code: 'input/invalid', field: 'options' })
    }
  })

  it('impossible options of a request are refused by name, also for an agent', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const { id, conversationId } = await sessions.getOrCreateSession(feature)
    await sessions.addMessage(id, { role: 'user', content: 'hello' })
    await sessions.buildRequest(id, 'hi')
    const odd: Array<[string, object]> = [
      ['budget', { budget: Number.NaN }],
      ['budget', { budget: '8000' }],
      ['strategy', { strategy: 'recent' }],
      ['strategy.name', { strategy: { name: 'nope' } }],
      ['strategy.messages', { strategy: { name: 'recent', messages: -1 } }],
    ]
    for (const [field, options] of odd) {
      for (const asked of [
        sessions.buildRequest(id, 'x', options),
        sessions.previewRequest(id, 'x', options),
        conversations.buildAgentMessages(conversationId, 'pm', { trigger: 'x', ...options }),
      ]) {
        await expect(asked).rejects.toMatchObject({ code: 'input/invalid', field })
      }
    }
    for (const message of [undefined, null, 5, {}]) {
      await expect(sessions.previewRequest(id, message as never)).rejects.toMatchObject({ code: 'input/invalid' })
    }
    await expect(sessions.previewRequest(id, 'x', { modle: 'y' } as object)).rejects.toThrow(/modle/)
    const recent = await sessions.previewRequest(id, 'x', { strategy: { name: 'recent' } as never })
    expect(recent.strategy).toBe('recent')
  })
})

describe('a clock', () => {
  it('a clock with fractions is rounded down: what it dates can be purged and restored', async () => {
    let now = Date.parse('2026-11-15T10:00:00Z') + 0.5
    const { colloquy } = await freshColloquy({ clock: () => now++ })
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(feature)
    const { timestamp } = await colloquy.sessions.addMessage(id, { role: 'user', content: 'x' })
    expect(timestamp).toMatch(/^2026-11-15T10:00:00\.\d{3}Z$/)
    const before = await colloquy.conversations.getEvents(conversationId)
    const { archive } = await colloquy.conversations.purge(conversationId)
    await colloquy.conversations.restoreFrom(archive)
    const after = await colloquy.conversations.getEvents(conversationId)
    expect(after.map(event => event.hash)).toEqual(before.map(event => event.hash))
  })

  it.each([[Number.NaN], [Number.POSITIVE_INFINITY], ['now'], [undefined]])(
    'a clock that gives %s is refused by name, and nothing is recorded',
    async time => {
      let gives: unknown = Date.parse('2026-11-15T10:00:00Z')
      const { colloquy } = await freshColloquy({ clock: () => gives as number })
      const { id } = await colloquy.sessions.getOrCreateSession({ ...feature, expiresInMs: null })
      gives = time
      const message = { role: 'user', content: 'x' } as const
      await expect(colloquy.sessions.addMessage(id, message)).rejects.toMatchObject({
        code: 'input/invalid',
        field: 'clock',
      })
      gives = Date.parse('2026-11-15T10:00:01Z')
      expect(await colloquy.sessions.getAllMessages(id)).toEqual([])
    },
  )
})

describe('stores', () => {
  it('a store that does not come from a Colloquy door is refused, with the doors that do', async () => {
    await expect(freshColloquy({ store: 'mysql://x' })).rejects.toThrow(/sqlite:path/)
    await expect(freshColloquy({ store: 'nonsense' })).rejects.toMatchObject({ code: 'store/unusable' })
  })
})

describe('opening', () => {
  it.each([[''], ['http://x'], ['file:///x'], [5 as never]])(
    'opening with %j for archives is refused with the accepted values, and creates no store',
    async archives => {
      const file = join(temporaryFolder(), 'colloquy.db')
      await expect(openColloquy({ store: `sqlite:${file}`, archives })).rejects.toMatchObject({
        code: 'input/invalid',
        field: 'archives',
        message: expect.stringContaining('Name a folder'),
      })
      expect(existsSync(file)).toBe(false)
    },
  )

  it.each<[string, OpenOptions]>([
    ['dispatch.leaseMs', { dispatch: { leaseMs: -1 } }],
    ['projects', { projects: { '': { agents: { autorun: true } } } }],
  ])('opening that is refused for its %s leaves no store open', async (field, options) => {
    const folder = temporaryFolder()
    vi.stubEnv('TMPDIR', folder)
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(openColloquy({ ...options, store: 'sqlite::memory:' })).rejects.toMatchObject({ field })
    // A temporary one goes away when it is closed.
    expect(readdirSync(folder)).toEqual([])
  })

  it('opening with a NUL in the name of the store is refused', async () => {
    await expect(openColloquy({ store: 'sqlite:a\0b' })).rejects.toMatchObject({ code: 'store/unusable' })
  })

  it.each([[5], [{}], [''], ['colloquy.db']])(
    'opening with %j for a store is refused with the accepted values',
    async store => {
      await expect(openColloquy({ store: store as string })).rejects.toMatchObject({
        code: 'store/unusable',
        message: expect.stringMatching(/Nothing was opened. Use sqlite:path/),
      })
    },
  )

  it('opening accepts a time between sweeps that no timer can wait for, and does not sweep all the time instead', async () => {
    const warnings: string[] = []
    const note = ({ name }: Error) => warnings.push(name)
    process.on('warning', note)
    onTestFinished(() => void process.off('warning', note))
    await freshColloquy({ sweepEveryMs: 2 ** 31, executionLeaseMs: 2 ** 40 })
    await new Promise(setImmediate)
    expect(warnings).not.toContain('TimeoutOverflowWarning')
  })

  it('opening accepts a folder on a drive for archives', async () => {
    const { colloquy } = await freshColloquy({ archives: 'C:\\archives' })
    expect(await colloquy.conversations.listConversations()).toMatchObject({ items: [] })
  })

  it('opening applies the same rule where a configuration file names the archives', async () => {
    const folder = folderWith({ 'colloquy.config.yaml': 'archives: http://x' })
    const configuration = join(folder, 'colloquy.config.yaml')
    await expect(openColloquy({ configuration, store: 'sqlite::memory:' })).rejects.toMatchObject({ field: 'archives' })
  })
})
