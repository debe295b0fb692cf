import fc from 'fast-check'
import { expect, it } from 'vitest'
import { costOf, priceOf } from './prices.ts'

it('prices know a model by its name, dated or not, at its own provider only', () => {
  expect(priceOf('anthropic:claude-haiku-4-5-20251001')).toEqual(priceOf('anthropic:claude-haiku-4-5'))
  expect(priceOf('openai:gpt-4.1-2025-04-14')).toMatchObject({ input: 2, output: 8, cacheRead: 0.5 })
  expect(priceOf('openai:gpt-4o-2024-05-13')).toMatchObject({ input: 5 })
  expect(priceOf('ollama:gpt-4.1')).toBeUndefined()
})

it('prices are never guessed from a related name', () => {
  for (const name of ['openai:gpt-5.9', 'openai:gpt-5-turbo', 'anthropic:claude-opus-4-99', 'anthropic:claude', '']) {
    expect(priceOf(name)).toBeUndefined()
  }
})

it('prices prefer configuration, for one provider or for all', () => {
  const mine = { input: 1, output: 1 }
  expect(priceOf('anthropic:claude-opus-4-7', { 'claude-opus-4-7': mine })).toBe(mine)
  expect(priceOf('ollama:qwen3', { 'ollama:qwen3': mine })).toBe(mine)
  expect(priceOf('vllm:qwen3', { 'ollama:qwen3': mine })).toBeUndefined()
  expect(priceOf('vllm:constructor', {})).toBeUndefined()
})

it('prices charge cache reads and writes at their own rate, and as input where they have none', () => {
  const usage = { input: 1_000_000, output: 0, cacheRead: 1_000_000, cacheWrite: 1_000_000 }
  expect(costOf(usage, { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 })).toBeCloseTo(7.05, 10)
  expect(costOf(usage, { input: 3, output: 15 })).toBeCloseTo(9, 10)
})

it('prices charge long requests as a whole at the rate of long requests', () => {
  const price = priceOf('openai:gpt-5.4')!
  expect(costOf({ input: 272_000, output: 0 }, price)).toBeCloseTo(0.68, 10)
  expect(costOf({ input: 172_000, output: 1_000_000, cacheRead: 100_001 }, price)).toBeCloseTo(23.4100005, 6)
})

it('prices never cost less for more', () => {
  const amount = fc.nat(1_000_000)
  const usages = fc.record({ input: amount, output: amount, cacheRead: amount, cacheWrite: amount })
  fc.assert(
    fc.property(usages, fc.constantFrom('anthropic:claude-opus-4-5', 'openai:gpt-5.5'), (usage, name) => {
      const price = priceOf(name)!
      const cost = costOf(usage, price)
      for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) {
        expect(costOf({ ...usage, [kind]: usage[kind] + 1 }, price)).toBeGreaterThan(cost)
      }
    }),
  )
})
