/** `colloquy feature`: features as work items. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { FeatureSummary, TaskGraph } from '../../conversation/work/item-views.ts'
import { InvalidInput } from '../../errors.ts'
import type { Feature } from '../../index.ts'
import { FeatureState } from '../../log/events/work/work.ts'
import { making, reading, writing } from '../open.ts'
import { cursorText, examples, type GlobalOptions, priorityNumber, someOf, wholeNumber } from '../options.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { fields, table } from '../terminal/table.ts'
import { errorStyle, note, printJson, printLines, style } from '../terminal/terminal.ts'
import { count, localTime, relativeTime } from '../text/format.ts'
import { graphLines, summaryLines } from './graph-lines.ts'
import { slug, stateText } from './work-format.ts'

interface AddOptions extends GlobalOptions {
  id?: string
  goal?: string
  spec?: string
  base?: string
  priority?: number
}

interface ListOptions extends GlobalOptions {
  state?: FeatureState[]
  limit: number
  cursor?: string
}

export function addFeature(program: Command): void {
  const feature = program
    .command('feature')
    .summary('add, list and show features')
    .description('Features are work items: a goal, a specification, and a graph of tasks.')
    .addHelpText(
      'after',
      examples(
        ["feature add 'Login page' --goal 'People can log in'", 'a new one'],
        ['feature list', 'all of them, the most urgent first'],
        ['feature show login-page', 'what it is, and its task graph'],
      ),
    )

  feature
    .command('add')
    .description('Adds a feature. Its id is made of its name unless one is given.')
    .argument('<name>', 'what it is called')
    .option('--id <ID>', 'what it is known by')
    .option('--goal <TEXT>', 'what is reached when it is done')
    .option('--spec <FILE>', 'a file with its specification; - reads it from standard input')
    .option('--base <BRANCH>', 'what its tasks are merged into')
    .option('--priority <N>', '0 goes first; 2 is usual', priorityNumber)
    .action(async (name: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<AddOptions>()
      const { goal, base: baseBranch, priority } = options
      const spec = options.spec === undefined ? undefined : textOf(options.spec)
      const featureId = options.id ?? slug(name)
      if (featureId === '') throw new InvalidInput('name', 'gives no id; say one with --id')
      await making(options, async colloquy => {
        const added = await colloquy.work.addFeature({
          featureId,
          name,
          ...(goal !== undefined && { goal }),
          ...(spec !== undefined && { spec }),
          ...(baseBranch !== undefined && { baseBranch }),
          ...(priority !== undefined && { priority }),
        })
        if (options.json) return printJson(added)
        await printLines([safeLine(`Added feature ${added.featureId}: ${added.name}`)])
        note(errorStyle.dim(`Plan it: colloquy task add ${added.featureId} TASK TITLE, or let the PM do it in a chat.`))
      })
    })

  feature
    .command('list')
    .description('Lists features by priority, the oldest first.')
    .option('--state <LIST>', `only these: ${FeatureState.options.join(', ')}`, someOf(FeatureState.options))
    .option('--limit <N>', 'how many', wholeNumber, 50)
    .option('--cursor <CURSOR>', 'go on where an earlier list ended', cursorText)
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>()
      const { state: states, limit, cursor, json } = options
      await reading(options, async colloquy => {
        const page = await colloquy.work.listFeatures({
          limit,
          ...(states && { states }),
          ...(cursor !== undefined && { cursor }),
        })
        if (json) return printJson(page)
        if (page.items.length === 0) return note(safeLine(`No features found in project "${colloquy.project}".`))
        await printLines(featureTable(page.items))
        if (page.next !== undefined) note(errorStyle.dim(`There are more: --cursor ${page.next}`))
      })
    })

  feature
    .command('show')
    .description('Shows a feature: what it is, how it stands, its task graph.')
    .argument('<feature>', 'its id')
    .action(async (featureId: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      await reading(options, async colloquy => {
        const [found, graph] = await Promise.all([colloquy.work.getFeature(featureId), colloquy.work.graph(featureId)])
        if (options.json) return printJson({ ...found, graph })
        await printLines(featureLines(found, graph))
      })
    })

  feature
    .command('move')
    .description(`Moves a feature to another state: ${FeatureState.options.join(', ')}.`)
    .argument('<feature>', 'its id')
    .argument('<state>', 'where to')
    .option('--reason <TEXT>', 'why')
    .action(async (featureId: string, to: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { reason?: string }>()
      const { reason, json } = options
      await writing(options, async colloquy => {
        const why = reason === undefined ? {} : { reason }
        const moved = await colloquy.work.moveFeature(featureId, to as FeatureState, why)
        if (json) return printJson(moved)
        await printLines([`${safeLine(moved.featureId)} is ${stateText(moved.state)}.`])
      })
    })
}

function featureTable(features: readonly FeatureSummary[]): string[] {
  return table<FeatureSummary>(features, [
    { heading: 'ID', of: one => style.bold(safeLine(one.featureId)) },
    { heading: 'P', of: one => String(one.priority), align: 'right' },
    { heading: 'STATE', of: one => stateText(one.state) },
    { heading: 'TASKS', of: one => count(one.tasks), align: 'right' },
    { heading: 'NAME', of: one => safeLine(one.name), gives: true },
    { heading: 'ACTIVE', of: one => style.dim(relativeTime(one.activeAt)) },
  ])
}

function featureLines(feature: Feature, graph: TaskGraph): string[] {
  const { name, featureId, state, since, move, goal, spec, baseBranch, priority, worktree, result } = feature
  return [
    `${style.bold(safeLine(name))}  ${stateText(state)}`,
    ...fields([
      ['id', safeLine(featureId)],
      ['conversation', safeLine(feature.conversationId)],
      ['since', `${localTime(since)}${move?.reason === undefined ? '' : `  ${safeLine(move.reason)}`}`],
      ['goal', goal && safeLine(goal)],
      ['priority', String(priority)],
      ['base', baseBranch && safeLine(baseBranch)],
      ['work tree', worktree && safeLine(`${worktree.path} (${worktree.branch})`)],
      ['result', result && safeLine(result.summary)],
    ]),
    ...(spec ? ['', ...safeText(spec.trim()).split('\n')] : []),
    '',
    ...(graph.tasks.length === 0 ? [style.dim('No tasks are planned.')] : graphLines(graph)),
    ...(graph.tasks.length === 0 ? [] : ['', ...summaryLines(graph)]),
  ]
}

function textOf(file: string): string {
  return readFileSync(file === '-' ? 0 : file, 'utf8')
}
