/** `colloquy show`: a conversation or a session, and the newest of what was said. */
import type { Command } from 'commander'
import type { Colloquy, Conversation, Message, Session } from '../../index.ts'
import { find } from '../lookup/find.ts'
import { reading } from '../open.ts'
import { examples, type GlobalOptions, oneMore, wholeNumber } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { fields } from '../terminal/table.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'
import { count, localTime, relativeTime, statusText, workItemText } from '../text/format.ts'
import { messageLines } from '../text/messages.ts'

interface ShowOptions extends GlobalOptions {
  limit: number
  before?: number
  full?: boolean
}

/** A conversation with more sessions than this is better looked at with `list --sessions`. */
const sessionsShown = 10

export function addShow(program: Command): void {
  program
    .command('show')
    .summary('show a conversation or a session')
    .description('Shows a conversation or a session and its newest messages.')
    .argument('<id>', 'id of a conversation or a session')
    .option('--limit <N>', 'how many messages', wholeNumber, 10)
    .option('--before <VERSION>', 'only messages before this version', wholeNumber)
    .option('--full', 'long messages as a whole')
    .addHelpText(
      'after',
      examples(
        ['show ID', 'a conversation or a session'],
        ['show ID --limit 50 --full', 'more of it, nothing cut'],
        ['show ID --before 120', 'what was said before version 120'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<ShowOptions>()
      await reading(options, async colloquy => {
        const found = await find(colloquy, id)
        await (found.kind === 'session'
          ? showSession(colloquy, found.session, options)
          : showConversation(colloquy, found.conversation, options))
      })
    })
}

async function showConversation(colloquy: Colloquy, conversation: Conversation, options: ShowOptions): Promise<void> {
  const { id } = conversation
  const { limit, before } = options
  const [page, sums, sessions] = await Promise.all([
    colloquy.conversations.getMessages(id, { limit: oneMore(limit), ...(before !== undefined && { before }) }),
    colloquy.conversations.stats(id),
    colloquy.sessions.listSessions({ conversationId: id, limit: sessionsShown }),
  ])
  const messages = page.slice(-limit)
  if (options.json) {
    // `list --sessions --conversation` shows the sessions after these.
    const more = sessions.next === undefined ? {} : { nextSessions: sessions.next }
    return printJson({ kind: 'conversation', conversation, stats: sums, sessions: sessions.items, ...more, messages })
  }
  const { title, status, workItem, phase, project, version, metadata, createdAt, activeAt } = conversation
  await printLines([
    style.bold(safeLine(title)),
    ...fields([
      ['conversation', safeLine(id)],
      ['project', safeLine(project)],
      ['about', workItemText(workItem)],
      ['status', statusText(status)],
      ['phase', phase && safeLine(phase)],
      ['summary', conversation.summary && safeLine(conversation.summary)],
      ['tracing id', conversation.tracingId && safeLine(conversation.tracingId)],
      ['created', time(createdAt)],
      ['completed', conversation.completedAt && time(conversation.completedAt)],
      ['archived', conversation.archivedAt && time(conversation.archivedAt)],
      ['last activity', time(activeAt)],
      ['holds', `${count(sums.messages, 'message')} (${count(sums.tokens, 'token')}), ${count(version, 'event')}`],
      ['metadata', metadataText(metadata)],
    ]),
    ...sessions.items.map((one, index) => {
      const label = index === 0 ? 'sessions' : ''
      return `${style.dim(label.padEnd(13))}  ${safeLine(one.id)}  ${safeLine(one.agentName)}  ${statusText(one.status)}`
    }),
    ...(sessions.next === undefined
      ? []
      : [style.dim(`${' '.repeat(15)}… list --sessions --conversation shows them all`)]),
    ...said(page, sums.messages, options),
  ])
}

async function showSession(colloquy: Colloquy, session: Session, options: ShowOptions): Promise<void> {
  const { limit, before } = options
  const page = before === undefined ? {} : { before }
  const found = await colloquy.sessions.getRecentMessages(session.id, oneMore(limit), page)
  const messages = found.slice(-limit)
  if (options.json) return printJson({ kind: 'session', session, messages })
  const { stats } = session
  const typed = session.agentType === session.agentName ? '' : ` (${session.agentType})`
  const earlier = stats.total.messages - stats.messages
  await printLines([
    style.bold(safeLine(`${session.agentName}${typed} on ${workItemText(session.workItem)}`)),
    ...fields([
      ['session', safeLine(session.id)],
      ['conversation', safeLine(session.conversationId)],
      ['project', safeLine(session.project)],
      ['status', statusText(session.status)],
      ['task state', session.taskState && safeLine(session.taskState)],
      ['shares', session.sharing],
      ['replaces', session.replaces && safeLine(session.replaces)],
      ['created', time(session.createdAt)],
      ['last activity', time(stats.lastActivityAt)],
      ['expires', session.status === 'active' ? (session.expiresAt === null ? 'never' : time(session.expiresAt)) : ''],
      [
        'window',
        `${count(stats.messages, 'message')} (${count(stats.tokens, 'token')})${earlier > 0 ? `, ${count(earlier)} before it` : ''}`,
      ],
      ['outside ids', metadataText(session.outsideIds)],
      ['metadata', metadataText(session.metadata)],
    ]),
    ...said(found, stats.messages, options),
  ])
}

/** `found` may have one more than are shown: then there are earlier ones. */
function said(found: readonly Message[], total: number, { full = false, before, limit }: ShowOptions): string[] {
  const messages = found.slice(-limit)
  if (messages.length === 0) return ['', style.dim(total === 0 ? 'Nothing was said yet.' : 'No messages there.')]
  const lines = messages.flatMap(message => ['', ...messageLines(message, { whole: full })])
  if (before === undefined && messages.length >= total) return lines
  const earlier = found.length <= limit ? '' : `; --before ${messages[0]!.version} shows earlier ones`
  return ['', style.dim(`${count(messages.length)} of ${count(total, 'message')}${earlier}.`), ...lines]
}

function time(iso: string): string {
  return `${localTime(iso)} ${style.dim(`(${relativeTime(iso)})`)}`
}

function metadataText(metadata: Readonly<Record<string, unknown>>): string | undefined {
  return Object.keys(metadata).length === 0 ? undefined : safeLine(JSON.stringify(metadata))
}
