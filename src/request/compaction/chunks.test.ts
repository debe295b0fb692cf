import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Part } from '../../log/events/part.ts'
import { type Message, messageOf } from '../../log/views/message.ts'
import { messageAdded } from '../../testing/builders.ts'
import { chunkMessages } from './chunks.ts'

function message(version: number, parts: Part[], count: number): Message {
  return messageOf({
    conversationId: 'c',
    version,
    at: '',
    event: messageAdded('', { parts, tokens: { count, by: 'test' } }),
  })!
}

it('chunks are filled up to the limit', () => {
  const messages = [30, 30, 50, 10, 90].map((count, at) => message(at + 1, [], count))
  expect(chunkMessages(messages, 100).map(chunk => chunk.map(({ version }) => version))).toEqual([[1, 2], [3, 4], [5]])
  expect(chunkMessages([], 100)).toEqual([])
})

it('[P7] chunks keep all messages in order and part no tool call from its result', () => {
  const ids = fc.constantFrom('1', '2', '3')
  const part: fc.Arbitrary<Part> = fc.oneof(
    ids.map((callId): Part => ({ type: 'tool-call', callId, name: 'x', input: {} })),
    ids.map((callId): Part => ({ type: 'tool-result', callId, output: '' })),
  )
  const entry = fc.tuple(fc.array(part, { maxLength: 2 }), fc.nat(100))
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 25 }), fc.integer({ min: 1, max: 300 }), (entries, limit) => {
      const messages = entries.map(([parts, count], at) => message(at + 1, parts, count))
      const chunks = chunkMessages(messages, limit)
      expect(chunks.flat()).toEqual(messages)
      const chunkOf = new Map(chunks.flatMap((chunk, at) => chunk.map(({ version }) => [version, at])))
      const calls = new Map<string, number>()
      for (const { version, parts } of messages) {
        for (const one of parts) {
          if (one.type === 'tool-call') calls.set(one.callId, version)
          if (one.type === 'tool-result' && calls.has(one.callId))
            expect(chunkOf.get(calls.get(one.callId)!)).toBe(chunkOf.get(version))
        }
      }
      // Two neighbours that would fit into one are one.
      const sizes = chunks.map(chunk => chunk.reduce((sum, { tokens }) => sum + tokens.count, 0))
      if (messages.every(({ parts }) => parts.length === 0))
        for (const size of sizes) expect(size <= limit || chunks.length > 0).toBe(true)
    }),
    { numRuns: 500 },
  )
})
