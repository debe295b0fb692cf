import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Audience } from '../events/audience.ts'
import type { ConversationEvent } from '../events/event.ts'
import type { MessageAdded } from '../events/message.ts'
import type { Part } from '../events/part.ts'
import { blobsIn, blobThreshold, decode, digestOf, encode, freshSalt, genesis, type Header, hashOf } from './record.ts'

// Any UTF-16 there is: NUL bytes and lone surrogates included.
const unit = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code)) },
)
const text = fc.string({ unit, maxLength: 20 })
const id = fc.string({ minLength: 1, maxLength: 10 })
/** Long enough to be stored apart, now and then just at the edge. */
const longText = fc
  .tuple(text, fc.integer({ min: -3, max: 3 }), fc.constantFrom('a', 'é', '登', '\0', '"'))
  .map(([start, off, filler]) => start + filler.repeat(blobThreshold + off))
const anyText = fc.oneof({ weight: 60, arbitrary: text }, { weight: 1, arbitrary: longText })
const json = fc.oneof(
  { weight: 60, arbitrary: fc.jsonValue({ stringUnit: unit }) },
  { weight: 1, arbitrary: longText.map(long => ({ long, list: [long, null] })) },
  { weight: 1, arbitrary: longText },
  { weight: 1, arbitrary: fc.constantFrom(null, 0, false, '') },
)
const metadata = fc.dictionary(text, fc.jsonValue({ stringUnit: unit }))

const optional = <T>(of: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(of, { requiredKeys: [] })

const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: anyText }),
  fc.record({ type: fc.constant('tool-call' as const), callId: id, name: id, input: json }),
  fc.record(
    { type: fc.constant('tool-result' as const), callId: id, name: id, output: json, isError: fc.boolean() },
    { requiredKeys: ['type', 'callId', 'output'] },
  ),
  fc.record(
    { type: fc.constant('reasoning' as const), text: anyText, signature: text },
    { requiredKeys: ['type', 'text'] },
  ),
  fc.record(
    { type: fc.constant('file' as const), name: id, mediaType: text, path: text, url: text, text: anyText },
    { requiredKeys: ['type', 'name'] },
  ),
)

const audience: fc.Arbitrary<Audience> = fc.oneof(
  fc.constant({ to: 'everyone' as const }),
  fc.constant({ to: 'internal' as const }),
  fc.record({ to: fc.constant('session' as const), sessionId: fc.constantFrom('s', 't', 'own') }),
  fc.record({ to: fc.constant('agents' as const), agents: fc.array(id, { minLength: 1, maxLength: 4 }) }),
  fc.record({ to: fc.constant('delegation' as const), delegationId: id }),
)

const message: fc.Arbitrary<MessageAdded> = fc
  .tuple(
    fc.record({
      type: fc.constant('message.added' as const),
      messageId: id,
      role: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const),
      author: fc.oneof(fc.constantFrom('user', 'assistant', 'system'), id),
      audience,
      parts: fc.array(part, { maxLength: 4 }),
      tokens: fc.record({ count: fc.nat(), by: id }),
    }),
    optional<Omit<MessageAdded, 'type' | 'messageId' | 'role' | 'author' | 'audience' | 'parts' | 'tokens'>>({
      sessionId: fc.constantFrom('s', 't'),
      agentType: id,
      featureId: id,
      taskId: id,
      iteration: fc.nat(),
      addressees: fc.array(id, { maxLength: 3 }),
      mentions: fc.array(id, { maxLength: 3 }),
      replyTo: id,
      internal: fc.boolean(),
      pinned: fc.boolean(),
      usage: fc.record(
        { input: fc.nat(), output: fc.nat(), cacheRead: fc.nat(), cost: fc.constantFrom(0, 0.25) },
        { requiredKeys: ['input', 'output'] },
      ),
      metadata,
      envelope: json,
    }),
  )
  .map(([needed, more]) => ({ ...needed, ...more }))

function roundTrip(event: ConversationEvent) {
  const encoded = encode(event)
  const blobs = new Map(encoded.blobs.map(blob => [blob.digest, blob.json]))
  return { encoded, decoded: decode(encodedRow(encoded), digest => blobs.get(digest)) }
}

function encodedRow({ type, schema, body, messageId }: ReturnType<typeof encode>) {
  return { type, schema, body, messageId }
}

describe('encoding an event', () => {
  it('any message comes back from its encoding as it was', () => {
    fc.assert(
      fc.property(message, event => {
        const asJson = JSON.parse(JSON.stringify(event))
        expect(roundTrip(structuredClone(event)).decoded).toEqual(asJson)
      }),
      { numRuns: 200 },
    )
  })

  it('the body is well-formed text without NUL bytes, whatever the message', () => {
    fc.assert(
      fc.property(message, event => {
        const { body, blobs } = roundTrip(event).encoded
        for (const stored of [body, ...blobs.map(blob => blob.json)]) {
          expect(stored.includes('\0')).toBe(false)
          expect(stored.isWellFormed()).toBe(true)
        }
      }),
    )
  })

  it('parts that are stored apart are large, and the body says where they are', () => {
    fc.assert(
      fc.property(message, event => {
        const { body, blobs } = roundTrip(event).encoded
        for (const blob of blobs) expect(blob.json.length).toBeGreaterThan(blobThreshold)
        expect(blobsIn(body)).toEqual(blobs.map(blob => blob.digest))
      }),
    )
  })

  it('every other event comes back from its encoding as it was', () => {
    const events: ConversationEvent[] = [
      {
        type: 'conversation.created',
        title: 'a\0\ud800',
        workItem: { type: 'bead', beadId: 'b' },
        metadata: { blobs: [[0, 'text', 'x']] },
      },
      { type: 'conversation.annotated', metadata: { a: null } },
      {
        type: 'session.created',
        sessionId: 's',
        agentName: 'dev',
        agentType: 'dev',
        sharing: 'messages',
        expiresInMs: null,
      },
      { type: 'session.reset', sessionId: 's', kept: [3] },
      { type: 'session.linked', sessionId: 's', system: 'claude', outsideId: null },
      { type: 'message.erased', messageId: 'm', version: 4, reason: 'asked' },
    ]
    for (const event of events) expect(roundTrip(structuredClone(event)).decoded).toEqual(event)
  })

  it('an erased body is an erased event, whatever its type', () => {
    const stored = { type: 'message.added', schema: 1, body: null, messageId: 'm' }
    expect(decode(stored, () => undefined)).toEqual({ type: 'erased', storedType: 'message.added', messageId: 'm' })
  })

  it('[P13] a body that is not JSON, or lacks a blob, is a damaged event, not an exception', () => {
    const large: MessageAdded = {
      type: 'message.added',
      messageId: 'm',
      role: 'user',
      author: 'user',
      audience: { to: 'everyone' },
      parts: [{ type: 'text', text: 'x'.repeat(blobThreshold + 1) }],
      tokens: { count: 1, by: 'test' },
    }
    const row = encodedRow(encode(large))
    for (const body of ['', '{', row.body.slice(0, -1)]) {
      expect(decode({ ...row, body }, () => undefined)).toMatchObject({ type: 'damaged', messageId: 'm' })
    }
    expect(decode(row, () => undefined)).toMatchObject({ type: 'damaged', storedType: 'message.added' })
    expect(decode(row, () => '{')).toMatchObject({ type: 'damaged' })
  })
})

describe('the hash chain', () => {
  const header: Header = {
    version: 2,
    type: 'message.added',
    schema: 1,
    at: 5,
    actor: 'holder',
    channel: 'test',
    messageId: 'm',
    lane: { audience: 'everyone', kind: 'talk' },
    adds: { messages: 1, tokens: 2, input: 3, output: 4 },
  }
  const digest = digestOf(Buffer.alloc(16), 'body')

  it('[P13] a hash changes with everything it covers', () => {
    const before = genesis('shop', 'c')
    const hash = hashOf(before, header, digest).toString('hex')
    const changes: Array<Partial<Header>> = [
      { version: 3 },
      { type: 'message.erased' },
      { schema: 2 },
      { at: 6 },
      { actor: 'eve' },
      { channel: 'http' },
      { requestId: 'r' },
      { messageId: undefined },
      { lane: { audience: 'internal', kind: 'talk' } },
      { lane: { audience: 'everyone', kind: 'system' } },
      { lane: undefined },
      { adds: { messages: 1, tokens: 2, input: 3, output: 5 } },
      { adds: undefined },
    ]
    const others = [
      ...changes.map(change => hashOf(before, { ...header, ...change }, digest)),
      hashOf(genesis('bank', 'c'), header, digest),
      hashOf(genesis('shop', 'd'), header, digest),
      hashOf(before, header, digestOf(Buffer.alloc(16), 'bodY')),
      hashOf(before, header, digestOf(Buffer.alloc(16, 1), 'body')),
    ].map(other => other.toString('hex'))
    expect(new Set([hash, ...others]).size).toBe(others.length + 1)
  })

  it('a hash is the same on every machine and in every version of this program', () => {
    expect(genesis('shop', 'c').toString('hex')).toMatchInlineSnapshot(
      `"1ee25dd45157d71b9fc6877430c4eabaec678211eae7cf90cf0cd7ccef0fa78c"`,
    )
    expect(hashOf(genesis('shop', 'c'), header, digest).toString('hex')).toMatchInlineSnapshot(
      `"c179204c9fa918435da01e4f51a5c75227081f11b12594c5573c1575122314e7"`,
    )
  })

  it('every salt is different', () => {
    const salts = Array.from({ length: 1000 }, () => Buffer.from(freshSalt()).toString('hex'))
    expect(new Set(salts).size).toBe(1000)
  })
})
