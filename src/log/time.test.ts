import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { furthestTime } from './events/time.ts'
import { isoTime } from './time.ts'

describe('a time on its way out of a store', () => {
  it("a formatted time equals the platform's, whichever came before", () => {
    const time = fc.oneof(fc.integer({ min: -5000, max: 5000 }), fc.integer({ min: -furthestTime, max: furthestTime }))
    fc.assert(fc.property(time, at => isoTime(at) === new Date(at).toISOString()))
  })

  it('a formatted time is a time in a damaged row, too', () => {
    expect(isoTime(1.5)).toBe('1970-01-01T00:00:00.001Z')
    expect(isoTime(-0.5)).toBe('1969-12-31T23:59:59.999Z')
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, furthestTime + 1])
      expect(isoTime(odd)).toBe('1970-01-01T00:00:00.000Z')
  })
})
