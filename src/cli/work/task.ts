/** `colloquy task`: the tasks of a feature, and their graph drawn in the terminal. */
import type { Command } from 'commander'
import type { TaskNode } from '../../conversation/work/item-views.ts'
import type { Colloquy, Task } from '../../index.ts'
import { TaskState } from '../../log/events/work/work.ts'
import { making, reading, writing } from '../open.ts'
import { examples, type GlobalOptions, priorityNumber, someOf } from '../options.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { fields, table } from '../terminal/table.ts'
import { note, printJson, printLines, style } from '../terminal/terminal.ts'
import { localTime } from '../text/format.ts'
import { graphLines, summaryLines } from './graph-lines.ts'
import { stateText } from './work-format.ts'

interface DescribeOptions extends GlobalOptions {
  title?: string
  description?: string
  dependsOn?: string[]
  priority?: number
  agent?: string
  reason?: string
}

interface MoveOptions extends GlobalOptions {
  reason?: string
  from?: string
  ignoreDependencies?: boolean
}

export function addTask(program: Command): void {
  const task = program
    .command('task')
    .summary('plan, show and move the tasks of a feature')
    .description('Tasks are the parts of a feature: each has a state and may depend on others.')
    .addHelpText(
      'after',
      examples(
        ["task add login form 'Login form' --depends-on api", 'plan one'],
        ['task graph login', 'draw the dependencies'],
        ['task list login --state in_dev,in_qa', 'list tasks in progress'],
        ['task move login form in_dev', 'begin'],
      ),
    )
  addList(task)
  addGraph(task)
  addShow(task)
  addPlanning(task)
  addRemove(task)
  addMove(task)
}

function addList(task: Command): void {
  task
    .command('list')
    .description('Lists the tasks of a feature, or of all features that are not done.')
    .argument('[feature]', 'id of a feature')
    .option('--state <LIST>', `only these: ${TaskState.options.join(', ')}`, someOf(TaskState.options))
    .option('--ready', 'only those that may begin')
    .action(async (featureId: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { state?: TaskState[]; ready?: boolean }>()
      await reading(options, async colloquy => {
        const features = featureId === undefined ? await openFeatures(colloquy) : [featureId]
        const all = (await Promise.all(features.map(id => colloquy.work.listTasks(id)))).flat()
        const tasks = all.filter(
          ({ state, isReady }) => (!options.state || options.state.includes(state)) && (!options.ready || isReady),
        )
        if (options.json) return printJson({ items: tasks })
        if (tasks.length === 0) return note('No tasks found.')
        await printLines(taskTable(tasks, featureId === undefined))
      })
    })
}

function addGraph(task: Command): void {
  task
    .command('graph')
    .description('Draws the task graph of a feature: a task is below the tasks it needs.')
    .argument('<feature>', 'its id')
    .action(async (featureId: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      await reading(options, async colloquy => {
        const graph = await colloquy.work.graph(featureId)
        if (options.json) return printJson(graph)
        await printLines([
          `${style.bold(safeLine(graph.name))}  ${stateText(graph.state)}`,
          ...graphLines(graph),
          ...summaryLines(graph),
        ])
      })
    })
}

function addShow(task: Command): void {
  task
    .command('show')
    .description('Shows a task: its fields, its state and its dependencies in both directions.')
    .argument('<feature>', 'id of its feature')
    .argument('<task>', 'its id')
    .action(async (featureId: string, taskId: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      await reading(options, async colloquy => {
        const shownTask = await colloquy.work.getTask(featureId, taskId)
        if (options.json) return printJson(shownTask)
        await printLines(taskLines(shownTask))
      })
    })
}

/** Adds the two commands that plan: `add` and `change`. */
function addPlanning(task: Command): void {
  const addition = task
    .command('add')
    .description('Plans a task. A missing feature is created.')
    .argument('<feature>', 'id of its feature')
    .argument('<task>', 'its id')
    .argument('<title>', 'its title')
  withDescription(addition).action(
    async (featureId: string, taskId: string, title: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<DescribeOptions>()
      await making(options, colloquy => plan(colloquy, featureId, { taskId, title }, options))
    },
  )

  const change = task
    .command('change')
    .description('Changes the given fields of a task.')
    .argument('<feature>', 'id of its feature')
    .argument('<task>', 'its id')
    .option('--title <TEXT>', 'its title')
  withDescription(change).action(async (featureId: string, taskId: string, _: unknown, command: Command) => {
    const options = command.optsWithGlobals<DescribeOptions>()
    await writing(options, colloquy => plan(colloquy, featureId, { taskId }, options))
  })
}

function addRemove(task: Command): void {
  task
    .command('remove')
    .description('Removes a task that was not begun from the graph. The log keeps it.')
    .argument('<feature>', 'id of its feature')
    .argument('<task>', 'its id')
    .option('--reason <TEXT>', 'why')
    .action(async (featureId: string, taskId: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { reason?: string }>()
      const { reason, json } = options
      await writing(options, async colloquy => {
        const change = { remove: [taskId], ...(reason !== undefined && { reason }) }
        const graph = await colloquy.work.planTasks(featureId, change)
        if (json) return printJson(graph)
        await printLines([safeLine(`Removed task ${taskId}. ${graph.summary}`)])
      })
    })
}

function addMove(task: Command): void {
  task
    .command('move')
    .description(`Moves a task to another state: ${TaskState.options.join(', ')}.`)
    .argument('<feature>', 'id of its feature')
    .argument('<task>', 'its id')
    .argument('<state>', 'the new state')
    .option('--reason <TEXT>', 'why; for a return from QA, what to improve')
    .option('--from <STATE>', 'only if it is in this state')
    .option('--ignore-dependencies', 'let it begin before its dependencies are merged')
    .action(async (featureId: string, taskId: string, to: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<MoveOptions>()
      const { reason, from, ignoreDependencies, json } = options
      await writing(options, async colloquy => {
        const movedTask = await colloquy.work.moveTask(featureId, taskId, to as TaskState, {
          ...(reason !== undefined && { reason }),
          ...(from !== undefined && { from }),
          ...(ignoreDependencies && { ignoresDependencies: true }),
        })
        if (json) return printJson(movedTask)
        await printLines([`${safeLine(taskId)} is ${stateText(movedTask.state)}.`])
      })
    })
}

function withDescription(command: Command): Command {
  return command
    .option('--description <TEXT>', 'everything that its agent needs to know')
    .option('--depends-on <TASK...>', 'tasks that must be merged before it begins')
    .option('--priority <N>', '0 goes first; default: its feature’s', priorityNumber)
    .option('--agent <NAME>', 'agent that does it (default: dev)')
    .option('--reason <TEXT>', 'why the plan changes')
}

async function plan(
  colloquy: Colloquy,
  featureId: string,
  { taskId, title: newTitle }: { taskId: string; title?: string },
  { title: changedTitle, description, dependsOn, priority, agent, reason, json }: DescribeOptions,
): Promise<void> {
  const fields = {
    taskId,
    ...(description !== undefined && { description }),
    ...(dependsOn && { dependencies: dependsOn }),
    ...(priority !== undefined && { priority }),
    ...(agent !== undefined && { agent }),
  }
  const graph = await colloquy.work.planTasks(featureId, {
    ...(newTitle === undefined
      ? { change: [{ ...fields, ...(changedTitle !== undefined && { title: changedTitle }) }] }
      : { add: [{ ...fields, title: newTitle }] }),
    ...(reason !== undefined && { reason }),
  })
  if (json) return printJson(graph)
  await printLines([safeLine(`${newTitle === undefined ? 'Changed' : 'Planned'} task ${taskId}. ${graph.summary}`)])
}

async function openFeatures(colloquy: Colloquy): Promise<string[]> {
  const states = ['planning', 'in_progress', 'stopped'] as const
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await colloquy.work.listFeatures({ states, limit: 200, ...(cursor !== undefined && { cursor }) })
    ids.push(...page.items.map(({ featureId }) => featureId))
    cursor = page.next
  } while (cursor !== undefined)
  return ids
}

function taskTable(tasks: readonly TaskNode[], withFeature: boolean): string[] {
  return table<TaskNode>(tasks, [
    ...(withFeature ? [{ heading: 'FEATURE', of: (task: TaskNode) => safeLine(task.featureId) }] : []),
    { heading: 'TASK', of: task => style.bold(safeLine(task.taskId)) },
    { heading: 'P', of: task => String(task.priority), align: 'right' },
    { heading: 'STATE', of: task => stateText(task.isReady ? 'ready' : task.state) },
    { heading: 'TITLE', of: task => safeLine(task.title), gives: true },
    { heading: 'WAITS FOR', of: task => style.dim(safeLine(task.waitsFor.join(', '))) },
  ])
}

function taskLines(task: Task): string[] {
  const { title, state, since, move, description, priority, agent, attempts, result, worktree, visits } = task
  const returns = Math.max(0, (visits?.in_dev ?? 0) - 1)
  return [
    `${style.bold(safeLine(title))}  ${stateText(state)}${task.isReady ? style.bold('  ready') : ''}`,
    ...fields([
      ['task', safeLine(`${task.taskId} of ${task.featureId}`)],
      ['conversation', task.conversationId && safeLine(task.conversationId)],
      ['since', since && `${localTime(since)}${move?.reason === undefined ? '' : `  ${safeLine(move.reason)}`}`],
      ['priority', String(priority)],
      ['agent', agent && safeLine(agent)],
      ['depends on', safeLine(task.dependencies.join(', '))],
      ['waits for', style.yellow(safeLine(task.waitsFor.join(', ')))],
      ['needed by', safeLine(task.dependents.join(', '))],
      ['returned', returns > 0 ? `${returns} times` : undefined],
      ['attempts', attempts && `${attempts.count}, ${attempts.failed} failed in a row`],
      ['last trouble', attempts?.last.reason && safeLine(attempts.last.reason)],
      ['worktree', worktree && safeLine(`${worktree.path} (${worktree.branch})`)],
      ['result', result && safeLine(result.summary)],
      ...task.sessions.map(({ id, agentName, taskState }) => {
        const state = taskState === undefined ? '' : ` in ${safeLine(taskState)}`
        return ['session', `${safeLine(id)}  ${safeLine(agentName)}${state}`] as const
      }),
    ]),
    ...(description ? ['', ...safeText(description.trim()).split('\n')] : []),
  ]
}
