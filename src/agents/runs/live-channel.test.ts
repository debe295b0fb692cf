import { expect, it } from 'vitest'
import { type LivePart, type LiveUpdate, liveChannel } from './live-channel.ts'

const liveUpdate = (part: LivePart, runId = 'r'): LiveUpdate => ({
  project: 'shop',
  conversationId: 'c',
  sessionId: 's',
  runId,
  agent: 'pm',
  part,
})
const word = (text: string, runId?: string) => liveUpdate({ type: 'text-delta', id: 'text', text }, runId)

it('deltas that a slow reader has not read are joined, each run by itself', async () => {
  const { publish, listen } = liveChannel()
  const reader = listen({ project: 'shop' })
  for (const text of ['a', 'b', 'c']) {
    publish(word(text))
    publish(word(text.toUpperCase(), 'other'))
  }
  expect((await reader.next()).value).toEqual(word('abc'))
  expect((await reader.next()).value).toEqual(word('ABC', 'other'))
})

it('a reader that stops reading loses its backlog at the limit, and is told so', async () => {
  const { publish, listen } = liveChannel()
  const reader = listen({ project: 'shop' })
  for (let number = 0; number < 3000; number++) publish(word('x'.repeat(1000)))
  publish(liveUpdate({ type: 'text-end', id: 'text' }))
  const parts: LivePart[] = []
  while (parts.at(-1)?.type !== 'text-end') parts.push((await reader.next()).value!.part)
  expect(parts[0]).toEqual({ type: 'missed' })
  const kept = parts.reduce((sum, part) => sum + ('text' in part ? part.text.length : 0), 0)
  expect(kept).toBeLessThanOrEqual(200_000)
})

it('a reader may start with the output so far of answers in progress', async () => {
  const { publish, listen } = liveChannel()
  publish(liveUpdate({ type: 'run-start', model: 'm' }))
  publish(liveUpdate({ type: 'start', model: 'm' }))
  for (const text of ['one', ' two']) publish(word(text))
  const reader = listen({ project: 'shop', soFar: true })
  const fromNow = listen({ project: 'shop' })
  publish(liveUpdate({ type: 'finish', stopReason: 'stop' }))
  expect((await reader.next()).value).toEqual(liveUpdate({ type: 'start', model: 'm' }))
  expect((await reader.next()).value).toEqual(word('one two'))
  expect((await fromNow.next()).value!.part.type).toBe('finish')
  publish(liveUpdate({ type: 'run-end', outcome: 'done' }))
  const after = listen({ project: 'shop', soFar: true })
  publish(liveUpdate({ type: 'run-start', model: 'm' }, 'next'))
  expect((await after.next()).value!.runId).toBe('next')
})
