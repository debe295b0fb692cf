/** `colloquy bead`: work items that stand by themselves, with a priority and dependencies on each other. */
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
    .description('Beads are work items that stand by themselves, with a priority and dependencies on each other.')
    .addHelpText(
      'after',
      examples(
        ["bead add 'Retry failed calls' --priority 1 --depends-on b-12", 'a new one'],
        ['bead list --state open', 'what is to be done, the most urgent first'],
        ['bead list --ready', 'what can be taken up now'],
        ['bead import .beads/issues.jsonl', "take over a project's issues"],
      ),
    )

  bead
    .command('add')
    .description('Adds a bead.')
    .argument('<title>', 'what it is called')
    .option('--id <ID>', 'what it is known by (default: made)')
    .option('--description <TEXT>', 'all that whoever does it needs')
    .option('--priority <N>', '0 goes first; 2 is usual', priorityNumber)
    .option('--depends-on <BEAD...>', 'beads that must be done before it begins')
    .option('--agent <NAME>', 'who is to do it')
    .option('--kind <KIND>', 'task, bug, epic …')
    .option('--label <LABEL...>', 'labels')
    .action(async (title: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<AddOptions>()
      const { id: beadId, description, priority, dependsOn: dependencies, agent, kind, label: labels } = options
      const said = { beadId, description, priority, dependencies, agent, kind, labels }
      const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
      await making(options, async colloquy => {
        const added = await colloquy.work.addBead({ title, ...given })
        if (options.json) return printJson(added)
        await printLines([safeLine(`Added bead ${added.beadId}: ${added.title}`)])
      })
    })

  bead
    .command('list')
    .description('Lists beads by priority, the oldest first. Those that are done only when asked for.')
    .option('--state <LIST>', `only these: ${BeadState.options.join(', ')}`, someOf(BeadState.options))
    .option('--ready', 'only those that wait for nothing')
    .option('--limit <N>', 'how many', wholeNumber, 50)
    .option('--cursor <CURSOR>', 'go on where an earlier list ended', cursorText)
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
          const found = await Promise.all(
            items.map(({ item }) => colloquy.work.getBead(item.type === 'bead' ? item.beadId : '')),
          )
          return printLines(beadTable(found))
        }
        const page = await colloquy.work.listBeads({ states, limit, ...(cursor !== undefined && { cursor }) })
        if (json) return printJson(page)
        if (page.items.length === 0) return note(safeLine(`No beads found in project "${colloquy.project}".`))
        await printLines(beadTable(page.items))
        if (page.next !== undefined) note(errorStyle.dim(`There are more: --cursor ${page.next}`))
      })
    })

  bead
    .command('show')
    .description('Shows a bead: what it is, how it stands, what it waits for.')
    .argument('<bead>', 'its id')
    .action(async (beadId: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      await reading(options, async colloquy => {
        const found = await colloquy.work.getBead(beadId)
        if (options.json) return printJson(found)
        await printLines(beadLines(found))
      })
    })

  bead
    .command('move')
    .description(`Moves a bead to another state: ${BeadState.options.join(', ')}.`)
    .argument('<bead>', 'its id')
    .argument('<state>', 'where to')
    .option('--reason <TEXT>', 'why')
    .option('--ignore-dependencies', 'let it begin before those it depends on are done')
    .action(async (beadId: string, to: string, _: unknown, command: Command) => {
      type Options = GlobalOptions & { reason?: string; ignoreDependencies?: boolean }
      const options = command.optsWithGlobals<Options>()
      const { reason, ignoreDependencies, json } = options
      await writing(options, async colloquy => {
        const moved = await colloquy.work.moveBead(beadId, to as BeadState, {
          ...(reason !== undefined && { reason }),
          ...(ignoreDependencies && { ignoresDependencies: true }),
        })
        if (json) return printJson(moved)
        await printLines([`${safeLine(beadId)} is ${stateText(moved.state)}.`])
      })
    })

  bead
    .command('import')
    .description(
      'Takes over the issues of a beads file (.beads/issues.jsonl). What is there already stays as it is; a line that cannot be read is named and hides no other.',
    )
    .argument('<file>', 'the file; - reads standard input')
    .option('--dry-run', 'only say what would be done')
    .action(async (file: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { dryRun?: boolean }>()
      const { beads, problems } = readBeads(readFileSync(file === '-' ? 0 : file, 'utf8'))
      const tellProblems = () => {
        for (const { line, id, problem } of problems) {
          note(safeLine(`${line === undefined ? id : `line ${line}`}: ${problem}`))
        }
      }
      if (options.dryRun) {
        if (options.json) return printJson({ beads: beads.length, problems })
        tellProblems()
        return printLines([`${count(beads.length, 'bead')} would be imported.`])
      }
      await making(options, async colloquy => {
        const progress = progressLine('Importing', 'bead')
        const done = await importBeads(colloquy, beads, progress.report).finally(() => progress.end())
        if (options.json) return printJson({ ...done, problems })
        tellProblems()
        const known = done.known === 0 ? '' : `, ${count(done.known)} were there already`
        await printLines([`${count(done.imported, 'bead')} imported${known}.`])
      })
    })
}

function beadTable(beads: readonly BeadSummary[]): string[] {
  return table<BeadSummary>(beads, [
    { heading: 'ID', of: one => style.bold(safeLine(one.beadId)) },
    { heading: 'P', of: one => String(one.priority), align: 'right' },
    { heading: 'STATE', of: one => stateText(one.state) },
    { heading: 'KIND', of: one => safeLine(one.kind ?? '') },
    { heading: 'TITLE', of: one => safeLine(one.title), gives: true },
    { heading: 'NEEDS', of: one => style.dim(count(one.dependencies.length)), align: 'right' },
    { heading: 'ACTIVE', of: one => style.dim(relativeTime(one.activeAt)) },
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
        one => ['waits for', `${style.yellow(safeLine(one.id))}  ${safeLine(one.title)} (${one.state})`] as const,
      ),
      ['attempts', attempts && `${attempts.count}, ${attempts.failed} failed in a row`],
      ['last trouble', attempts?.last.reason && safeLine(attempts.last.reason)],
      ['result', result && safeLine(result.summary)],
    ]),
    ...(description ? ['', ...safeText(description.trim()).split('\n')] : []),
  ]
}
