/** `colloquy bead`: work items without a feature, with a priority and dependencies on each other. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { BeadSummary } from '../../conversation/work/item-views.ts'
import { readBeads } from '../../exchange/formats/beads/index.ts'
import type { Bead } from '../../index.ts'
import { BeadState } from '../../log/events/work/work.ts'
import { making, reading, writing } from '../open.ts'
import { cursorText, examples, type GlobalOptions, priorityNumber, someOf, wholeNumber } from '../options.ts'
import { progressLine } from '../terminal/progress.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { fields, table } from '../terminal/table.ts'
import { errorStyle, note, printJson, printLines, style } from '../terminal/terminal.ts'
import { count, localTime, relativeTime } from '../text/format.ts'
import { importBeads } from '../work/import-beads.ts'
import { stateText } from '../work/work-format.ts'

interface AddOptions extends GlobalOptions {
  id?: string
  description?: string
  priority?: number
  dependsOn?: string[]
  agent?: string
  kind?: string
  label?: string[]
}

export function addBead(program: Command): void {
  const bead = program
    .command('bead')
    .summary('add, list, show and import beads')
    .description('Beads are work items without a feature, with a priority and dependencies on each other.')
    .addHelpText(
      'after',
      examples(
        ["bead add 'Retry failed calls' --priority 1 --depends-on b-12", 'add one'],
        ['bead list --state open', 'open ones, the most urgent first'],
        ['bead list --ready', 'ones that can begin now'],
        ['bead import .beads/issues.jsonl', "import a project's issues"],
      ),
    )
  addNewBead(bead)
  addList(bead)
  addShow(bead)
  addMove(bead)
  addImport(bead)
}

function addNewBead(bead: Command): void {
  bead
    .command('add')
    .description('Adds a bead.')
    .argument('<title>', 'its title')
    .option('--id <ID>', 'its id (default: generated)')
    .option('--description <TEXT>', 'everything that its agent needs to know')
    .option('--priority <N>', '0 goes first; 2 is usual', priorityNumber)
    .option('--depends-on <BEAD...>', 'beads that must be done before it begins')
    .option('--agent <NAME>', 'agent that does it')
    .option('--kind <KIND>', 'task, bug, epic …')
    .option('--label <LABEL...>', 'labels')
    .action(async (title: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<AddOptions>()
      const { id: beadId, description, priority, dependsOn: dependencies, agent, kind, label: labels } = options
      const fields = { beadId, description, priority, dependencies, agent, kind, labels }
      const givenFields = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
      await making(options, async colloquy => {
        const newBead = await colloquy.work.addBead({ title, ...givenFields })
        if (options.json) return printJson(newBead)
        await printLines([safeLine(`Added bead ${newBead.beadId}: ${newBead.title}`)])
      })
    })
}

function addList(bead: Command): void {
  bead
    .command('list')
    .description('Lists beads by priority, the oldest first. Completed ones only on demand.')
    .option('--state <LIST>', `only these: ${BeadState.options.join(', ')}`, someOf(BeadState.options))
    .option('--ready', 'only those that can begin now')
    .option('--limit <N>', 'how many', wholeNumber, 50)
    .option('--cursor <CURSOR>', 'continue after an earlier page', cursorText)
    .action(async (_: unknown, command: Command) => {
      type Options = GlobalOptions & { state?: BeadState[]; ready?: boolean; limit: number; cursor?: string }
      const options = command.optsWithGlobals<Options>()
      const { state: states = ['open', 'in_progress', 'parked'], ready, limit, cursor, json } = options
      if (ready && (options.state ?? cursor) !== undefined) {
        command.error('error: --ready goes with neither --state nor --cursor.')
      }
      await reading(options, async colloquy => {
        if (ready) {
          const items = await colloquy.work.ready({ kinds: ['bead'], limit })
          if (json) return printJson({ items })
          if (items.length === 0) return note('No bead is ready.')
          const beads = await Promise.all(
            items.map(({ item }) => colloquy.work.getBead(item.type === 'bead' ? item.beadId : '')),
          )
          return printLines(beadTable(beads))
        }
        const page = await colloquy.work.listBeads({ states, limit, ...(cursor !== undefined && { cursor }) })
        if (json) return printJson(page)
        if (page.items.length === 0) return note(safeLine(`No beads found in project "${colloquy.project}".`))
        await printLines(beadTable(page.items))
        if (page.next !== undefined) note(errorStyle.dim(`There are more: --cursor ${page.next}`))
      })
    })
}

function addShow(bead: Command): void {
  bead
    .command('show')
    .description('Shows a bead: its fields, its state and the beads it waits for.')
    .argument('<bead>', 'its id')
    .action(async (beadId: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      await reading(options, async colloquy => {
        const shownBead = await colloquy.work.getBead(beadId)
        if (options.json) return printJson(shownBead)
        await printLines(beadLines(shownBead))
      })
    })
}

function addMove(bead: Command): void {
  bead
    .command('move')
    .description(`Moves a bead to another state: ${BeadState.options.join(', ')}.`)
    .argument('<bead>', 'its id')
    .argument('<state>', 'the new state')
    .option('--reason <TEXT>', 'why')
    .option('--ignore-dependencies', 'let it begin before its dependencies are done')
    .action(async (beadId: string, to: string, _: unknown, command: Command) => {
      type Options = GlobalOptions & { reason?: string; ignoreDependencies?: boolean }
      const options = command.optsWithGlobals<Options>()
      const { reason, ignoreDependencies, json } = options
      await writing(options, async colloquy => {
        const movedBead = await colloquy.work.moveBead(beadId, to as BeadState, {
          ...(reason !== undefined && { reason }),
          ...(ignoreDependencies && { ignoresDependencies: true }),
        })
        if (json) return printJson(movedBead)
        await printLines([`${safeLine(beadId)} is ${stateText(movedBead.state)}.`])
      })
    })
}

function addImport(bead: Command): void {
  bead
    .command('import')
    .description(
      'Imports the issues of a beads file (.beads/issues.jsonl). Existing beads stay as they are; an unreadable line is named and skipped.',
    )
    .argument('<file>', 'the file; - reads standard input')
    .option('--dry-run', 'only count what would be imported')
    .action(async (file: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { dryRun?: boolean }>()
      const { beads, problems } = readBeads(readFileSync(file === '-' ? 0 : file, 'utf8'))
      const noteProblems = () => {
        for (const { line, id, problem } of problems) {
          note(safeLine(`${line === undefined ? id : `line ${line}`}: ${problem}`))
        }
      }
      if (options.dryRun) {
        if (options.json) return printJson({ beads: beads.length, problems })
        noteProblems()
        return printLines([`${count(beads.length, 'bead')} would be imported.`])
      }
      await making(options, async colloquy => {
        const progress = progressLine('Importing', 'bead')
        const result = await importBeads(colloquy, beads, progress.report).finally(() => progress.end())
        if (options.json) return printJson({ ...result, problems })
        noteProblems()
        const existing = result.known === 0 ? '' : `, ${count(result.known)} were there already`
        await printLines([`${count(result.imported, 'bead')} imported${existing}.`])
      })
    })
}

function beadTable(beads: readonly BeadSummary[]): string[] {
  return table<BeadSummary>(beads, [
    { heading: 'ID', of: bead => style.bold(safeLine(bead.beadId)) },
    { heading: 'P', of: bead => String(bead.priority), align: 'right' },
    { heading: 'STATE', of: bead => stateText(bead.state) },
    { heading: 'KIND', of: bead => safeLine(bead.kind ?? '') },
    { heading: 'TITLE', of: bead => safeLine(bead.title), gives: true },
    { heading: 'NEEDS', of: bead => style.dim(count(bead.dependencies.length)), align: 'right' },
    { heading: 'ACTIVE', of: bead => style.dim(relativeTime(bead.activeAt)) },
  ])
}

function beadLines(bead: Bead): string[] {
  const { title, state, since, move, description, priority, agent, kind, labels = [], attempts, result } = bead
  return [
    `${style.bold(safeLine(title))}  ${stateText(state)}`,
    ...fields([
      ['id', safeLine(bead.beadId)],
      ['conversation', safeLine(bead.conversationId)],
      ['since', `${localTime(since)}${move?.reason === undefined ? '' : `  ${safeLine(move.reason)}`}`],
      ['priority', String(priority)],
      ['kind', kind && safeLine(kind)],
      ['labels', safeLine(labels.join(', '))],
      ['agent', agent && safeLine(agent)],
      ['depends on', safeLine(bead.dependencies.join(', '))],
      ...bead.waitsFor.map(
        ({ id, title, state }) =>
          ['waits for', `${style.yellow(safeLine(id))}  ${safeLine(title)} (${state})`] as const,
      ),
      ['attempts', attempts && `${attempts.count}, ${attempts.failed} failed in a row`],
      ['last trouble', attempts?.last.reason && safeLine(attempts.last.reason)],
      ['result', result && safeLine(result.summary)],
    ]),
    ...(description ? ['', ...safeText(description.trim()).split('\n')] : []),
  ]
}
