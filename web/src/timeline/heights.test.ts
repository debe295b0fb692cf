import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Heights } from './heights.ts'

it('heights give the place of each row, and the row of each place, however they are measured', () => {
  const change = fc.oneof(
    fc.record({ row: fc.nat(60), height: fc.integer({ min: 0, max: 300 }) }),
    fc.record({ count: fc.nat(60) }),
    fc.record({ guess: fc.integer({ min: 1, max: 90 }) }),
  )
  fc.assert(
    fc.property(fc.array(change), changes => {
      const heights = new Heights(40)
      let plain: Array<{ height: number; isKnown: boolean }> = []
      let estimate = 40
      for (const one of changes) {
        if ('count' in one) {
          heights.resize(one.count)
          plain = Array.from({ length: one.count }, (_, row) => plain[row] ?? { height: estimate, isKnown: false })
        } else if ('guess' in one) {
          heights.guess(one.guess)
          estimate = one.guess
          plain = plain.map(row => (row.isKnown ? row : { ...row, height: estimate }))
        } else {
          heights.set(one.row, one.height)
          if (plain[one.row]) plain[one.row] = { height: one.height, isKnown: true }
        }
      }
      let top = 0
      for (const [row, { height }] of plain.entries()) {
        expect(heights.top(row)).toBeCloseTo(top)
        if (height > 0) expect(heights.rowAt(top + height / 2)).toBe(row)
        top += height
      }
      expect(heights.total).toBeCloseTo(top)
    }),
  )
})
