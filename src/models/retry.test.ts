import fc from 'fast-check'
import { expect, it } from 'vitest'
import { answerOf } from './answer.ts'
import type { ModelPart, ModelRequest } from './model.ts'
import { type RetrySettings, retrying } from './retry.ts'
import { type ScriptedAnswer, scriptedModel } from './scripted/scripted.ts'

const request: ModelRequest = { system: '', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] }
const busy = { failure: { kind: 'overloaded' } } as const

/** Runs without waiting, and says how long it would have waited. */
async function run(answers: ScriptedAnswer[], settings: Partial<RetrySettings> = {}, random = () => 0.5) {
  const waits: number[] = []
  const wait = async (milliseconds: number) => {
    waits.push(milliseconds)
    return true
  }
  const parts: ModelPart[] = []
  const model = retrying(scriptedModel(answers), settings, { random, wait })
  for await (const part of model.stream(request)) parts.push(part)
  return { parts, waits }
}

it('a retried call is repeated until an answer comes, at growing distances', async () => {
  const { parts, waits } = await run([busy, busy, busy, 'There you are.'])
  expect(parts.at(-1)).toMatchObject({ type: 'finish' })
  expect(waits).toEqual([750, 1500, 3000])
})

it('a retried call gives the last failure when the attempts are used up', async () => {
  const { parts, waits } = await run([busy], { attempts: 3 })
  expect(parts.at(-1)).toMatchObject({ type: 'failure', kind: 'overloaded' })
  expect(waits).toHaveLength(2)
})

it('a failure that a retry cannot help is returned at once', async () => {
  const { parts, waits } = await run([{ failure: { kind: 'context-too-long' } }, 'never asked'])
  expect(parts.at(-1)).toMatchObject({ type: 'failure', kind: 'context-too-long' })
  expect(waits).toEqual([])
})

it('a retry waits at least as long as the provider wants, and gives up where that is too long', async () => {
  const after = (retryAfterMs: number): ScriptedAnswer => ({ failure: { kind: 'rate-limited', retryAfterMs } })
  const { waits } = await run([after(20_000), 'Here.'])
  expect(waits[0]).toBeGreaterThanOrEqual(20_000)
  const impatient = await run([after(90_000), 'never asked'])
  expect(impatient.waits).toEqual([])
  expect(impatient.parts.at(-1)).toMatchObject({ kind: 'rate-limited', retryAfterMs: 90_000 })
})

it('a retry says that it waits and why, and begins the answer again', async () => {
  const answers: ScriptedAnswer[] = [{ text: 'Half of', failure: { kind: 'network' } }, 'The whole.']
  const { parts } = await run(answers)
  expect(parts.map(part => part.type).filter(type => !type.startsWith('text'))).toEqual([
    'start',
    'waiting',
    'start',
    'finish',
  ])
  const model = retrying(scriptedModel(answers), {}, { wait: async () => true })
  expect((await answerOf(model, request)).text).toBe('The whole.')
})

it('a retried call keeps its text when it is cancelled while it waits', async () => {
  const controller = new AbortController()
  const model = retrying(scriptedModel([{ text: 'Half of', failure: { kind: 'network' } }, 'never asked']))
  const waiting = answerOf(
    {
      ...model,
      async *stream(asked) {
        for await (const part of model.stream(asked)) {
          if (part.type === 'waiting') controller.abort()
          yield part
        }
      },
    },
    { ...request, signal: controller.signal },
  )
  expect(await waiting).toMatchObject({ ok: false, text: 'Half of', failure: { kind: 'cancelled' } })
})

it('a retry never waits longer than the longest wait, nor less than the hint, whatever the random number', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.integer({ min: 1, max: 12 }),
      fc.nat(60_000),
      async (chance, attempts, retryAfterMs) => {
        const answer: ScriptedAnswer = { failure: { kind: 'rate-limited', retryAfterMs } }
        const { waits } = await run([answer], { attempts }, () => chance)
        expect(waits).toHaveLength(attempts - 1)
        for (const wait of waits) {
          expect(wait).toBeGreaterThanOrEqual(retryAfterMs)
          expect(wait).toBeLessThanOrEqual(60_000)
          expect(wait).toBeGreaterThan(0)
        }
      },
    ),
  )
})
