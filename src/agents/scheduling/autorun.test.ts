/** Whoever starts agents by what is said goes on listening, whatever becomes of one subscription. */
import { expect, it, onTestFinished } from 'vitest'
import { PositionUnknown, StoreFailed } from '../../errors.ts'
import type { Engine } from '../../log/engine.ts'
import type { SubscribeOptions } from '../../log/event-log.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import { autorun } from './autorun.ts'

const scope = { project: 'shop', actor: 'ada', channel: 'test' }

function messageAdded(messageId: string): RecordedEvent {
  return {
    ...scope,
    conversationId: 'c',
    version: 1,
    position: `at ${messageId}`,
    at: '2026-11-15T10:00:00.000Z',
    hash: '',
    event: {
      type: 'message.added',
      messageId,
      role: 'user',
      author: 'ada',
      audience: { to: 'everyone' },
      parts: [{ type: 'text', text: 'Hello' }],
      tokens: { count: 1, by: 'fast' },
    },
  }
}

/** Each subscription gives one message, and fails then but for the last. */
function autorunWith(failures: readonly Error[]) {
  const [from, answered] = [[] as unknown[], [] as string[]]
  async function* subscribe({ from: place, signal }: SubscribeOptions) {
    const number = from.push(place)
    const failure = failures[number - 1]
    yield messageAdded(`message ${number}`)
    if (failure) throw failure
    await new Promise(resolve => signal!.addEventListener('abort', resolve))
  }
  const store = { subscribe, position: async () => 'at the start' }
  const watched = {
    conversations: { getConversation: async () => ({ id: 'c', status: 'active' }) },
    agents: {
      run: async (_: unknown, { trigger }: { trigger: { messageId: string } }) => answered.push(trigger.messageId),
    },
    orchestrate: async () => undefined,
  }
  const place = { engine: { store } as unknown as Engine, scope }
  const stop = autorun(watched as never, { defaultAgent: 'dev', leaseMs: 60_000 }, place)
  onTestFinished(stop)
  return { from, answered }
}

it('goes on behind what it heard last', async () => {
  const { from, answered } = autorunWith([new StoreFailed('the disk was away')])
  await expect.poll(() => answered, { timeout: 5000 }).toEqual(['message 1', 'message 2'])
  expect(from).toEqual([undefined, 'at message 1'])
})

it('in a store that was put back meanwhile goes on from now', async () => {
  const failures = [new StoreFailed('the server was away'), new PositionUnknown('at message 1', 'another store')]
  const { from, answered } = autorunWith(failures)
  await expect.poll(() => answered, { timeout: 5000 }).toHaveLength(3)
  expect(from).toEqual([undefined, 'at message 1', undefined])
})
