/**
 * Prices of models in US dollars per million tokens, as their makers publish them. Configuration adds or overrides
 * prices, because they change and contracts differ.
 *
 * Unlike limits, a price is never guessed from a related name: `gpt-5.9` is not priced like `gpt-5`. Only a date at the
 * end of a name is ignored.
 */
import { z } from 'zod'
import type { Usage } from '../log/events/message.ts'

/** US dollars per million tokens. */
const Rate = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  /** Tokens read from the provider's cache; default: as `input`. */
  cacheRead: z.number().nonnegative().optional(),
  /** Tokens written to the provider's cache; default: as `input`. */
  cacheWrite: z.number().nonnegative().optional(),
})
const Price = Rate.extend({
  /** Price of a request with more tokens than this, for all of its tokens. */
  above: Rate.extend({ inputTokens: z.int().positive() }).optional(),
})
export type Price = Readonly<z.output<typeof Price>>

/** Prices by `provider:model`, or by `model` alone for every provider. */
export const PriceTable = z.record(z.string().min(1), Price).readonly()
export type PriceTable = z.output<typeof PriceTable>

type Row = readonly [names: string, input: number, output: number, cacheRead?: number, cacheWrite?: number]

const anthropic: readonly Row[] = [
  ['claude-3-haiku', 0.25, 1.25, 0.03, 0.3],
  ['claude-3-opus claude-opus-4 claude-opus-4-0 claude-opus-4-1', 15, 75, 1.5, 18.75],
  ['claude-3-7-sonnet claude-sonnet-4 claude-sonnet-4-0 claude-sonnet-4-5 claude-sonnet-4-6', 3, 15, 0.3, 3.75],
  ['claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5', 5, 25, 0.5, 6.25],
  ['claude-haiku-4-5', 1, 5, 0.1, 1.25],
  ['claude-sonnet-5', 2, 10, 0.2, 2.5],
  ['claude-fable-5', 10, 50, 1, 12.5],
]

const openai: readonly Row[] = [
  ['gpt-4-turbo', 10, 30],
  ['gpt-4o', 2.5, 10, 1.25],
  ['gpt-4o-2024-05-13', 5, 15],
  ['gpt-4o-mini', 0.15, 0.6, 0.075],
  ['gpt-4.1', 2, 8, 0.5],
  ['gpt-4.1-mini', 0.4, 1.6, 0.1],
  ['gpt-4.1-nano', 0.1, 0.4, 0.025],
  ['gpt-5 gpt-5-chat gpt-5.1 gpt-5.1-chat', 1.25, 10, 0.125],
  ['gpt-5-mini', 0.25, 2, 0.025],
  ['gpt-5-nano', 0.05, 0.4, 0.005],
  ['gpt-5.2 gpt-5.2-chat gpt-5.3-chat', 1.75, 14, 0.175],
  ['gpt-5.4-mini', 0.75, 4.5, 0.075],
  ['gpt-5.4-nano', 0.2, 1.25, 0.02],
  ['o1', 15, 60, 7.5],
  ['o3', 2, 8, 0.5],
  ['o3-mini', 1.1, 4.4, 0.55],
  ['o4-mini', 1.1, 4.4, 0.275],
]

const builtIn = new Map<string, Price>([
  ...pricesOf('anthropic', anthropic),
  ...pricesOf('openai', openai),
  ['openai:gpt-5.4', twiceAbove(272_000, { input: 2.5, output: 15, cacheRead: 0.25 })],
  ['openai:gpt-5.5', twiceAbove(272_000, { input: 5, output: 30, cacheRead: 0.5 })],
])

/** Returns the price of `provider:model`; undefined when it is unknown. */
export function priceOf(name: string, extra: PriceTable = {}): Price | undefined {
  const model = name.replace(/^[^:]*:/, '')
  for (const candidate of [name, withoutDate(name)]) if (Object.hasOwn(extra, candidate)) return extra[candidate]
  for (const candidate of [model, withoutDate(model)]) if (Object.hasOwn(extra, candidate)) return extra[candidate]
  return builtIn.get(name) ?? builtIn.get(withoutDate(name))
}

/** Returns the cost of a call in US dollars. */
export function costOf(usage: Usage, price: Price): number {
  const { input, output, cacheRead = 0, cacheWrite = 0 } = usage
  const { above } = price
  const rates = above && input + cacheRead + cacheWrite > above.inputTokens ? above : price
  const dollars =
    input * rates.input +
    output * rates.output +
    cacheRead * (rates.cacheRead ?? rates.input) +
    cacheWrite * (rates.cacheWrite ?? rates.input)
  return dollars / 1_000_000
}

/** Removes the ends of `gpt-4.1-2025-04-14`, `claude-haiku-4-5-20251001` and `gpt-5-chat-latest`. */
function withoutDate(name: string): string {
  return name.replace(/-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, '')
}

function pricesOf(provider: string, rows: readonly Row[]): [string, Price][] {
  return rows.flatMap(([names, input, output, cacheRead, cacheWrite]) =>
    names.split(' ').map((name): [string, Price] => [
      `${provider}:${name}`,
      {
        input,
        output,
        ...(cacheRead !== undefined && { cacheRead }),
        ...(cacheWrite !== undefined && { cacheWrite }),
      },
    ]),
  )
}

/** OpenAI's price of long requests: twice for input, one and a half times for output. */
function twiceAbove(inputTokens: number, price: Price & { cacheRead: number }): Price {
  const { input, output, cacheRead } = price
  return { ...price, above: { inputTokens, input: input * 2, output: output * 1.5, cacheRead: cacheRead * 2 } }
}
