/** `colloquy replay`: a conversation as it was at a version, or step by step with what each step changed. */
import type { Command } from 'commander'
import type { PastConversation } from '../../conversation/lifecycle/time-travel.ts'
import type { Colloquy, Conversation } from '../../index.ts'
import type { ConversationInfo } from '../../log/views/conversation.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { conversationOf } from '../lookup/conversation-of.ts'
import { reading } from '../open.ts'
import { examples, type GlobalOptions, refuseBackwards, wholeNumber } from '../options.ts'
import { safeJson, safeLine } from '../terminal/safe-text.ts'
import { type Column, fields, table } from '../terminal/table.ts'
import { columns, printJson, printLines, style } from '../terminal/terminal.ts'
import { cut } from '../terminal/text-width.ts'
import { eventLine } from '../text/event-line.ts'
import { statusText, workItemText } from '../text/format.ts'
import { messageLines } from '../text/messages.ts'

interface ReplayOptions extends GlobalOptions {
  at?: number
  from?: number
  to?: number
  limit: number
}

export function addReplay(program: Command): void {
  program
    .command('replay')
    .summary('show a conversation as it was, or step by step')
    .description(
      'With --at: the state of a conversation at a version, its sessions and the newest messages then. Without: its events in order, and below each what it changed. With --json each step is a line.',
    )
    .argument('<conversation>', 'id of a conversation, or of a session on it')
    .option('--at <VERSION>', 'as it was at this version', wholeNumber)
    .option('--from <VERSION>', 'first step (default: 1)', wholeNumber)
    .option('--to <VERSION>', 'last step (default: the newest)', wholeNumber)
    .option('--limit <N>', 'with --at: how many messages', wholeNumber, 10)
    .addHelpText(
      'after',
      examples(
        ['replay ID --at 120', 'as it was at version 120'],
        ['replay ID', 'from the beginning, step by step'],
        ['replay ID --from 100 --to 120', 'only these steps'],
        ['replay ID --json | jq .conversation.phase', 'the whole state after each step, for a script'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<ReplayOptions>()
      const { at, from, to } = options
      if (at !== undefined && (from ?? to) !== undefined) {
        command.error('error: --from and --to go through steps; --at stands at one.')
      }
      refuseBackwards(command, ['--from', from], ['--to', to])
      await reading(options, async colloquy => {
        const conversation = await conversationOf(colloquy, id)
        await (at === undefined ? step(colloquy, conversation, options) : stand(colloquy, conversation, at, options))
      })
    })
}

async function stand(
  colloquy: Colloquy,
  conversation: Conversation,
  version: number,
  { json, limit }: ReplayOptions,
): Promise<void> {
  const past = await colloquy.conversations.at(conversation.id, version)
  const messages = await past.messages({ limit })
  if (json) return printJson({ version, conversation: past.conversation, sessions: past.sessions, messages })
  await printLines([
    `${style.bold(safeLine(past.conversation.title))}  ${style.dim(`at version ${version} of ${conversation.version}`)}`,
    ...fields([
      ['conversation', safeLine(past.conversation.id)],
      ['about', workItemText(past.conversation.workItem)],
      ['status', statusText(past.conversation.status)],
      ...Object.entries(teamState(past.conversation)),
    ]),
    ...sessionLines(past),
    ...messages.flatMap(message => ['', ...messageLines(message)]),
  ])
}

function sessionLines({ sessions }: PastConversation): string[] {
  return sessions.length === 0 ? [] : ['', ...table(sessions, sessionColumns)]
}

const sessionColumns: Column<SessionHead>[] = [
  { heading: 'AGENT', of: ({ agentName }) => style.bold(safeLine(agentName)) },
  { heading: 'SESSION', of: ({ id }) => safeLine(id) },
  { heading: 'STATUS', of: ({ status }) => statusText(status) },
  { heading: 'ACKNOWLEDGED', of: ({ acknowledged }) => String(acknowledged ?? ''), align: 'right' },
  { heading: 'CHECKPOINT', of: ({ checkpoint }) => String(checkpoint?.number ?? ''), align: 'right' },
]

async function step(colloquy: Colloquy, { id, version }: Conversation, options: ReplayOptions): Promise<void> {
  const { json, from, to } = options
  const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
  const width = String(version).length
  let before: Record<string, string> | undefined
  for await (const one of colloquy.conversations.replay(id, range)) {
    if (json) {
      await printLines([safeJson(one)])
      continue
    }
    const after = stateOf(one.conversation)
    await printLines([eventLine(one.event, width), ...(before ? changeLines(before, after, width) : [])])
    before = after
  }
}

function changeLines(before: Record<string, string>, after: Record<string, string>, width: number): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .filter(name => before[name] !== after[name])
    .map(name => {
      const change = `${name}: ${before[name] ?? 'none'} → ${style.bold(after[name] ?? 'none')}`
      return cut(`${' '.repeat(width + 2)}${change}`, columns())
    })
}

/** The fields of a conversation's state that a person follows, each on one line. */
function stateOf(info: ConversationInfo): Record<string, string> {
  return { title: safeLine(info.title), status: info.status, ...teamState(info) }
}

function teamState(info: ConversationInfo): Record<string, string> {
  const { phase, turns, delegations, execution, pins = [], branchOf, delegated, summary } = info
  const { open, loop, count = 0 } = turns ?? {}
  const waiting = open?.agents.filter(agent => !open.completions.some(one => one.agent === agent)) ?? []
  const waits = waiting.length === 0 ? 'answered' : `waiting for ${waiting.join(', ')}`
  const state = {
    phase,
    turn: open ? `${open.number}, ${waits}` : count > 0 ? `${count}, done` : undefined,
    routing: loop && `blocked: ${loop.finding}`,
    delegated: delegations?.pending.map(({ from, to }) => `${from} to ${to}`).join(', '),
    'at work': execution?.running.map(({ agent }) => agent).join(', '),
    pins: pins.map(version => `#${version}`).join(', '),
    'branch of': branchOf && `${branchOf.conversationId} at version ${branchOf.version}`,
    'delegated by': delegated && `${delegated.from}, in ${delegated.conversationId}`,
    summary,
  }
  return Object.fromEntries(
    Object.entries(state).flatMap(([name, text]) => (text ? [[name, safeLine(text)] as const] : [])),
  )
}
