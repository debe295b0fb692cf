/** `colloquy status`: where teams and their tasks stand. */
import type { Command } from 'commander'
import type { TaskStatus, TeamStatus } from '../../index.ts'
import { reading } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { type Column, table } from '../terminal/table.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'
import { relativeTime } from '../text/format.ts'
import { featuresOf } from './team-of.ts'

export function addStatus(program: Command): void {
  program
    .command('status')
    .summary('where teams and their tasks stand')
    .description(
      'Shows features with their tasks: the state of each, how far its loop is, what QA said, and what agents wait to be told.',
    )
    .argument('[feature]', 'id of a feature; all of them, if left out')
    .addHelpText('after', examples(['status', 'all features'], ['status login --json', 'one, for machines']))
    .action(async (feature: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      await reading(options, async colloquy => {
        const ids = feature === undefined ? await featuresOf(colloquy) : [feature]
        const found: TeamStatus[] = []
        for (const id of ids) found.push(await colloquy.team.status(id))
        if (options.json) return printJson(feature === undefined ? { features: found } : found[0])
        if (found.length === 0) return printLines(["There is no feature yet. 'colloquy feature add NAME' adds one."])
        await printLines(found.flatMap((one, index) => [...(index > 0 ? [''] : []), ...linesOf(one)]))
      })
    })
}

const columns: ReadonlyArray<Column<TaskStatus>> = [
  { heading: 'TASK', of: ({ taskId }) => safeLine(taskId) },
  { heading: 'STATE', of: ({ state }) => stateText(state) },
  { heading: 'LOOP', of: ({ ralph }) => loopText(ralph) },
  { heading: 'REVIEW', of: ({ review }) => (review ? `${review.verdict} (${review.number})` : '') },
  { heading: 'ABOUT', of: ({ title, reason }) => safeLine(reason ? `${title}: ${reason}` : title), gives: true },
]

function linesOf({ featureId, name, state, running, ended, worktree, tasks, questions }: TeamStatus): string[] {
  const at = running ? style.green(` at work, ${safeLine(running.holder.split(' ')[0]!)}`) : ''
  return [
    `${style.bold(safeLine(featureId))}  ${safeLine(name)}  ${stateText(state)}${at}`,
    ...(ended && !running
      ? [style.dim(safeLine(`last ended ${relativeTime(ended.at)}: ${ended.reason ?? ended.outcome}`))]
      : []),
    ...(worktree ? [style.dim(safeLine(`worktree ${worktree.path}, branch ${worktree.branch}`))] : []),
    ...(tasks.length > 0 ? table(tasks, columns) : ['No tasks are planned.']),
    ...questions.map(one => style.yellow(safeLine(`${one.agent} asks: ${one.text}  (colloquy answer ${one.id} …)`))),
  ]
}

function loopText(loop: TaskStatus['ralph']): string {
  if (!loop) return ''
  const { round, iteration, outcome, failed } = loop
  const how = outcome ?? (failed.length > 0 ? `failing ${failed.join(', ')}` : 'under way')
  return safeLine(`${round > 1 ? `round ${round}, ` : ''}${iteration} iteration${iteration === 1 ? '' : 's'}: ${how}`)
}

function stateText(state: string): string {
  if (state === 'merged' || state === 'done') return style.green(state)
  if (state === 'failed' || state === 'blocked' || state === 'stopped') return style.yellow(state)
  return state === 'planning' ? style.dim(state) : style.cyan(state)
}
