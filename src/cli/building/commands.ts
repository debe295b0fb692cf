/** The commands of the team that codes. What they do is loaded when one of them runs. */
import { type Command, Option } from 'commander'
import { examples, type GlobalOptions, wholeNumber } from '../options.ts'
import type { StopOptions, TeamCommandOptions } from './run.ts'

export function addRun(program: Command): void {
  withTeamOptions(
    program
      .command('run')
      .summary('have a team build a feature')
      .description(
        'Runs a team on a feature: the PM plans it if it has no tasks, dev builds each task until the checks pass, QA reviews it, and it is merged into the base branch. Ctrl-C stops it; run again it goes on. Agents work in a worktree of their own, never in your checkout.',
      )
      .argument('[feature]', 'id of the feature; the only one there is, if left out'),
  )
    .addHelpText(
      'after',
      examples(
        ['run login', 'from wherever it stands'],
        ["run login --model 'command:claude -p'", 'with one model for all agents'],
        ['run login --approvals no', 'nothing is approved'],
      ),
    )
    .action(async (feature: string | undefined, _: unknown, command: Command) => {
      const { runTeam } = await import('./run.ts')
      await runTeam(feature, command.optsWithGlobals<TeamCommandOptions>())
    })
}

export function addResume(program: Command): void {
  withTeamOptions(
    program
      .command('resume')
      .summary('go on with a feature')
      .description(
        'Goes on with a feature that was stopped or killed, as run does, and continues tasks that failed or are blocked from the state they stopped in.',
      )
      .argument('[feature]', 'id of the feature; the only one there is, if left out'),
  )
    .addHelpText('after', examples(['resume login', 'also what failed']))
    .action(async (feature: string | undefined, _: unknown, command: Command) => {
      const { runTeam } = await import('./run.ts')
      await runTeam(feature, command.optsWithGlobals<TeamCommandOptions>(), { retries: true })
    })
}

export function addRalph(program: Command): void {
  withTeamOptions(
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
      const { runRalphLoop } = await import('./run.ts')
      await runRalphLoop(taskId, command.optsWithGlobals<TeamCommandOptions>())
    })
}

function withTeamOptions(command: Command): Command {
  return command
    .option('--model <NAME>', 'the model of all agents (default: as configured)')
    .option('--iterations <N>', 'iterations of dev on a task at the most (default: 10)', wholeNumber)
    .option('--tokens <N>', 'tokens for a loop on a task at the most (default: no limit)', wholeNumber)
    .option('--unchanged <N>', 'iterations that change nothing before dev gives up (default: 3)', wholeNumber)
    .addOption(
      new Option('--approvals <WHO>', 'who approves commands that are not on the allow-list').choices([
        'person',
        'agent',
        'yes',
        'no',
      ]),
    )
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
      const { stopTeam } = await import('./run.ts')
      await stopTeam(feature, command.optsWithGlobals<StopOptions>())
    })
}

export function addStatus(program: Command): void {
  program
    .command('status')
    .summary('where teams and their tasks stand')
    .description(
      'Shows features with their tasks: the state of each, how far its loop is, the verdict of QA, and the questions that agents wait with.',
    )
    .argument('[feature]', 'id of a feature; all of them, if left out')
    .addHelpText('after', examples(['status', 'all features'], ['status login --json', 'one, for machines']))
    .action(async (feature: string | undefined, _: unknown, command: Command) => {
      const { printStatus } = await import('./status.ts')
      await printStatus(feature, command.optsWithGlobals<GlobalOptions>())
    })
}

export function addDemo(program: Command): void {
  program
    .command('demo')
    .summary('watch a team build a feature, without a key')
    .description(
      'Makes a small git repository, and a scripted team of agents builds a feature in it: planned into three tasks, built until its tests pass, reviewed, sent back once, and merged. Repository and store stay, to look around in. Killed, it goes on when it is started again.',
    )
    .option('--dir <FOLDER>', 'where to make it', 'colloquy-demo')
    .addHelpText(
      'after',
      examples(['demo', 'in the folder colloquy-demo, here'], ['demo --dir ../till', 'somewhere else']),
    )
    .action(async (_: unknown, command: Command) => {
      const { runDemoIn } = await import('./demo.ts')
      const options = command.optsWithGlobals<GlobalOptions & { dir: string }>()
      await runDemoIn(options.dir, options)
    })
}
