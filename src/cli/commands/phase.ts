/** `colloquy phase`: the phase a conversation is in, how it got there, where it may go; and moving it. */
import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { CurrentPhase, PhaseChange } from '../../conversation/turns/turn-views.ts'
import type { Colloquy } from '../../index.ts'
import type { PhaseSetting } from '../../log/commands/phase-set.ts'
import { conversationOf } from '../lookup/conversation-of.ts'
import { reading, writing } from '../open.ts'
import { examples, type GlobalOptions, wholeNumber } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { fields, table } from '../terminal/table.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'
import { localTime, relativeTime } from '../text/format.ts'

interface PhaseOptions extends GlobalOptions {
  to?: string
  reason?: string
  message?: string
  summary?: string
  agent?: string
  expect?: string
  phases?: PhaseSetting
  limit: number
}

export function addPhase(program: Command): void {
  program
    .command('phase')
    .summary('show or change the phase of a conversation')
    .description(
      'Shows the phase a conversation is in, the phases that may follow and the changes so far; with --to it moves there, if that is allowed.',
    )
    .argument('<conversation>', 'id of a conversation, or of a session on it')
    .option('--to <PHASE>', 'move it there')
    .option('--reason <TEXT>', 'why')
    .option('--message <TEXT>', 'what the next phase is told')
    .option('--summary <TEXT>', 'where things stand, for whoever takes over')
    .option('--agent <NAME>', 'the agent that moves it')
    .option('--expect <PHASE>', 'only if it is in this phase')
    .addOption(
      new Option('--phases <FILE>', "the project's own phases as JSON, or none (default: the seven)").argParser(
        phasesIn,
      ),
    )
    .option('--limit <N>', 'how many changes to show', wholeNumber, 10)
    .addHelpText(
      'after',
      examples(
        ['phase ID', 'where it is, and where it may go'],
        ["phase ID --to execute --reason 'the plan stands'", 'move on'],
        ["phase ID --to chat --expect execute --summary 'form done, tests missing'", 'hand over'],
        ['phase ID --phases phases.json', 'where the project has its own'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<PhaseOptions>()
      const { to, reason, message, summary, agent, expect } = options
      if (to === undefined) {
        for (const [name, value] of Object.entries({ reason, message, summary, agent, expect }))
          if (value !== undefined) command.error(`error: --${name} is for moving; say where with --to PHASE.`)
        return reading(options, colloquy => show(colloquy, id, options))
      }
      await writing(options, async colloquy => {
        const conversation = await conversationOf(colloquy, id)
        const said = Object.entries({ reason, message, summary, agent, expectedPhase: expect })
        const given = Object.fromEntries(said.filter(([, value]) => value !== undefined))
        const moved = await colloquy.conversations.transitionPhase(conversation.id, { to, ...given })
        const phase = await colloquy.conversations.getPhase(conversation.id)
        if (options.json) return printJson({ conversationId: conversation.id, ...phase })
        const was = moved.version === conversation.version
        await printLines([
          safeLine(
            `"${moved.title}" ${was ? 'was in' : `went from ${phase.from} to`} ${phase.phase}${was ? ' already' : ''}.`,
          ),
          ...fields([['may go to', nextText(phase)]]),
        ])
      })
    })
}

async function show(colloquy: Colloquy, id: string, { limit, json }: PhaseOptions): Promise<void> {
  const { id: conversationId, title } = await conversationOf(colloquy, id)
  const phase = await colloquy.conversations.getPhase(conversationId)
  const history = await colloquy.conversations.getPhaseHistory(conversationId, { limit })
  if (json) return printJson({ conversationId, ...phase, history: history.items })
  await printLines([
    style.bold(safeLine(title)),
    ...fields([
      ['phase', phase.phase === null ? 'none' : safeLine(phase.phase)],
      ['since', phase.since && `${localTime(phase.since)} ${style.dim(`(${relativeTime(phase.since)})`)}`],
      ['stuck', phase.stuckAt && style.yellow(`reported ${localTime(phase.stuckAt)}`)],
      ['may go to', nextText(phase)],
      ['handed over', phase.summary && safeLine(phase.summary)],
    ]),
    ...(history.items.length === 0 ? [] : ['', ...changeLines(history.items)]),
    ...(history.next === undefined ? [] : [style.dim('--limit shows earlier ones.')]),
  ])
}

function nextText({ legal }: CurrentPhase): string {
  return legal.length === 0 ? 'nothing' : safeLine(legal.join(', '))
}

function changeLines(changes: readonly PhaseChange[]): string[] {
  return table<PhaseChange>(changes, [
    { heading: 'WHEN', of: ({ at }) => style.dim(localTime(at)) },
    { heading: 'FROM', of: ({ from }) => safeLine(from ?? '') },
    { heading: 'TO', of: ({ to }) => style.bold(safeLine(to)) },
    { heading: 'BY', of: ({ agent, actor }) => safeLine(agent ?? actor) },
    { heading: 'WHY', of: ({ reason, message }) => safeLine(reason ?? message ?? ''), gives: true },
  ])
}

function phasesIn(text: string): PhaseSetting {
  if (text === 'none' || text === 'default') return text
  try {
    return JSON.parse(readFileSync(text, 'utf8')) as PhaseSetting
  } catch (error) {
    throw new InvalidArgumentError(`It must be a JSON file, or none. ${error instanceof Error ? error.message : ''}`)
  }
}
