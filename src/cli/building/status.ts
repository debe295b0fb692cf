/** Prints where teams and their tasks stand. */
import { type TaskStatus, type TeamStatus, team } from '../../agents/building/index.ts'
import { reading } from '../open.ts'
import type { GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { type Column, table } from '../terminal/table.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'
import { relativeTime } from '../text/format.ts'
import { featuresOf } from './team-of.ts'

export async function printStatus(feature: string | undefined, options: GlobalOptions): Promise<void> {
  await reading(options, async colloquy => {
    const featureIds = feature === undefined ? await featuresOf(colloquy) : [feature]
    const features: TeamStatus[] = []
    for (const id of featureIds) features.push(await team(colloquy).status(id))
    if (options.json) return printJson(feature === undefined ? { features } : features[0])
    if (features.length === 0) return printLines(["There is no feature yet. 'colloquy feature add NAME' adds one."])
    await printLines(features.flatMap((status, index) => [...(index > 0 ? [''] : []), ...linesOf(status)]))
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
    ...questions.map(({ id, agent, text }) =>
      style.yellow(safeLine(`${agent} asks: ${text}  (colloquy answer ${id} …)`)),
    ),
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
