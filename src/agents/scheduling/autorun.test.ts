/** Autorun keeps following the log when a subscription fails. */
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

/** Each subscription yields one message and then fails, except for the last. */
function autorunWith(failures: readonly Error[]) {
  const [from, answered] = [[] as unknown[], [] as string[]]
  async function* subscribe({ from: position, signal }: SubscribeOptions) {
    const number = from.push(position)
    const failure = failures[number - 1]
    yield messageAdded(`message ${number}`)
    if (failure) throw failure
    await new Promise(resolve => signal!.addEventListener('abort', resolve))
  }
  const store = { subscribe, position: async () => 'at the start' }
  const port = {
    conversations: { getConversation: async () => ({ id: 'c', status: 'active' }) },
    agents: {
      run: async (_: unknown, { trigger }: { trigger: { messageId: string } }) => answered.push(trigger.messageId),
    },
    orchestrate: async () => undefined,
  }
  const project = { engine: { store } as unknown as Engine, scope }
  const stop = autorun(port as never, { defaultAgent: 'dev', leaseMs: 60_000 }, project)
  onTestFinished(stop)
  return { from, answered }
}

it('autorun continues after the last message it saw when a subscription fails', async () => {
  const { from, answered } = autorunWith([new StoreFailed('the disk was away')])
  await expect.poll(() => answered, { timeout: 5000 }).toEqual(['message 1', 'message 2'])
  expect(from).toEqual([undefined, 'at message 1'])
})

it('autorun continues from now when the store was restored meanwhile', async () => {
  const failures = [new StoreFailed('the server was away'), new PositionUnknown('at message 1', 'another store')]
  const { from, answered } = autorunWith(failures)
  await expect.poll(() => answered, { timeout: 5000 }).toHaveLength(3)
  expect(from).toEqual([undefined, 'at message 1', undefined])
})
