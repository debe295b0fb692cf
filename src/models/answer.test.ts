import { expect, it } from 'vitest'
import { answerCollector } from './answer.ts'
import type { ModelPart } from './model.ts'

const collected = (...parts: ModelPart[]) => {
  const collector = answerCollector()
  for (const part of parts) collector.add(part)
  return collector.answer()
}

it('an answer puts blocks in the order in which they began, however they overlap', () => {
  const answer = collected(
    { type: 'start', model: 'm' },
    { type: 'text-start', id: '1' },
    { type: 'tool-call-start', id: 'c', name: 'read' },
    { type: 'text-delta', id: '1', text: 'Let me ' },
    { type: 'text-start', id: '2' },
    { type: 'text-delta', id: '2', text: 'And more.' },
    { type: 'text-delta', id: '1', text: 'look.' },
    { type: 'tool-call-end', id: 'c', name: 'read', input: { path: 'a' } },
    { type: 'finish', stopReason: 'tool-calls', usage: { input: 1, output: 2 } },
  )
  expect(answer).toEqual({
    ok: true,
    stopReason: 'tool-calls',
    usage: { input: 1, output: 2 },
    text: 'Let me look.And more.',
    content: [
      { type: 'text', text: 'Let me look.' },
      { type: 'tool-call', callId: 'c', name: 'read', input: { path: 'a' } },
      { type: 'text', text: 'And more.' },
    ],
  })
})

it('an answer counts only what came after the last start', () => {
  const answer = collected(
    { type: 'start', model: 'm' },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', text: 'First try' },
    { type: 'start', model: 'm' },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', text: 'Second try' },
    { type: 'finish', stopReason: 'stop' },
  )
  expect(answer.text).toBe('Second try')
})

it('an answer is a failure as long as no end has come, with its text and without calls', () => {
  const answer = collected(
    { type: 'start', model: 'm' },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', text: 'Half' },
    { type: 'tool-call-start', id: 'c', name: 'remove' },
    { type: 'tool-call-end', id: 'c', name: 'remove', input: {} },
  )
  expect(answer).toMatchObject({ ok: false, text: 'Half', content: [{ type: 'text' }], failure: { kind: 'network' } })
})

it('an answer keeps reasoning that has only a signature, and drops empty parts', () => {
  const answer = collected(
    { type: 'reasoning-start', id: '1' },
    { type: 'reasoning-end', id: '1', signature: 's' },
    { type: 'reasoning-start', id: '2' },
    { type: 'reasoning-end', id: '2' },
    { type: 'text-start', id: '3' },
    { type: 'text-end', id: '3' },
    { type: 'finish', stopReason: 'stop' },
  )
  expect(answer.content).toEqual([{ type: 'reasoning', text: '', signature: 's' }])
})
