/** Compares our prediction of a prompt's size with characters by four, on a real recorded session. */
import { type Calibration, calibrate, estimateWith } from '../src/request/text/calibration.ts'
import { loadExactEstimator } from '../src/request/text/exact-tokens.ts'
import { fastEstimator } from '../src/request/text/tokens.ts'
import { piSession, piSessionIsThere, type RecordedCall, recordedCalls } from '../test/support/recordings/pi-session.ts'
import type { Benchmark, Finding } from './support/benchmark.ts'
import { count } from './support/units.ts'

export const calibration: Benchmark = {
  name: 'calibration',
  title: 'How well a prompt’s size is foreseen',
  about:
    'Error of the estimate of the whole prompt against what the provider counted, over every call of a real recorded session after the first. Calibrated is: the last real usage and the estimate of what came after it, by a ratio learned per model. The baseline is characters divided by four.',
  run,
}

type Foresee = (call: RecordedCall, state: Calibration) => number

const calibrated: Foresee = (call, state) => estimateWith(state, call)
const uncalibrated: Foresee = call => call.estimated
const anchoredOnly: Foresee = call =>
  call.previous ? call.previous.actual + call.estimated - call.previous.estimated : call.estimated

async function run(): Promise<Finding[]> {
  if (!piSessionIsThere) return [{ what: 'the recorded session is not there', ours: 'nothing measured' }]
  const exact = await loadExactEstimator()
  const byExact = recordedCalls(piSession, exact.count)
  const byFast = recordedCalls(piSession, fastEstimator.count)
  const byCharacters = recordedCalls(piSession, text => Math.ceil(text.length / 4))
  const baseline = errorText(errorsOf(byCharacters, uncalibrated))
  const row = (what: string, errors: Errors, isOurs = false): Finding => ({
    what,
    ours: errorText(errors),
    ...(isOurs && { baseline, measured: errors.p95, target: { atMost: 1 } }),
  })
  return [
    row(`${count(byExact.length - 1)} calls: calibrated, exact token counts`, errorsOf(byExact, calibrated), true),
    row('calibrated, fast token counts', errorsOf(byFast, calibrated), true),
    row('last usage and exact token counts, no ratio', errorsOf(byExact, anchoredOnly)),
    row('last usage and characters by four', errorsOf(byCharacters, anchoredOnly)),
    row('exact token counts alone', errorsOf(byExact, uncalibrated)),
  ]
}

interface Errors {
  p50: number
  p95: number
  max: number
}

/** In per cent of what the provider counted. */
function errorsOf(calls: readonly RecordedCall[], foresee: Foresee): Errors {
  let state: Calibration = {}
  const errors: number[] = []
  for (const [index, call] of calls.entries()) {
    if (index > 0) errors.push((100 * Math.abs(foresee(call, state) - call.actual)) / call.actual)
    state = calibrate(state, call)
  }
  errors.sort((a, b) => a - b)
  const at = (share: number) => errors[Math.min(errors.length - 1, Math.ceil(share * errors.length) - 1)]!
  return { p50: at(0.5), p95: at(0.95), max: at(1) }
}

function errorText({ p50, p95, max }: Errors): string {
  return `p50 ${p50.toFixed(2)} %, p95 ${p95.toFixed(2)} %, most ${max.toFixed(1)} %`
}
