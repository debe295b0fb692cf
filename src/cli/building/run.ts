/** Runs and stops teams, printed as they work. */
import { type Approvals, type TeamOptions, team } from '../../agents/building/index.ts'
import type { Colloquy } from '../../index.ts'
import { exitCode } from '../failure.ts'
import { writing } from '../open.ts'
import type { GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { whenStopped } from '../terminal/stop-signals.ts'
import { errorStyle, note, printJson, printLines } from '../terminal/terminal.ts'
import { featureOf, taskOf } from './team-of.ts'
import { resultLines, teamScreen } from './team-screen.ts'

export interface TeamCommandOptions extends GlobalOptions {
  model?: string
  iterations?: number
  tokens?: number
  unchanged?: number
  approvals?: Approvals
  feature?: string
}

export interface StopOptions extends GlobalOptions {
  reason?: string
}

interface Work {
  result: object
  lines: readonly string[]
  isDone: boolean
}

export async function runTeam(
  feature: string | undefined,
  command: TeamCommandOptions,
  more: TeamOptions = {},
): Promise<void> {
  await interruptible(command, async (colloquy, options) => {
    const result = await team(colloquy).run(await featureOf(colloquy, feature), { ...options, ...more })
    return { result, lines: resultLines(result), isDone: result.outcome === 'done' }
  })
}

export async function runRalphLoop(taskId: string, command: TeamCommandOptions): Promise<void> {
  await interruptible(command, async (colloquy, options) => {
    const task = await taskOf(colloquy, taskId, command.feature)
    const loop = await team(colloquy).ralph(task, options)
    return { result: { ...task, ...loop }, lines: [], isDone: loop.outcome === 'passed' }
  })
}

export async function stopTeam(feature: string | undefined, { reason, ...options }: StopOptions): Promise<void> {
  await writing(options, async colloquy => {
    const featureId = await featureOf(colloquy, feature)
    const stopped = await team(colloquy).stop(featureId, reason)
    if (options.json) return printJson(stopped)
    await printLines([safeLine(`Stopped ${featureId}.`)])
  })
}

/** The first Ctrl-C stops the team and keeps what was done; the second ends the process. */
async function interruptible(
  command: TeamCommandOptions,
  work: (colloquy: Colloquy, options: TeamOptions) => Promise<Work>,
): Promise<void> {
  const { json = false, model, iterations, tokens, unchanged, approvals } = command
  const stopping = new AbortController()
  const removeSignalHandlers = whenStopped(() => {
    stopping.abort()
    note(errorStyle.dim('Stopping; once more stops at once.'))
  })
  const screen = teamScreen({ asksPerson: approvals === undefined || approvals === 'person' })
  const limits = {
    ...(iterations !== undefined && { iterations }),
    ...(tokens !== undefined && { tokens }),
    ...(unchanged !== undefined && { unchanged }),
  }
  try {
    await writing(command, async colloquy => {
      const { result, lines, isDone } = await work(colloquy, {
        signal: stopping.signal,
        limits,
        ...(model !== undefined && { model }),
        ...(approvals !== undefined && { approvals }),
        ...(!json && { onProgress: screen.show }),
      })
      await screen.end()
      if (json) await printJson(result)
      else await printLines(lines)
      if (!isDone) process.exitCode = exitCode.failed
    })
  } finally {
    await screen.end()
    removeSignalHandlers()
  }
}
