/** `colloquy turns`: what an orchestrator routed, what came back, and whether routing is blocked; undoing and clearing. */
import { type Command, Option } from 'commander'
import type { Colloquy, Turn } from '../../index.ts'
import { conversationOf } from '../lookup/conversation-of.ts'
import { reading, writing } from '../open.ts'
import { cursorText, examples, type GlobalOptions, wholeNumber } from '../options.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { columns, note, printJson, printLines, style } from '../terminal/terminal.ts'
import { cut } from '../terminal/text-width.ts'
import { count, localTime } from '../text/format.ts'

interface TurnsOptions extends GlobalOptions {
  limit: number
  cursor?: string
  context?: boolean
  undo?: boolean
  clearLoop?: boolean
  reason?: string
}

export function addTurns(program: Command): void {
  program
    .command('turns')
    .summary("show an orchestrator's turns on a conversation")
    .description(
      'Shows the routing decisions of a conversation, newest first, with what the agents said when they were done; and lets a person undo the newest, or let routing go on after a loop.',
    )
    .argument('<conversation>', 'id of a conversation, or of a session on it')
    .option('--limit <N>', 'how many', wholeNumber, 10)
    .option('--cursor <NEXT>', 'go on where the last page ended', cursorText)
    .addOption(new Option('--context', 'what an orchestrator is told, as JSON').conflicts(['undo', 'clearLoop']))
    .addOption(new Option('--undo', 'take the newest decision back').conflicts('clearLoop'))
    .option('--clear-loop', 'let routing go on')
    .option('--reason <TEXT>', 'why it is undone or cleared; the log keeps it')
    .addHelpText(
      'after',
      examples(
        ['turns ID', 'the newest ten'],
        ['turns ID --context', 'user_request, routing_history, current_routing'],
        ["turns ID --undo --reason 'the plan is not ready'", 'take one back'],
        ["turns ID --clear-loop --reason 'the instruction was wrong'", 'after a loop'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<TurnsOptions>()
      if (options.undo) return writing(options, colloquy => undo(colloquy, id, options))
      if (options.clearLoop) return writing(options, colloquy => clear(colloquy, id, options))
      if (options.reason !== undefined) command.error('error: --reason is for --undo and --clear-loop.')
      await reading(options, colloquy =>
        options.context ? context(colloquy, id, options) : show(colloquy, id, options),
      )
    })
}

async function show(colloquy: Colloquy, id: string, { json, limit, cursor }: TurnsOptions): Promise<void> {
  const { id: conversationId, title, turns } = await conversationOf(colloquy, id)
  const page = { limit, ...(cursor !== undefined && { cursor }) }
  const { items, next } = await colloquy.conversations.getTurns(conversationId, page)
  const { loop } = turns ?? {}
  if (json)
    return printJson({ conversationId, count: turns?.count ?? 0, loop: loop ?? null, turns: items, next: next ?? null })
  if (loop)
    note(safeLine(`Routing is blocked since version ${loop.version}: ${loop.finding}. --clear-loop lets it go on.`))
  await printLines([
    style.bold(safeLine(`${title}: ${count(turns?.count ?? 0, 'turn')}`)),
    ...items.flatMap(turn => ['', ...turnLines(turn)]),
    ...(next === undefined ? [] : ['', style.dim(`--cursor ${next} shows earlier ones.`)]),
  ])
}

async function context(colloquy: Colloquy, id: string, { limit }: TurnsOptions): Promise<void> {
  const { id: conversationId } = await conversationOf(colloquy, id)
  await printJson(await colloquy.conversations.buildOrchestratorRoutingContext(conversationId, { limit }))
}

async function undo(colloquy: Colloquy, id: string, { json, reason }: TurnsOptions): Promise<void> {
  const { id: conversationId } = await conversationOf(colloquy, id)
  const turn = await colloquy.conversations.undoTurn(conversationId, reason === undefined ? {} : { reason })
  if (json) return printJson({ conversationId, turn })
  await printLines([safeLine(`Turn ${turn.number}, to ${turn.agents.join(', ')}, is undone.`)])
}

async function clear(colloquy: Colloquy, id: string, { json, reason }: TurnsOptions): Promise<void> {
  const { id: conversationId, turns } = await conversationOf(colloquy, id)
  await colloquy.conversations.clearLoop(conversationId, reason)
  if (json) return printJson({ conversationId, cleared: turns?.loop ?? null })
  await printLines([
    turns?.loop ? safeLine(`Routing may go on (it was: ${turns.loop.finding}).`) : 'Routing was not blocked.',
  ])
}

function turnLines(turn: Turn): string[] {
  const { number, version, startedAt, phase, agents, status, completions, missing, endReason } = turn
  const width = columns()
  const place = [`#${version}`, localTime(startedAt), phase && safeLine(phase)].filter(Boolean).join(' · ')
  const said = completions.map(({ agent, message, outcome }) => {
    const mark = outcome === 'completed' ? style.green('✓') : style.red('✗')
    return cut(`  ${mark} ${safeLine(agent)}: ${safeLine(safeText(message))}`, width)
  })
  return [
    cut(
      `${style.bold(`Turn ${number}`)} → ${safeLine(agents.join(', '))}  ${statusText(status)}  ${style.dim(place)}`,
      width,
    ),
    cut(`  ${safeLine(turn.instruction ?? turn.reason)}`, width),
    ...said,
    ...(missing.length === 0 ? [] : [style.dim(`  … ${safeLine(missing.join(', '))}`)]),
    ...(endReason === undefined ? [] : [style.dim(cut(`  ${safeLine(endReason)}`, width))]),
  ]
}

function statusText(status: Turn['status']): string {
  if (status === 'open') return style.cyan(status)
  if (status === 'completed') return style.green(status)
  return style.yellow(status)
}
