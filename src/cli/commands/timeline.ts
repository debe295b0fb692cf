/** `colloquy timeline`: what happened in a conversation on one screen, its messages counted and not told. */
import type { Command } from 'commander'
import type { Colloquy, Conversation, RecordedEvent } from '../../index.ts'
import { conversationOf } from '../lookup/conversation-of.ts'
import { reading } from '../open.ts'
import { examples, type GlobalOptions, wholeNumber } from '../options.ts'
import { progressLine } from '../terminal/progress.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { columns, printJson, printLines, style } from '../terminal/terminal.ts'
import { cut, padEnd, padStart, textWidth } from '../terminal/text-width.ts'
import { type EventText, eventText } from '../text/event-text.ts'
import { count, localTime, statusText } from '../text/format.ts'

interface TimelineOptions extends GlobalOptions {
  limit: number
  before?: number
}

/** One line: something that happened, and how many messages came between it and the one before. */
interface Entry extends EventText {
  version: number
  at: string
  messagesBefore: number
}

const pageSize = 200

export function addTimeline(program: Command): void {
  program
    .command('timeline')
    .summary('show what happened in a conversation on one screen')
    .description(
      'Shows the history of a conversation: phases, turns, loops, delegations, compactions, branches, who joined, what was cleared or put away. Messages are counted between them.',
    )
    .argument('<conversation>', 'id of a conversation, or of a session on it')
    .option('--limit <N>', 'how many lines, the newest', wholeNumber, 30)
    .option('--before <VERSION>', 'only what happened before this version', wholeNumber)
    .addHelpText(
      'after',
      examples(
        ['timeline ID', 'the newest thirty things'],
        ['timeline ID --before 120', 'earlier ones'],
        ['timeline ID --limit 500 --json', 'for a script'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<TimelineOptions>()
      await reading(options, async colloquy => {
        const conversation = await conversationOf(colloquy, id)
        const { entries, after, more } = await history(colloquy, conversation, options)
        const { messages } = await colloquy.conversations.stats(conversation.id)
        const executionMs = conversation.execution?.totalMs ?? 0
        const next = more ? entries[0]?.version : undefined
        if (options.json) {
          const { id: conversationId, title, status, phase, version } = conversation
          return printJson({
            conversationId,
            title,
            status,
            phase: phase ?? null,
            version,
            messages,
            executionMs,
            entries,
            messagesAfter: after,
            next: next ?? null,
          })
        }
        const { title, status, phase } = conversation
        const facts = [
          phase && safeLine(phase),
          count(messages, 'message'),
          executionMs > 0 ? `${duration(executionMs)} at work` : '',
        ]
        await printLines([
          `${style.bold(safeLine(title))}  ${statusText(status)}  ${style.dim(facts.filter(Boolean).join(' · '))}`,
          ...(next === undefined ? [] : [style.dim(`… --before ${next} shows what happened earlier`)]),
          ...entryLines(entries, after),
        ])
      })
    })
}

/**
 * The newest things that happened, oldest first. Read backwards and without the messages, so that a long conversation
 * costs no more than a short one.
 */
async function history(
  colloquy: Colloquy,
  conversation: Conversation,
  { limit, before }: TimelineOptions,
): Promise<{ entries: Entry[]; after: number; more: boolean }> {
  const { conversations } = colloquy
  const { id, version } = conversation
  const end = Math.min(version, (before ?? version + 1) - 1)
  const branches = await conversations.listConversations({ branchesOf: id, limit: 1000 })
  const forks = branches.items
    .map(({ branchOf, title, id, createdAt }) => ({ version: branchOf!.version, at: createdAt, title, id }))
    .filter(fork => fork.version <= end)
    .sort((a, b) => b.version - a.version)
  const progress = progressLine('Reading', 'event')
  const names = await namesOf(colloquy, conversation)
  // Newest first, until turned round.
  const entries: Entry[] = []
  let to = end
  let messages = 0
  let after = 0
  let lastVersion = end + 1
  const add = (at: string, version: number, words: EventText) => {
    const later = entries.at(-1)
    if (later) later.messagesBefore = messages
    else after = messages
    messages = 0
    entries.push({ version, at, ...words, messagesBefore: 0 })
  }
  const take = ({ version, at, event, actor }: RecordedEvent) => {
    // A fork at this version came after what stands at it.
    while (forks[0] && forks[0].version >= version) {
      const { title, id, at, version: point } = forks.shift()!
      messages += lastVersion - point - 1
      lastVersion = point + 1
      add(at, point, { kind: 'branch', text: `"${title}" goes another way (${id})`, mood: 'good' })
    }
    // Whatever is no fact is a message.
    messages += lastVersion - version - 1
    lastVersion = version
    const words = eventText(event, { actor, ...names })
    if (words) add(at, version, words)
  }
  try {
    while (to > 0 && entries.length <= limit) {
      const page = await conversations.getEvents(id, { to, backwards: true, limit: pageSize, facts: true })
      for (const recorded of page) take(recorded)
      progress.report(end - lastVersion, end)
      if (page.length < pageSize) break
      to = page.at(-1)!.version - 1
    }
  } finally {
    progress.end()
  }
  const oldest = entries.at(-1)
  if (oldest) oldest.messagesBefore = messages
  else after = messages
  // Entries of one version stay on one page; the next page begins at the next version.
  let shown = Math.min(limit, entries.length)
  while (entries[shown]?.version === entries[shown - 1]?.version && shown < entries.length) shown++
  return { entries: entries.slice(0, shown).reverse(), after, more: shown < entries.length }
}

async function namesOf(colloquy: Colloquy, { id, delegations }: Conversation) {
  const status = ['active', 'archived', 'expired', 'deleted'] as const
  const sessions = await colloquy.sessions.listSessions({ conversationId: id, status, limit: 1000 })
  const agents = new Map(sessions.items.map(({ id, agentName }) => [id, agentName]))
  const delegates = new Map(
    [...(delegations?.pending ?? []), ...(delegations?.ended ?? [])].map(({ id, from, to }) => [
      id,
      `${to} to ${from}`,
    ]),
  )
  return {
    agentOf: (sessionId: string) => agents.get(sessionId) ?? `session ${sessionId}`,
    delegateOf: (delegationId: string) => delegates.get(delegationId) ?? `delegation ${delegationId}`,
  }
}

function entryLines(entries: readonly Entry[], after: number): string[] {
  const versionWidth = Math.max(0, ...entries.map(({ version }) => String(version).length)) + 1
  const kindWidth = Math.max(0, ...entries.map(({ kind }) => textWidth(kind)))
  const said = (messages: number) =>
    messages === 0 ? [] : [style.dim(`${' '.repeat(versionWidth)}  ${' '.repeat(16)}  ${count(messages, 'message')}`)]
  return [
    ...entries.flatMap(({ version, at, kind, text, mood, messagesBefore }) => {
      const place = `${style.cyan(padStart(`#${version}`, versionWidth))}  ${style.dim(localTime(at))}`
      return [
        ...said(messagesBefore),
        cut(`${place}  ${painted(padEnd(safeLine(kind), kindWidth), mood)}  ${safeLine(text)}`, columns()).trimEnd(),
      ]
    }),
    ...said(after),
  ]
}

function painted(text: string, mood: EventText['mood']): string {
  switch (mood) {
    case 'good':
      return style.green(text)
    case 'bad':
      return style.red(text)
    case 'change':
      return style.magenta(text)
    case 'plain':
      return style.bold(text)
  }
}

const minute = 60_000

function duration(ms: number): string {
  if (ms < minute) return `${Math.round(ms / 1000)} s`
  return ms < 120 * minute ? `${Math.round(ms / minute)} min` : `${Math.round(ms / (60 * minute))} h`
}
