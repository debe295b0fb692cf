/** Runs a project's checks in a folder, one after the other: what each says, and whether it passed. */

import type { CheckResult } from '../../log/events/work/ralph.ts'
import { runProcess } from '../tools/process.ts'
import type { Check } from './find-checks.ts'

interface RunChecks {
  folder: string
  /** Ends the check that runs; those behind it are not run. */
  signal?: AbortSignal | undefined
  /** How long each may take. Default 10 minutes. */
  timeMs?: number
  /** Characters kept of what each says: its end, where failures are told. Default 12,000. */
  characters?: number
  onStart?: (check: Check) => void
  onEnd?: (result: CheckResult) => void
}

/** A check that fails does not keep the others from being run: whoever works on them learns of all at once. */
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
  let left = 0
  const { exitCode, output, endedBy, problem } = await runProcess(
    { line: command },
    {
      folder,
      timeMs,
      signal,
      // Cut seldom, not with every piece that comes.
      keep(text) {
        if (text.length <= characters * 2) return text
        left += text.length - characters
        return text.slice(-characters)
      },
      // Runners that would wait for changes run once.
      env: { CI: process.env.CI ?? '1' },
    },
  )
  const why =
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
    output: [tail(output.trimEnd(), characters, left), why].filter(Boolean).join('\n'),
    durationMs: Math.round(performance.now() - startedAt),
  }
}

/** The end of a text, from the start of a line, and how much of it is left out, with what is gone already. */
function tail(text: string, most: number, gone: number): string {
  if (gone === 0 && text.length <= most) return text.toWellFormed()
  const end = text.slice(-most)
  const shown = end.slice(end.indexOf('\n') + 1)
  return `[… ${gone + text.length - shown.length} characters left out …]\n${shown.toWellFormed()}`
}
