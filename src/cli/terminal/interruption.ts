/** Ctrl-C and its like in the middle of work that would leave half a file behind. */
import { constants } from 'node:os'
import { ColloquyError } from '../../errors.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Signal = (typeof signals)[number]

/** The work was broken off, and has taken back what it had begun. */
export class Interrupted extends ColloquyError {
  override readonly code = 'interrupted'
  override readonly status = 499
  /** The exit code of a process that the signal ended, as shells report it. */
  readonly exitCode: number

  constructor(signal: Signal) {
    super('Stopped. Nothing was changed, and no file is left behind.', { signal })
    this.exitCode = 128 + constants.signals[signal]
  }
}

/**
 * Hands the first signal to the work, which clears up, or goes on where it can no longer be broken off. The second ends
 * the process at once.
 *
 * @throws {Interrupted} when the work let itself be broken off
 */
export async function clearingUp<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController()
  const stop = (signal: Signal) => {
    stopListening()
    stopping.abort(new Interrupted(signal))
  }
  const stopListening = () => {
    for (const signal of signals) process.off(signal, stop)
  }
  for (const signal of signals) process.on(signal, stop)
  try {
    return await work(stopping.signal)
  } finally {
    stopListening()
  }
}
