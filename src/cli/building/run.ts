/** `colloquy run`, `resume` and `ralph`: a team at work on a feature, or dev on a task, told as it happens. */
import { type Command, Option } from 'commander'
import type { Approvals, Colloquy, TeamOptions } from '../../index.ts'
import { exitCode } from '../failure.ts'
import { writing } from '../open.ts'
import { examples, type GlobalOptions, wholeNumber } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { whenStopped } from '../terminal/stop-signals.ts'
import { errorStyle, note, printJson, printLines } from '../terminal/terminal.ts'
import { featureOf, taskOf } from './team-of.ts'
import { resultLines, teamScreen } from './team-screen.ts'

interface RunOptions extends GlobalOptions {
  model?: string
  iterations?: number
  tokens?: number
  unchanged?: number
  leave?: Approvals
  feature?: string
}

export function addRun(program: Command): void {
  withOptions(
    program
      .command('run')
      .summary('have a team build a feature')
      .description(
        'Runs a team on a feature: the PM plans it if nobody did, dev builds each task until the checks pass, QA reviews it, and it is merged into the base branch. Ctrl-C stops it; run again it goes on. Agents work in a worktree of their own, never in your checkout.',
      )
      .argument('[feature]', 'id of the feature; the only one there is, if left out'),
  )
    .addHelpText(
      'after',
      examples(
        ['run login', 'from wherever it stands'],
        ["run login --model 'command:claude -p'", 'with one model for all agents'],
        ['run login --leave no', 'nobody is there to be asked'],
      ),
    )
    .action((feature: string | undefined, _: unknown, command: Command) => runTeam(feature, command, {}))
}

export function addResume(program: Command): void {
  withOptions(
    program
      .command('resume')
      .summary('go on with a feature')
      .description(
        'Goes on with a feature that was stopped or killed, as run does, and takes tasks that failed or are blocked up again where that happened.',
      )
      .argument('[feature]', 'id of the feature; the only one there is, if left out'),
  )
    .addHelpText('after', examples(['resume login', 'also what failed']))
    .action((feature: string | undefined, _: unknown, command: Command) => runTeam(feature, command, { retries: true }))
}

export function addRalph(program: Command): void {
  withOptions(
    program
      .command('ralph')
      .summary('have dev build one task')
      .description(
        'Runs the Ralph loop of one task: dev works in a fresh request per iteration until the checks pass, or a limit is met. Nothing is reviewed or merged.',
      )
      .argument('<task>', 'id of the task')
      .option('--feature <ID>', 'its feature, where several have such a task'),
  )
    .addHelpText(
      'after',
      examples(['ralph login-form', 'until its checks pass'], ['ralph login-form --iterations 3', 'three tries']),
    )
    .action(async (taskId: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<RunOptions>()
      await attended(options, async (colloquy, how) => {
        const task = await taskOf(colloquy, taskId, options.feature)
        const loop = await colloquy.team.ralph(task, how)
        return { result: { ...task, ...loop }, lines: [], isDone: loop.outcome === 'passed' }
      })
    })
}

function withOptions(command: Command): Command {
  return command
    .option('--model <NAME>', 'the model of all agents (default: as configured)')
    .option('--iterations <N>', 'iterations of dev on a task at the most (default: 10)', wholeNumber)
    .option('--tokens <N>', 'tokens for a loop on a task at the most (default: no limit)', wholeNumber)
    .option('--unchanged <N>', 'iterations that change nothing before dev gives up (default: 3)', wholeNumber)
    .addOption(
      new Option('--leave <WHO>', 'who gives leave to run commands that are not allowed already').choices([
        'person',
        'agent',
        'yes',
        'no',
      ]),
    )
}

async function runTeam(feature: string | undefined, command: Command, more: TeamOptions): Promise<void> {
  await attended(command.optsWithGlobals<RunOptions>(), async (colloquy, how) => {
    const result = await colloquy.team.run(await featureOf(colloquy, feature), { ...how, ...more })
    return { result, lines: resultLines(result), isDone: result.outcome === 'done' }
  })
}

/** Ctrl-C stops the work and keeps what was done; said twice, at once. */
async function attended(
  options: RunOptions,
  work: (
    colloquy: Colloquy,
    how: TeamOptions,
  ) => Promise<{ result: object; lines: readonly string[]; isDone: boolean }>,
): Promise<void> {
  const { json = false, model, iterations, tokens, unchanged, leave } = options
  const stopping = new AbortController()
  const letGo = whenStopped(() => {
    stopping.abort()
    note(errorStyle.dim('Stopping; once more stops at once.'))
  })
  const screen = teamScreen({ asksPerson: leave === undefined || leave === 'person' })
  const limits = {
    ...(iterations !== undefined && { iterations }),
    ...(tokens !== undefined && { tokens }),
    ...(unchanged !== undefined && { unchanged }),
  }
  try {
    await writing(options, async colloquy => {
      const { result, lines, isDone } = await work(colloquy, {
        signal: stopping.signal,
        limits,
        ...(model !== undefined && { model }),
        ...(leave !== undefined && { approvals: leave }),
        ...(!json && { onProgress: screen.show }),
      })
      await screen.end()
      if (json) await printJson(result)
      else await printLines(lines)
      if (!isDone) process.exitCode = exitCode.failed
    })
  } finally {
    await screen.end()
    letGo()
  }
}

export function addStop(program: Command): void {
  program
    .command('stop')
    .summary('stop the team on a feature')
    .description(
      'Stops the team on a feature, in whatever process it runs. What was done is kept; run goes on with it.',
    )
    .argument('[feature]', 'id of the feature; the only one there is, if left out')
    .option('--reason <TEXT>', 'why, for the log')
    .addHelpText(
      'after',
      examples(['stop login', 'and run login later'], ["stop login --reason 'wrong spec'", 'with a reason']),
    )
    .action(async (feature: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { reason?: string }>()
      await writing(options, async colloquy => {
        const featureId = await featureOf(colloquy, feature)
        const stopped = await colloquy.team.stop(featureId, options.reason)
        if (options.json) return printJson(stopped)
        await printLines([safeLine(`Stopped ${featureId}.`)])
      })
    })
}
