import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerOf } from './answer.ts'
import { callLimiter, limited } from './call-limiter.ts'
import type { Model, ModelPriority, ModelRequest } from './model.ts'
import { scriptedModel } from './scripted/scripted.ts'

const request: ModelRequest = { system: '', messages: [] }
const settled = () => new Promise(resolve => setImmediate(resolve))

/** A model whose calls end when the test releases them. */
function heldModel(): { model: Model; started: string[]; release(name: string): void } {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const model = scriptedModel(async ({ system }) => {
    started.push(system)
    await new Promise<void>(resolve => ends.set(system, resolve))
    return 'done'
  })
  return { model, started, release: name => ends.get(name)!() }
}

describe('a limited model', () => {
  it('runs only so many calls at a time, in the order they came', async () => {
    const { model, started, release } = heldModel()
    const limitedModel = limited(model, callLimiter(2))
    const calls = ['a', 'b', 'c', 'd'].map(system => answerOf(limitedModel, { ...request, system }))
    await settled()
    expect(started).toEqual(['a', 'b'])
    release('b')
    await calls[1]
    await settled()
    expect(started).toEqual(['a', 'b', 'c'])
    release('a')
    release('c')
    await calls[0]
    await settled()
    release('d')
    expect((await Promise.all(calls)).map(answer => answer.text)).toEqual(['done', 'done', 'done', 'done'])
  })

  it('runs calls of a person before those of agents, and these before background work', async () => {
    const { model, started, release } = heldModel()
    const limiter = callLimiter(1)
    const limitedModel = limited(model, limiter)
    const ask = (system: string, priority?: ModelPriority) =>
      answerOf(limitedModel, { ...request, system, ...(priority && { priority }) })
    const calls = [ask('first', 'background')]
    await settled()
    calls.push(ask('summary', 'background'), ask('task'), ask('chat', 'person'), ask('chat 2', 'person'))
    await settled()
    expect(limiter.waiting).toBe(4)
    for (const name of ['first', 'chat', 'chat 2', 'task', 'summary']) {
      expect(started.at(-1)).toBe(name)
      release(name)
      await settled()
      await settled()
      await settled()
    }
    await Promise.all(calls)
    expect(limiter).toMatchObject({ running: 0, waiting: 0 })
  })

  it('keeps one of several slots free of background work', async () => {
    const limiter = callLimiter(3)
    const [first, second, third] = [1, 2, 3].map(() => limiter.acquire('background'))
    await Promise.all([first, second])
    expect(limiter).toMatchObject({ running: 2, waiting: 1 })
    const release = await limiter.acquire('person')
    expect(limiter.running).toBe(3)
    release?.()
    expect(limiter).toMatchObject({ running: 2, waiting: 1 })
    ;(await first)?.()
    await third
    expect(limiter).toMatchObject({ running: 2, waiting: 0 })
  })

  it('leaves the queue when it is cancelled while waiting', async () => {
    const limiter = callLimiter(1)
    const release = await limiter.acquire('normal')
    const controller = new AbortController()
    const waiting = answerOf(limited(scriptedModel('never'), limiter), { ...request, signal: controller.signal })
    await settled()
    controller.abort()
    expect(await waiting).toMatchObject({ ok: false, failure: { kind: 'cancelled' } })
    expect(limiter.waiting).toBe(0)
    release?.()
    release?.()
    expect(limiter.running).toBe(0)
  })

  it('releases its slot when its reader leaves, and when its model fails', async () => {
    const limiter = callLimiter(1)
    for await (const part of limited(scriptedModel('some words'), limiter).stream(request)) {
      if (part.type === 'text-delta') break
    }
    expect(limiter.running).toBe(0)
    const broken = limited(
      scriptedModel(() => {
        throw new Error('broken')
      }),
      limiter,
    )
    expect(await answerOf(broken, request)).toMatchObject({ ok: false, failure: { kind: 'failed' } })
    expect(limiter.running).toBe(0)
  })
})

it('a limiter never exceeds its limit, and every call runs or is cancelled', async () => {
  const priority = fc.constantFrom<ModelPriority>('person', 'normal', 'background')
  const call = fc.record({ priority, isCancelled: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(call, { maxLength: 20 }), async (slots, calls) => {
      const limiter = callLimiter(slots)
      let maxRunning = 0
      const results = calls.map(async ({ priority, isCancelled }) => {
        const controller = new AbortController()
        const slot = limiter.acquire(priority, controller.signal)
        if (isCancelled) queueMicrotask(() => controller.abort())
        const release = await slot
        maxRunning = Math.max(maxRunning, limiter.running)
        await settled()
        release?.()
      })
      await Promise.all(results)
      expect(maxRunning).toBeLessThanOrEqual(slots)
      expect(limiter).toMatchObject({ running: 0, waiting: 0 })
    }),
    { numRuns: 50 },
  )
})
