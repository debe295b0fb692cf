/** Runs a project's checks in a folder, one after the other. */

import type { CheckResult } from '../../log/events/work/ralph.ts'
import { runProcess } from '../tools/process.ts'
import type { Check } from './find-checks.ts'

interface RunChecks {
  folder: string
  /** Stops the running check, and skips the following ones. */
  signal?: AbortSignal | undefined
  /** Time limit of each check. Default 10 minutes. */
  timeMs?: number
  /** Max characters of each output; its end is kept, because it names the failures. Default 12,000. */
  characters?: number
  onStart?: (check: Check) => void
  onEnd?: (result: CheckResult) => void
}

/** Runs all checks, also after a failure, so that the next iteration can fix all failures. */
export async function runChecks(checks: readonly Check[], options: RunChecks): Promise<CheckResult[]> {
  const { signal, onStart, onEnd } = options
  const results: CheckResult[] = []
  for (const check of checks) {
    if (signal?.aborted) break
    onStart?.(check)
    const result = await runCheck(check, options)
    results.push(result)
    onEnd?.(result)
  }
  return results
}

async function runCheck(
  { name, command }: Check,
  { folder, signal, timeMs = 600_000, characters = 12_000 }: RunChecks,
): Promise<CheckResult> {
  const startedAt = performance.now()
  let droppedCharacters = 0
  const { exitCode, output, endedBy, problem } = await runProcess(
    { line: command },
    {
      folder,
      timeMs,
      signal,
      keep(text) {
        if (text.length <= characters * 2) return text
        droppedCharacters += text.length - characters
        return text.slice(-characters)
      },
      // Keeps test runners from watching for changes.
      env: { CI: process.env.CI ?? '1' },
    },
  )
  const note =
    problem ??
    (endedBy === 'time'
      ? `It was ended after ${Math.round(timeMs / 1000)} seconds.`
      : endedBy === 'stop'
        ? 'It was stopped.'
        : '')
  return {
    name,
    command,
    passed: exitCode === 0 && endedBy === undefined,
    exitCode,
    output: [tail(output.trimEnd(), characters, droppedCharacters), note].filter(Boolean).join('\n'),
    durationMs: Math.round(performance.now() - startedAt),
  }
}

/** Returns the last lines of a text, and the number of characters left out: those before, and those dropped already. */
function tail(text: string, maxCharacters: number, droppedCharacters: number): string {
  if (droppedCharacters === 0 && text.length <= maxCharacters) return text.toWellFormed()
  const end = text.slice(-maxCharacters)
  const lastLines = end.slice(end.indexOf('\n') + 1)
  return `[… ${droppedCharacters + text.length - lastLines.length} characters left out …]\n${lastLines.toWellFormed()}`
}
