/** `colloquy dispatch`: gives what can be done next to agents, told line by line; and what is parked. */
import type { Command } from 'commander'
import type { ParkedItem } from '../../agents/scheduling/dispatch-manager.ts'
import type { DispatchUpdate } from '../../agents/scheduling/dispatcher.ts'
import type { DispatchedItem } from '../../agents/scheduling/worker.ts'
import type { Colloquy } from '../../index.ts'
import { exitCode } from '../failure.ts'
import { reading, writing } from '../open.ts'
import { examples, type GlobalOptions, wholeNumber } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { whenStopped } from '../terminal/stop-signals.ts'
import { table } from '../terminal/table.ts'
import { columns, errorStyle, note, printJson, printLines, style } from '../terminal/terminal.ts'
import { cut } from '../terminal/text-width.ts'
import { count, relativeTime, workItemText } from '../text/format.ts'

interface DispatchOptions extends GlobalOptions {
  once?: boolean
  concurrency?: number
}

export function addDispatch(program: Command): void {
  const dispatch = program
    .command('dispatch')
    .summary('give work to agents')
    .description(
      'Gives what can be done next to the agents it is for, the most urgent first: beads that wait for nothing, and tasks of features in progress. What fails is tried again, later each time; what leads nowhere is parked with its reason. As many of these as you like share one store. Ctrl-C stops it; what was said is kept, and the next one goes on.',
    )
    .option('--once', 'end when there is nothing left to do')
    .option('--concurrency <N>', 'items at a time in this process (default: as configured, else 2)', wholeNumber)
    .addHelpText(
      'after',
      examples(
        ['dispatch --once', 'all there is to do'],
        ['dispatch --concurrency 4 --json', 'until it is stopped, a line of JSON per event'],
        ['dispatch parked', 'what a person should look at'],
        ["dispatch clear b-12 --reason 'the key is set'", 'let it go on'],
      ),
    )
    .action((_: unknown, command: Command) => run(command.optsWithGlobals<DispatchOptions>()))

  dispatch
    .command('parked')
    .description('Lists what is parked, blocked or has failed, and why; the longest first.')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      await reading(options, async colloquy => {
        const items = await colloquy.dispatcher.parked()
        if (options.json) return printJson({ items })
        if (items.length === 0) return note('Nothing is parked.')
        await printLines(parkedTable(items))
      })
    })

  dispatch
    .command('clear')
    .description('Lets a parked bead, or a blocked task, go on. What kept it so far counts no more.')
    .argument('<item>', 'id of the bead; or of the task, with --feature')
    .option('--feature <ID>', 'the feature of the task')
    .option('--reason <TEXT>', 'what was done about it')
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { feature?: string; reason?: string }>()
      const { feature: featureId, reason, json } = options
      const item: DispatchedItem =
        featureId === undefined ? { type: 'bead', beadId: id } : { type: 'task', featureId, taskId: id }
      await writing(options, async colloquy => {
        await colloquy.dispatcher.clear(item, reason)
        if (json) return printJson({ item, cleared: true })
        await printLines([`${workItemText(item)} can be given to agents again.`])
      })
    })
}

async function run({ once = false, concurrency, ...options }: DispatchOptions): Promise<void> {
  const { json = false } = options
  const stopping = new AbortController()
  const letGo = whenStopped(() => {
    stopping.abort()
    note(errorStyle.dim('Stopping; once more stops at once.'))
  })
  try {
    await writing(options, colloquy => attended(colloquy, { once, json, signal: stopping.signal, concurrency }))
  } finally {
    letGo()
  }
}

async function attended(
  colloquy: Colloquy,
  {
    once,
    json,
    signal,
    concurrency,
  }: { once: boolean; json: boolean; signal: AbortSignal; concurrency: number | undefined },
): Promise<void> {
  let told: Promise<void> = Promise.resolve()
  const dispatcher = colloquy.dispatcher.start({
    once,
    signal,
    ...(concurrency !== undefined && { concurrency }),
    onUpdate(update) {
      told = told.then(() => (json ? printJson(update) : printLines([lineOf(update)])))
      // The reader closed our output, so the dispatcher is stopped.
      told.catch(() => dispatcher.stop())
    },
  })
  if (!json) note(errorStyle.dim(once ? 'Dispatching what there is to do.' : 'Dispatching; Ctrl-C stops.'))
  const counts = await dispatcher.over
  await told
  const parked = await colloquy.dispatcher.parked()
  if (json) await printJson({ type: 'over', counts, parked: parked.length })
  else {
    await printLines([
      style.dim(`${count(counts.started, 'item')} given to agents: ${counts.done} done, ${counts.failed} failed.`),
      ...(parked.length === 0 ? [] : [`${count(parked.length, 'item')} parked: colloquy dispatch parked`]),
    ])
  }
  if (once && parked.length > 0 && !signal.aborted) process.exitCode = exitCode.failed
}

function lineOf(update: DispatchUpdate): string {
  const name = `${workItemText(update.item)} ${safeLine(update.title)}`
  const time = style.dim(new Date(update.at).toTimeString().slice(0, 8))
  return cut(`${time} ${wordsOf(update, name)}`, columns())
}

function wordsOf(update: DispatchUpdate, name: string): string {
  switch (update.type) {
    case 'started':
      return `${style.cyan('→')} ${safeLine(update.agent)}  ${name}${update.hop > 1 ? style.dim(` (${update.hop}th time)`) : ''}`
    case 'parked':
      return `${style.yellow('⏸')} ${name}: ${safeLine(update.reason)}`
    case 'lost':
      return `${style.dim('·')} ${name}: another node has it now`
    case 'ended': {
      const { outcome, reason, summary, tookMs } = update
      const said = reason ?? summary
      const mark = { done: style.green('✓'), continues: style.cyan('…'), parked: style.yellow('⏸') }[outcome as string]
      return `${mark ?? style.red('✗')} ${name}  ${outcome}${said ? `: ${safeLine(said)}` : ''} ${style.dim(`${(tookMs / 1000).toFixed(1)} s`)}`
    }
  }
}

function parkedTable(items: readonly ParkedItem[]): string[] {
  return table(items, [
    { heading: 'ITEM', of: ({ item, title }) => `${workItemText(item)} ${safeLine(title)}`, gives: true },
    { heading: 'STATE', of: ({ state }) => style.yellow(state) },
    { heading: 'SINCE', of: ({ since }) => relativeTime(since) },
    { heading: 'TRIES', of: ({ attempts }) => String(attempts), align: 'right' },
    { heading: 'WHY', of: ({ reason, guard }) => safeLine(guard === undefined ? reason : `${guard}: ${reason}`) },
  ])
}
