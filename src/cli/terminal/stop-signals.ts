/** Ctrl-C and SIGTERM for a command that runs until it is stopped. */

const signals = ['SIGINT', 'SIGTERM'] as const

/** One Ctrl-C comes twice where npm hands on what the terminal sends as well; so does one by `timeout` or a supervisor. */
const sameWithinMs = 1000

/**
 * Calls `stop` at the first signal. At a later second one the process ends at once. Returns a function that removes the
 * handlers.
 */
export function whenStopped(stop: () => void): () => void {
  let firstAt: number | undefined
  const onSignal = () => {
    if (firstAt === undefined) {
      firstAt = performance.now()
      stop()
    } else if (performance.now() - firstAt > sameWithinMs) process.exit(1)
  }
  for (const signal of signals) process.on(signal, onSignal)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
}
