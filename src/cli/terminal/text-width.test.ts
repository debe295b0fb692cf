import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cut, textWidth, wrap } from './text-width.ts'

it('text that arrives in pieces is measured as a whole: no picture and no letter is torn', () => {
  const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}'
  for (let before = 480; before < 520; before++) {
    const text = `${'é'.repeat(before)}${family}${'漢'.repeat(600)}`
    expect(textWidth(text)).toBe(before + 2 + 1200)
    expect(wrap(text, 80).join('')).toBe(text)
  }
})

it('wrapping loses nothing of a text, and makes no line too wide', () => {
  const piece = fc.constantFrom(
    'a',
    ' ',
    '漢',
    'é',
    'e\u0301',
    '\u{1f468}\u200d\u{1f469}',
    '\u{1f1e9}\u{1f1ea}',
    '\u0e33',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 2000 }), fc.integer({ min: 2, max: 90 }), (pieces, columns) => {
      const text = pieces.join('')
      const lines = wrap(text, columns)
      expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
      for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns)
      expect(textWidth(cut(text, columns))).toBeLessThanOrEqual(columns)
    }),
    { numRuns: 50 },
  )
})

it('wrapping comes to the end of a very long line without spaces', () => {
  expect(wrap('漢'.repeat(200_000), 80)).toHaveLength(5000)
})
