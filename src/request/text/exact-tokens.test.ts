/** Exact counts: the same as the tokenizer's own, whatever the text, and quick on what makes tokenizers slow. */
import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import { loadExactEstimator } from './exact-tokens.ts'

const { count } = await loadExactEstimator()
const directly = (text: string) =>
  countTokens(text, { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() })

const piece = fc.constantFrom(
  ...[
    ' ',
    '  ',
    '\n',
    ' \n',
    '\t',
    'a',
    'The',
    "don't",
    '123',
    '4567',
    '.',
    '...',
    '://',
    '日本',
    'é',
    '\u00a0',
    '\u2003',
    '🙂',
    '-',
    '_',
    '"',
    '<|endoftext|>',
  ],
)

describe('the exact estimator', () => {
  it('the exact estimator counts what the tokenizer counts, word by word', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), pieces => {
        const text = pieces.join('')
        expect(count(text)).toBe(directly(text))
      }),
      { numRuns: 3000 },
    )
  })

  it('the exact estimator counts what the tokenizer counts of plain text, however it is mixed', () => {
    const mixed = fc.constantFrom(...`aZ09 \t\n\r'"/.-_sSlLvVeErRtTdDmM<>(){}\0\x0b\x7f\x1c`)
    fc.assert(
      fc.property(fc.array(mixed, { maxLength: 40 }), characters => {
        const text = characters.join('')
        expect(count(text)).toBe(directly(text))
      }),
      { numRuns: 5000 },
    )
  })

  it('the exact estimator counts a long text as it counts a short one', () => {
    const text = 'src/session/openPage.ts: 12345 files, don\'t "touch"\n\n  THEM é. '.repeat(2000)
    expect(count(text)).toBe(directly(text))
    expect(count(text.replaceAll('é', 'e'))).toBe(directly(text.replaceAll('é', 'e')))
  })

  it('the exact estimator counts any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), text => {
        const clean = text.replaceAll('\ufeff', '')
        expect(count(clean)).toBe(directly(clean))
      }),
      { numRuns: 2000 },
    )
  })

  it('the exact estimator takes no text for an instruction', () => {
    expect(count('<|endoftext|>')).toBeGreaterThan(1)
    expect(count('')).toBe(0)
  })

  it('the exact estimator is within one percent on an unbroken run, on which a tokenizer alone is slow', () => {
    const run = 'ab1/'.repeat(1000)
    expect(Math.abs(count(run) - directly(run))).toBeLessThanOrEqual(directly(run) * 0.01 + 16)
    expect(count('x'.repeat(200_000))).toBeGreaterThan(1000)
  })
})
