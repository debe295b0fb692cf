/**
 * How well the size of a whole prompt is foreseen, on a real recorded session: ours beside characters by four.
 *
 * Run with `node --import tsx bench/calibration.ts`.
 */
import { type Calibration, calibrate, estimateWith, ratioOf } from '../src/request/calibration.ts'
import { loadExactEstimator } from '../src/request/exact-tokens.ts'
import { fastEstimator } from '../src/request/tokens.ts'
import { piSession, piSessionIsThere, type RecordedCall, recordedCalls } from '../test/support/pi-session.ts'

type Foresee = (call: RecordedCall, state: Calibration) => number

if (!piSessionIsThere) {
  console.log(`Nothing measured: ${piSession} is not there.`)
  process.exit(0)
}

const exact = await loadExactEstimator()
const byExact = recordedCalls(piSession, exact.count)
const byFast = recordedCalls(piSession, fastEstimator.count)
const byCharacters = recordedCalls(piSession, text => Math.ceil(text.length / 4))

const calibrated: Foresee = (call, state) => estimateWith(state, call)
const uncalibrated: Foresee = call => call.estimated
const anchoredOnly: Foresee = call =>
  call.previous ? call.previous.actual + call.estimated - call.previous.estimated : call.estimated

console.log(`${byExact.length} calls, models: ${[...new Set(byExact.map(call => call.model))].join(', ')}`)
console.log('error of the whole-prompt estimate, in % of what the provider counted, after the first call\n')
console.log(row(['', 'calls', 'p50', 'p95', 'p99', 'max', 'ratio']))
print('calibrated, o200k', byExact, calibrated)
print('calibrated, fast', byFast, calibrated)
print('calibrated, characters/4', byCharacters, calibrated)
print('last usage + o200k', byExact, anchoredOnly)
print('last usage + characters/4', byCharacters, anchoredOnly)
print('o200k alone', byExact, uncalibrated)
print('characters/4 alone', byCharacters, uncalibrated)

function print(name: string, calls: readonly RecordedCall[], foresee: Foresee): void {
  let state: Calibration = {}
  const errors: number[] = []
  for (const [index, call] of calls.entries()) {
    if (index > 0) errors.push((100 * Math.abs(foresee(call, state) - call.actual)) / call.actual)
    state = calibrate(state, call)
  }
  errors.sort((a, b) => a - b)
  const at = (share: number) => errors[Math.min(errors.length - 1, Math.ceil(share * errors.length) - 1)]!.toFixed(2)
  const ratio = foresee === calibrated ? ratioOf(state, calls.at(-1)!.model).toFixed(2) : ''
  console.log(row([name, String(errors.length), at(0.5), at(0.95), at(0.99), at(1), ratio]))
}

function row([name, ...cells]: readonly string[]): string {
  return name!.padEnd(28) + cells.map(cell => cell.padStart(9)).join('')
}
