import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Part } from '../../log/events/part.ts'
import { messageSize } from '../text/sizes.ts'
import { type CuttableMessage, cutPoint } from './cut-point.ts'

const text: Part = { type: 'text', text: 'x' }
const call = (callId: string): Part => ({ type: 'tool-call', callId, name: 'read', input: {} })
const result = (callId: string): Part => ({ type: 'tool-result', callId, output: 'x' })

/** Messages from letters: u user, a assistant, and `a:1+2` calls, `r:1` result. Each takes 100 tokens with its overhead. */
function log(...entries: string[]): CuttableMessage[] {
  return entries.map((entry, at) => {
    const [who, ids = ''] = entry.split(':')
    const parts = ids === '' ? [text] : ids.split('+').map(who === 'r' ? result : call)
    const message = {
      version: (at + 1) * 10,
      role: who === 'u' || who === 'r' ? 'user' : 'assistant',
      author: 'a',
      parts,
      tokens: { count: 0 },
    }
    return { ...message, tokens: { count: 100 - messageSize(message) } }
  })
}

describe('cutPoint', () => {
  it('the cut point keeps as much of the newest as the tokens hold', () => {
    const messages = log('u', 'a', 'u', 'a', 'u', 'a')
    expect(cutPoint({ messages, keepTokens: 400 })).toBe(20)
    expect(cutPoint({ messages, keepTokens: 399 })).toBe(30)
  })

  it('the cut point leaves nothing to summarise when all of it fits or there is nothing', () => {
    expect(cutPoint({ messages: log('u', 'a'), keepTokens: 200 })).toBeUndefined()
    expect(cutPoint({ messages: [], keepTokens: 0 })).toBeUndefined()
  })

  it('cuts a turn that is too large inside, at whole pairs', () => {
    const messages = log('u', 'a', 'u', 'a:1', 'r:1', 'a')
    expect(cutPoint({ messages, keepTokens: 0 })).toBe(60)
    expect(cutPoint({ messages, keepTokens: 250 })).toBe(50)
    expect(cutPoint({ messages, keepTokens: 400 })).toBe(20)
  })

  it('keeps an instruction that nobody has answered yet', () => {
    expect(cutPoint({ messages: log('u', 'a', 'u'), keepTokens: 0 })).toBe(20)
    expect(cutPoint({ messages: log('u'), keepTokens: 0 })).toBeUndefined()
  })

  it('keeps the result that the next request answers, with its call', () => {
    const messages = log('u', 'a', 'a:1', 'r:1')
    expect(cutPoint({ messages, keepTokens: 0, trigger: 40 })).toBe(20)
    expect(cutPoint({ messages, keepTokens: 0 })).toBe(40)
  })

  it('keeps calls that still run', () => {
    expect(cutPoint({ messages: log('u', 'a', 'a:1', 'r:1', 'a:2'), keepTokens: 0 })).toBe(40)
  })

  it('[P7] the cut point parts no tool call from its result, whether parallel, far apart or across a user message', () => {
    expect(cutPoint({ messages: log('u', 'a:1+2', 'r:1', 'a', 'r:2', 'u'), keepTokens: 300 })).toBe(50)
    expect(cutPoint({ messages: log('u', 'a', 'a:1', 'u', 'r:1'), keepTokens: 0 })).toBe(20)
  })

  it('the cut point is not held up by a call that was aborted in an earlier turn', () => {
    expect(cutPoint({ messages: log('u', 'a:1', 'u', 'a', 'u'), keepTokens: 100 })).toBe(40)
  })

  it('the cut point without any user message keeps the calls that still run', () => {
    expect(cutPoint({ messages: log('a', 'a:1', 'r:1', 'a:2+3', 'r:2'), keepTokens: 0 })).toBe(30)
    expect(cutPoint({ messages: log('a', 'a:1', 'r:1'), keepTokens: 0 })).toBe(30)
  })

  it('7: never splits a pair, and keeps an unanswered instruction, in any log', () => {
    const entry = fc.record({
      role: fc.constantFrom('user', 'assistant'),
      parts: fc.array(
        fc.oneof(
          fc.constant(text),
          fc.constantFrom('1', '2', '3').map(call),
          fc.constantFrom('1', '2', '3').map(result),
        ),
        { maxLength: 3 },
      ),
      count: fc.nat(200),
    })
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 20 }), fc.nat(2_000), (entries, keepTokens) => {
        const messages = entries.map(({ role, parts, count }, at) => ({
          version: at + 1,
          role,
          author: 'a',
          parts,
          tokens: { count },
        }))
        const upTo = cutPoint({ messages, keepTokens })
        if (upTo === undefined) return
        const newest = messages.findLastIndex(({ role, parts }) => role === 'user' && parts.includes(text))
        const isAnswered = messages.slice(newest + 1).some(({ role }) => role === 'assistant')
        if (newest >= 0 && !isAnswered) expect(upTo).toBeLessThan(messages[newest]!.version)
        // A result belongs to the newest call of its id before it.
        const calls = new Map<string, number>()
        for (const { version, parts } of messages) {
          for (const part of parts) {
            if (part.type === 'tool-call') calls.set(part.callId, version)
            if (part.type === 'tool-result' && calls.has(part.callId))
              expect(calls.get(part.callId)! <= upTo).toBe(version <= upTo)
          }
        }
      }),
      { numRuns: 1_000 },
    )
  })
})
