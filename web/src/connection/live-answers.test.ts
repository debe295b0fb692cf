import type { LiveEvent, LiveWords } from 'colloquy/client'
import { expect, it } from 'vitest'
import { type LiveAnswers, noAnswers, withEvent, withWords } from './live-answers.ts'

const run = {
  name: 'run:live',
  project: 'shop',
  conversationId: 'c',
  sessionId: 's',
  runId: 'r',
  agent: 'dev',
} as const
const said = (parts: LiveWords['part'][], from: LiveAnswers = noAnswers) =>
  parts.reduce((answers, part) => withWords(answers, { ...run, part }), from)

it('a live answer is put together as it comes', () => {
  const answers = said([
    { type: 'run-start' },
    { type: 'start' },
    { type: 'reasoning-delta', id: '0', text: 'hm' },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', text: 'It ' },
    { type: 'text-delta', id: '1', text: 'works' },
    { type: 'tool-start', callId: 't', name: 'read_file' },
  ])
  expect(answers.get('r')).toMatchObject({
    agent: 'dev',
    text: 'It works',
    reasoning: 'hm',
    tools: [{ id: 't', name: 'read_file', isRunning: true }],
  })
})

it('a live answer begins again when the model does', () => {
  const answers = said([{ type: 'start' }, { type: 'text-delta', id: '1', text: 'half' }, { type: 'start' }])
  expect(answers.get('r')?.text).toBe('')
})

it('a live answer gives way to the log', () => {
  const half = said([{ type: 'start' }, { type: 'text-delta', id: '1', text: 'whole' }])
  const message = { type: 'message.added', sessionId: 's', event: { role: 'assistant' } } as unknown as LiveEvent
  expect(withEvent(half, message).get('r')?.text).toBe('')
  expect(withEvent(half, { ...message, sessionId: 'other' }).get('r')?.text).toBe('whole')
  const ended = { type: 'run.ended', sessionId: 's', event: { runId: 'r' } } as unknown as LiveEvent
  expect(withEvent(half, ended).size).toBe(0)
  expect(said([{ type: 'run-end' }], half).size).toBe(0)
})
