/** `colloquy list`: conversations, most recently active first, or sessions, newest first. */
import { type Command, Option } from 'commander'
import type { Colloquy, Conversation, Session, WorkItem } from '../../index.ts'
import type { ConversationStatus } from '../../log/views/conversation.ts'
import type { SessionStatus } from '../../log/views/session.ts'
import { findConversation } from '../lookup/find.ts'
import { otherProjects, reading } from '../open.ts'
import { cursorText, examples, type GlobalOptions, someOf, wholeNumber } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { table } from '../terminal/table.ts'
import { errorStyle, note, printJson, printLines, style } from '../terminal/terminal.ts'
import { count, relativeTime, statusText, workItemText } from '../text/format.ts'

interface ListOptions extends GlobalOptions {
  sessions?: boolean
  status?: Status[]
  type?: WorkItem['type']
  conversation?: string
  agent?: string
  limit: number
  cursor?: string
}

const statuses = ['active', 'completed', 'archived', 'expired', 'deleted', 'all'] as const
type Status = (typeof statuses)[number]
const ofConversations: readonly ConversationStatus[] = ['active', 'completed', 'archived']
const ofSessions: readonly SessionStatus[] = ['active', 'archived', 'expired', 'deleted']

export function addList(program: Command): void {
  program
    .command('list')
    .summary('list conversations or sessions')
    .description(
      'Lists conversations, most recently active first (from page to page, to the minute). Archived ones, of sessions deleted ones too, only when asked for.',
    )
    .option('--sessions', 'list sessions instead, newest first')
    .option('--status <LIST>', `only these: ${statuses.join(', ')}; several with commas`, someOf(statuses))
    .addOption(
      new Option('--type <TYPE>', 'only conversations about one kind of work item').choices([
        'feature',
        'task',
        'bead',
        'thread',
      ]),
    )
    .option('--conversation <ID>', 'with --sessions: only those of one conversation')
    .option('--agent <NAME>', 'with --sessions: only those of one agent')
    .option('--limit <N>', 'how many', wholeNumber, 20)
    .option('--cursor <CURSOR>', 'go on where an earlier list ended', cursorText)
    .addHelpText(
      'after',
      examples(
        ['list', 'what is going on'],
        ['list --status archived --type feature', 'features that were put away'],
        ['list --sessions --agent pm', "the PM agent's sessions"],
        ['list --json | jq -r .items[].id', 'ids for a script'],
      ),
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>()
      refuseMixed(options, command)
      await reading(options, colloquy =>
        options.sessions ? listSessions(colloquy, options) : listConversations(colloquy, options),
      )
    })
}

/** A filter that would be ignored misleads; better to say so. */
function refuseMixed(options: ListOptions, command: Command): void {
  const known: readonly string[] = [...(options.sessions ? ofSessions : ofConversations), 'all']
  const stray = options.status?.find(status => !known.includes(status))
  const kind = options.sessions ? 'sessions' : 'conversations'
  if (stray) command.error(`error: --status ${stray} does not fit ${kind}; choose from ${known.join(', ')}.`)
  if (options.sessions && options.type) command.error('error: --type does not go with --sessions.')
  if (!options.sessions && (options.conversation ?? options.agent) !== undefined) {
    command.error('error: --conversation and --agent go with --sessions.')
  }
}

async function listConversations(colloquy: Colloquy, options: ListOptions): Promise<void> {
  const { limit, cursor, type, status = ['active', 'completed'], json } = options
  const page = await colloquy.conversations.listConversations({
    limit,
    status: status.includes('all') ? ofConversations : (status as ConversationStatus[]),
    ...(cursor !== undefined && { cursor }),
    ...(type && { type }),
  })
  const items = await Promise.all(
    page.items.map(async item => ({ ...item, messages: (await colloquy.conversations.stats(item.id)).messages })),
  )
  if (json) return printJson({ ...page, items })
  for (const { conversationId, reason } of page.damaged ?? []) {
    note(`${errorStyle.red('damaged')}  ${safeLine(conversationId)}  ${safeLine(reason)}`)
  }
  if (page.damaged) note("'colloquy verify' says what is wrong, and 'show ID' has what can be read.")
  else if (items.length === 0) return nothing(colloquy, asked('conversations', status, type && `about a ${type}`))
  if (items.length === 0) return
  await printLines(
    table<Conversation & { messages: number }>(items, [
      { heading: 'ID', of: item => safeLine(item.id) },
      { heading: 'TITLE', of: item => style.bold(safeLine(item.title)), gives: true },
      { heading: 'STATUS', of: item => statusText(item.status) },
      { heading: 'MESSAGES', of: item => count(item.messages), align: 'right' },
      { heading: 'VERSION', of: item => count(item.version), align: 'right' },
      { heading: 'ACTIVE', of: item => style.dim(relativeTime(item.activeAt)) },
    ]),
  )
  tellNext(page.next)
}

async function listSessions(colloquy: Colloquy, options: ListOptions): Promise<void> {
  const { limit, cursor, status = ['active', 'expired'], conversation, agent, json } = options
  if (conversation !== undefined) await findConversation(colloquy, conversation)
  const page = await colloquy.sessions.listSessions({
    limit,
    status: status.includes('all') ? ofSessions : (status as SessionStatus[]),
    ...(cursor !== undefined && { cursor }),
    ...(conversation !== undefined && { conversationId: conversation }),
    ...(agent !== undefined && { agentName: agent }),
  })
  if (json) return printJson(page)
  if (page.items.length === 0) return nothing(colloquy, asked('sessions', status, agent && `of ${agent}`))
  await printLines(
    table<Session>(page.items, [
      { heading: 'ID', of: item => safeLine(item.id) },
      { heading: 'AGENT', of: item => style.bold(safeLine(item.agentName)), gives: true },
      { heading: 'WORK ITEM', of: aboutText, gives: true },
      { heading: 'STATUS', of: item => statusText(item.status) },
      { heading: 'MESSAGES', of: item => count(item.stats.messages), align: 'right' },
      { heading: 'ACTIVE', of: item => style.dim(relativeTime(item.stats.lastActivityAt)) },
    ]),
  )
  tellNext(page.next)
}

function aboutText({ workItem, taskState }: Session): string {
  return taskState === undefined ? workItemText(workItem) : safeLine(`${workItemText(workItem)} (${taskState})`)
}

/** Names the filter in a message about an empty result, so that it is not taken for a loss of data. */
function asked(kind: string, status: readonly Status[], which: string | undefined): string {
  return [status.includes('all') ? '' : status.join(' or '), kind, which].filter(Boolean).join(' ')
}

async function nothing(colloquy: Colloquy, what: string): Promise<void> {
  const { project } = colloquy
  note(safeLine(`No ${what} found in project "${project}".${otherProjects(project, await colloquy.projects())}`))
}

function tellNext(next: string | undefined): void {
  if (next !== undefined) note(errorStyle.dim(`There are more: --cursor ${next}`))
}
