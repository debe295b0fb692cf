/** Time at work: per conversation and agent, across restarts, and right after a crash too. */

import { openColloquy } from 'colloquy'
import { IllegalState, LeaseHeld } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import { freshColloquy, hour } from '../../support/colloquy.ts'

async function conversation(options = {}) {
  const store = await freshColloquy(options)
  const { id } = await store.colloquy.conversations.createConversation({ title: 'Login' })
  return Object.assign(store, { id })
}

/** Whole hours: the clock of the tests moves by a millisecond with every look. */
const hours = (ms: number | undefined) => Math.floor((ms ?? 0) / hour)

describe('time at work', () => {
  it('execution time adds up per agent and for the conversation, across restarts', async () => {
    const store = await conversation({ executionLeaseMs: 100 * hour })
    const { id, pass } = store
    await store.colloquy.conversations.startExecution(id, 'dev')
    pass(2 * hour)
    await store.colloquy.conversations.startExecution(id, 'qa')
    pass(hour)
    await store.colloquy.conversations.stopExecution(id, { agent: 'dev' })
    await store.colloquy.conversations.stopExecution(id, { agent: 'qa' })
    pass(50 * hour)
    const colloquy = await store.reopen()
    await colloquy.conversations.startExecution(id, 'dev')
    pass(4 * hour)
    const running = await colloquy.conversations.getExecutionTime(id)
    expect(running).toMatchObject({ isActive: true, running: [{ agent: 'dev' }] })
    expect([hours(running.totalMs), hours(running.agents.dev), hours(running.agents.qa)]).toEqual([8, 7, 1])
    const stopped = await colloquy.conversations.stopExecution(id, { agent: 'dev' })
    expect(stopped).toMatchObject({ isActive: false, running: [] })
    expect(hours(stopped.totalMs)).toBe(8)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('the execution time of an agent runs once at a time', async () => {
    const { colloquy, id } = await conversation()
    const { executionId } = await colloquy.conversations.startExecution(id, 'dev')
    await expect(colloquy.conversations.startExecution(id, 'dev')).rejects.toThrow(LeaseHeld)
    await colloquy.conversations.stopExecution(id, { agent: 'dev', executionId })
    const { version } = await colloquy.conversations.getConversation(id)
    await colloquy.conversations.stopExecution(id, { agent: 'dev', executionId })
    expect((await colloquy.conversations.getConversation(id)).version).toBe(version)
    await expect(colloquy.conversations.stopExecution(id, { agent: 'dev' })).rejects.toThrow(IllegalState)
    await colloquy.conversations.startExecution(id, 'dev')
  })

  it('[P3] execution time starts once under an idempotency key', async () => {
    const { colloquy, id } = await conversation()
    const start = () => colloquy.conversations.startExecution(id, 'dev', { idempotencyKey: 'run-1' })
    expect(await start()).toEqual(await start())
    expect((await colloquy.conversations.getExecutionTime(id)).running).toHaveLength(1)
  })

  it('execution time goes on being counted when the conversation is completed meanwhile', async () => {
    const { colloquy, id, pass } = await conversation({ executionLeaseMs: 10 * hour })
    await colloquy.conversations.startExecution(id, 'dev')
    pass(hour)
    await colloquy.conversations.complete(id)
    expect(hours((await colloquy.conversations.stopExecution(id, { agent: 'dev' })).totalMs)).toBe(1)
  })
})

describe('an agent that died at work', () => {
  it('the execution of an agent that died is closed at the last thing it is known to have done, by the next reader', async () => {
    const { colloquy, id, pass } = await conversation({ executionLeaseMs: hour })
    await colloquy.conversations.startExecution(id, 'dev')
    pass(3 * hour)
    await colloquy.conversations.addEvent(id, { role: 'assistant', author: 'dev', content: 'half way' })
    pass(5 * hour)
    await colloquy.conversations.addEvent(id, { role: 'user', content: 'still there?' })
    pass(5 * hour)
    const time = await colloquy.conversations.getExecutionTime(id)
    expect(time).toMatchObject({ isActive: false })
    expect(hours(time.agents.dev)).toBe(3)
    const last = (await colloquy.conversations.getEvents(id)).at(-1)
    expect(last?.event).toMatchObject({ type: 'execution.stopped', agent: 'dev', crashed: true })
  })

  it('the execution of an agent that died without doing anything counts nothing, and its next run replaces it', async () => {
    const { colloquy, id, pass } = await conversation({ executionLeaseMs: hour })
    await colloquy.conversations.startExecution(id, 'dev')
    pass(3 * hour)
    await colloquy.conversations.startExecution(id, 'dev')
    const { agents, running } = await colloquy.conversations.getExecutionTime(id)
    expect([hours(agents.dev), running.length]).toEqual([0, 1])
  })

  it('the execution of an agent that died is found by the sweep, while one that still holds its lease is left alone', async () => {
    const { colloquy, id, pass } = await conversation({ executionLeaseMs: 10 * hour })
    await colloquy.conversations.startExecution(id, 'dev')
    pass(2 * hour)
    expect(await colloquy.maintain()).toMatchObject({ crashedExecutions: 0 })
    pass(20 * hour)
    expect(await colloquy.maintain()).toMatchObject({ crashedExecutions: 1 })
    expect(await colloquy.maintain()).toMatchObject({ crashedExecutions: 0 })
  })

  it('the execution of an agent that died is found when the store is opened next', async () => {
    const { colloquy, id, store } = await conversation()
    await colloquy.conversations.startExecution(id, 'dev')
    await colloquy.close()
    const later = Date.parse('2026-11-16T10:00:00Z')
    const next = await openColloquy({ store, project: 'shop', tokens: 'fast', clock: () => later })
    for await (const update of next.subscribe({ from: 'start' })) if (update.action === 'execution') break
    let stopped = false
    for await (const { event } of next.subscribe({ from: 'start', conversationId: id })) {
      if (event.event.type !== 'execution.stopped') continue
      stopped = true
      expect(event).toMatchObject({ actor: 'maintenance', event: { crashed: true } })
      break
    }
    expect(stopped).toBe(true)
    await next.close()
  })
})
