/** Calibration by the counts of a provider. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { piSession, piSessionIsThere, recordedCalls } from '../../../test/support/recordings/pi-session.ts'
import { type Calibration, calibrate, estimateWith, type Measured, ratioOf } from './calibration.ts'
import { loadExactEstimator } from './exact-tokens.ts'

const model = 'house:model'

/** The state after a provider counted these texts, each request continuing the one before. */
function calibrationOf(...counted: Measured[]): Calibration {
  let state: Calibration = {}
  let previous: Measured | undefined
  for (const sample of counted) {
    state = calibrate(state, { model, ...sample, ...(previous && { previous }) })
    previous = sample
  }
  return state
}

it('calibration takes our own count before any usage is recorded', () => {
  expect(estimateWith({}, { model, estimated: 1_000 })).toBe(1_000)
})

it('calibration starts higher for a model known to count more', () => {
  expect(estimateWith({}, { model: 'anthropic:claude-opus-4-5', estimated: 1_000 })).toBe(1_200)
})

it('calibration adds later messages to the last real usage', () => {
  const previous = { estimated: 10_000, actual: 15_000 }
  expect(estimateWith({}, { model, estimated: 10_400, previous })).toBe(15_400)
})

it('calibration scales later messages by the ratio it has learned', () => {
  const state = calibrationOf({ estimated: 0, actual: 3_000 }, { estimated: 100_000, actual: 133_000 })
  expect(ratioOf(state, model)).toBeCloseTo(1.3, 2)
  const previous = { estimated: 100_000, actual: 133_000 }
  expect(estimateWith(state, { model, estimated: 110_000, previous })).toBeCloseTo(146_000, -2)
})

it('calibration adds what the provider adds to every request when there is no call to continue', () => {
  const state = calibrationOf({ estimated: 200, actual: 3_240 }, { estimated: 100_200, actual: 123_240 })
  const estimate = estimateWith(state, { model, estimated: 20_000 })
  expect(Math.abs(estimate - 27_000) / 27_000).toBeLessThan(0.01)
})

it('calibration learns from a request that was measured as a whole after a compaction', () => {
  const continued = calibrationOf({ estimated: 100, actual: 1_100 }, { estimated: 100_100, actual: 101_100 })
  const after = calibrate(continued, { model, estimated: 10_000, actual: 15_000 })
  expect(estimateWith(after, { model, estimated: 10_000 })).toBe(15_000)
})

it('calibration is not led astray by what no tokenizer explains', () => {
  const state = calibrationOf({ estimated: 1_000, actual: 1_000 }, { estimated: 1_010, actual: 3_000 })
  expect(ratioOf(state, model)).toBe(1)
})

it('calibration learns nothing from a call without usage', () => {
  expect(calibrate({}, { model, estimated: 100, actual: 0 })).toEqual({})
})

it('calibration follows when the kind of text changes', () => {
  let state: Calibration = {}
  const say = (estimated: number, actual: number) => {
    state = calibrate(state, { model, estimated, actual, previous: { estimated: 0, actual: 0 } })
  }
  for (let i = 0; i < 50; i++) say(10_000, 10_000)
  for (let i = 0; i < 20; i++) say(10_000, 14_000)
  expect(ratioOf(state, model)).toBeGreaterThan(1.35)
})

it('calibration keeps models apart and changes no state in place', () => {
  const state = Object.freeze(calibrationOf({ estimated: 0, actual: 100 }, { estimated: 10_000, actual: 13_100 }))
  const both = calibrate(state, { model: 'other', estimated: 10, actual: 10 })
  expect(ratioOf(both, 'other')).toBe(1)
  expect(both[model]).toBe(state[model])
  expect(Object.keys(state)).toEqual([model])
  expect(estimateWith(state, { model: 'constructor', estimated: 7 })).toBe(7)
})

it('calibration survives being stored as JSON', () => {
  const state = calibrationOf({ estimated: 10, actual: 100 }, { estimated: 10_000, actual: 13_100 })
  expect(JSON.parse(JSON.stringify(state))).toEqual(state)
})

describe('on generated sessions', () => {
  it('calibration predicts each generated request within 1 % once a tokenizer with a steady ratio has been seen', () => {
    const session = fc.record({
      ratio: fc.double({ min: 0.7, max: 1.8, noNaN: true }),
      added: fc.integer({ min: 0, max: 20_000 }),
      sizes: fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 2, maxLength: 40 }),
    })
    fc.assert(
      fc.property(session, ({ ratio, added, sizes }) => {
        let state: Calibration = {}
        let previous: Measured | undefined
        let estimated = 0
        for (const size of [25_000, ...sizes]) {
          estimated += size
          const actual = Math.round(added + ratio * estimated)
          const call = { model, estimated, ...(previous && { previous }) }
          if (previous && previous.estimated > 60_000) {
            expect(Math.abs(estimateWith(state, call) - actual) / actual).toBeLessThan(0.01)
          }
          state = calibrate(state, { ...call, actual })
          previous = { estimated, actual }
        }
      }),
    )
  })

  it('calibration always gives a whole number that is not negative', () => {
    const count = fc.integer({ min: 0, max: 1_000_000 })
    const measured = fc.record({ estimated: count, actual: count })
    const sample = fc.record({ estimated: count, actual: count, previous: fc.option(measured, { nil: undefined }) })
    fc.assert(
      fc.property(fc.array(sample), sample, (samples, next) => {
        const state = samples.reduce<Calibration>((before, one) => calibrate(before, { model, ...defined(one) }), {})
        const estimate = estimateWith(state, { model, ...defined(next) })
        expect(Number.isInteger(estimate) && estimate >= 0).toBe(true)
      }),
    )
  })

  function defined({ estimated, actual, previous }: Measured & { previous?: Measured | undefined }) {
    return { estimated, actual, ...(previous && { previous }) }
  }
})

describe('on a real session (skipped where ../shared/data is not there)', () => {
  it.skipIf(!piSessionIsThere)(
    'calibration on a real session is within 1 % for 95 of 100 requests after the first calibrated call',
    async () => {
      const { count } = await loadExactEstimator()
      let state: Calibration = {}
      const errors: number[] = []
      for (const [index, call] of recordedCalls(piSession, count).entries()) {
        if (index > 0) errors.push(Math.abs(estimateWith(state, call) - call.actual) / call.actual)
        state = calibrate(state, call)
      }
      errors.sort((a, b) => a - b)
      expect(errors.length).toBeGreaterThan(400)
      expect(errors[Math.ceil(0.95 * errors.length) - 1]).toBeLessThan(0.01)
      expect(errors.at(-1)).toBeLessThan(0.05)
    },
  )
})
