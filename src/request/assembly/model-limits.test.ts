/** Limits of a model, by any of its names. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { modelLimits } from './model-limits.ts'

describe('a model is found', () => {
  it.each([
    ['claude-opus-4-5', 200_000, 64_000],
    ['anthropic:claude-opus-4-5-20251101', 200_000, 64_000],
    ['claude-opus-4-20250514', 200_000, 32_000],
    ['claude-opus-4-7', 1_000_000, 128_000],
    ['claude-opus-5-5', 1_000_000, 128_000],
    ['claude-haiku-4-5-20251001', 200_000, 64_000],
    ['claude-3-5-sonnet-latest', 200_000, 8_192],
    ['openrouter:anthropic/claude-opus-4.7', 1_000_000, 128_000],
    ['anthropic/claude-4.7-opus-20260416', 1_000_000, 128_000],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 200_000, 64_000],
    ['us.amazon.nova-micro-v1:0', 128_000, 5_000],
    ['gpt-5.5-2026-04-23', 1_050_000, 128_000],
    ['openai/gpt-5.5-20260423', 1_050_000, 128_000],
    ['gpt-5-2025-08-07', 400_000, 128_000],
    ['gpt-4.1-mini-2025-04-14', 1_047_576, 32_768],
    ['gpt-4o-mini-2024-07-18', 128_000, 16_384],
    ['gpt-4-0613', 8_192, 4_096],
    ['o1-mini-2024-09-12', 128_000, 65_536],
    ['gemini-2.5-flash', 1_048_576, 65_535],
    ['deepseek-chat', 131_072, 8_192],
    ['workers-ai/@cf/openai/gpt-oss-20b', 131_072, 131_072],
    ['@cf/meta/llama-3.1-8b-instruct', 131_072, 8_192],
    ['meta-llama/Llama-3.3-70B-Instruct-Turbo', 131_072, 8_192],
    ['ollama:llama3.1:8b', 131_072, 8_192],
    ['llama3:8b', 8_192, 4_096],
    ['qwen2.5-coder:7b', 32_768, 8_192],
  ])('a model is found: %s', (name, contextWindow, outputLimit) => {
    expect(modelLimits(name)).toMatchObject({ contextWindow, outputLimit, known: true })
  })
})

it('the input limit of a model is given where it has one of its own', () => {
  expect(modelLimits('gpt-5').inputLimit).toBe(272_000)
  expect(modelLimits('claude-opus-4-5').inputLimit).toBeUndefined()
})

it('an unknown model has the stated default, and says so', () => {
  const unknown = { contextWindow: 128_000, outputLimit: 4_096, known: false }
  for (const name of ['somebody:new-model', 'o100', 'claudette', '', 'constructor']) {
    expect(modelLimits(name)).toEqual(unknown)
  }
})

describe('configuration', () => {
  const ours = { contextWindow: 32_000, outputLimit: 1_000 }

  it('configuration adds a model, by exact name or by its beginning', () => {
    expect(modelLimits('house:ours-large', { 'ours-large': ours })).toEqual({ ...ours, known: true })
    expect(modelLimits('house:ours-large-q4', { 'house:ours-large': ours })).toEqual({ ...ours, known: true })
  })

  it('configuration overrides the built-in list', () => {
    expect(modelLimits('ollama:llama3.1:8b', { 'llama3.1': ours }).contextWindow).toBe(32_000)
  })
})

it('any model name has limits', () => {
  fc.assert(
    fc.property(fc.string(), name => {
      const { contextWindow, outputLimit } = modelLimits(name)
      expect(contextWindow).toBeGreaterThanOrEqual(outputLimit)
    }),
  )
})
