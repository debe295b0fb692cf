import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerOf } from './answer.ts'
import { gate, limited } from './limited.ts'
import type { Model, ModelPriority, ModelRequest } from './model.ts'
import { scriptedModel } from './scripted/scripted.ts'

const request: ModelRequest = { system: '', messages: [] }
const settled = () => new Promise(resolve => setImmediate(resolve))

/** A model whose calls end when the test lets them. */
function heldModel(): { model: Model; begun: string[]; release(name: string): void } {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const model = scriptedModel(async ({ system }) => {
    begun.push(system)
    await new Promise<void>(resolve => ends.set(system, resolve))
    return 'done'
  })
  return { model, begun, release: name => ends.get(name)!() }
}

describe('a limited model', () => {
  it('a limited model is called so many times at once, in the order of the calls', async () => {
    const { model, begun, release } = heldModel()
    const one = limited(model, gate(2))
    const calls = ['a', 'b', 'c', 'd'].map(system => answerOf(one, { ...request, system }))
    await settled()
    expect(begun).toEqual(['a', 'b'])
    release('b')
    await calls[1]
    await settled()
    expect(begun).toEqual(['a', 'b', 'c'])
    release('a')
    release('c')
    await calls[0]
    await settled()
    release('d')
    expect((await Promise.all(calls)).map(answer => answer.text)).toEqual(['done', 'done', 'done', 'done'])
  })

  it('a limited model serves a person before agents, and those before background work', async () => {
    const { model, begun, release } = heldModel()
    const entrance = gate(1)
    const one = limited(model, entrance)
    const ask = (system: string, priority?: ModelPriority) =>
      answerOf(one, { ...request, system, ...(priority && { priority }) })
    const calls = [ask('first', 'background')]
    await settled()
    calls.push(ask('summary', 'background'), ask('task'), ask('chat', 'person'), ask('chat 2', 'person'))
    await settled()
    expect(entrance.waiting).toBe(4)
    for (const name of ['first', 'chat', 'chat 2', 'task', 'summary']) {
      expect(begun.at(-1)).toBe(name)
      release(name)
      await settled()
      await settled()
      await settled()
    }
    await Promise.all(calls)
    expect(entrance).toMatchObject({ inside: 0, waiting: 0 })
  })

  it('a limited model keeps one place free of background work where there are several', async () => {
    const entrance = gate(3)
    const [first, second, third] = [1, 2, 3].map(() => entrance.enter('background'))
    await Promise.all([first, second])
    expect(entrance).toMatchObject({ inside: 2, waiting: 1 })
    const leave = await entrance.enter('person')
    expect(entrance.inside).toBe(3)
    leave?.()
    expect(entrance).toMatchObject({ inside: 2, waiting: 1 })
    ;(await first)?.()
    await third
    expect(entrance).toMatchObject({ inside: 2, waiting: 0 })
  })

  it('a limited model drops a queued call that is cancelled', async () => {
    const entrance = gate(1)
    const leave = await entrance.enter('normal')
    const controller = new AbortController()
    const waiting = answerOf(limited(scriptedModel('never'), entrance), { ...request, signal: controller.signal })
    await settled()
    controller.abort()
    expect(await waiting).toMatchObject({ ok: false, failure: { kind: 'cancelled' } })
    expect(entrance.waiting).toBe(0)
    leave?.()
    leave?.()
    expect(entrance.inside).toBe(0)
  })

  it('a limited model frees a place when its reader leaves, and when its model breaks', async () => {
    const entrance = gate(1)
    for await (const part of limited(scriptedModel('some words'), entrance).stream(request)) {
      if (part.type === 'text-delta') break
    }
    expect(entrance.inside).toBe(0)
    const broken = limited(
      scriptedModel(() => {
        throw new Error('broken')
      }),
      entrance,
    )
    expect(await answerOf(broken, request)).toMatchObject({ ok: false, failure: { kind: 'failed' } })
    expect(entrance.inside).toBe(0)
  })
})

it('a limited model is never fuller than its limit, and every call gets in or is cancelled', async () => {
  const priority = fc.constantFrom<ModelPriority>('person', 'normal', 'background')
  const visitor = fc.record({ priority, givesUp: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(visitor, { maxLength: 20 }), async (places, visitors) => {
      const entrance = gate(places)
      let most = 0
      const visits = visitors.map(async ({ priority, givesUp }) => {
        const controller = new AbortController()
        const entering = entrance.enter(priority, controller.signal)
        if (givesUp) queueMicrotask(() => controller.abort())
        const leave = await entering
        most = Math.max(most, entrance.inside)
        await settled()
        leave?.()
      })
      await Promise.all(visits)
      expect(most).toBeLessThanOrEqual(places)
      expect(entrance).toMatchObject({ inside: 0, waiting: 0 })
    }),
    { numRuns: 50 },
  )
})
