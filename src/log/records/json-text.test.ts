/** The hand-made JSON text is the one everybody knows. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonObjectText, jsonText } from './json-text.ts'

const anything = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('', '"', '\\', '\n', '\0', '\ud800', '\u2028', '</script>', 'é', '\x7f'),
  fc.double(),
  fc.integer(),
  fc.constantFrom(undefined, null, true, -0, Number.NaN, Number.POSITIVE_INFINITY, 1e21, 1e-7),
  fc.jsonValue(),
)

describe('JSON text', () => {
  it('JSON text is what JSON.stringify gives for any value', () => {
    fc.assert(
      fc.property(anything, value => {
        expect(jsonText(value)).toBe(JSON.stringify(value))
      }),
      { numRuns: 3000 },
    )
  })

  it('JSON text is what JSON.stringify gives for objects', () => {
    const word = fc.stringMatching(/^[a-z][a-zA-Z]{0,9}$/)
    fc.assert(
      fc.property(fc.dictionary(word, anything), fields => {
        expect(jsonObjectText(fields)).toBe(JSON.stringify(fields))
      }),
      { numRuns: 1000 },
    )
  })
})
