/** `colloquy search`: messages by their words, conversations by their titles. */
import { type Command, Option } from 'commander'
import type { WorkItem } from '../../index.ts'
import type { Role } from '../../log/events/message.ts'
import type { SearchHit, TitleHit } from '../../log/search.ts'
import { findConversation } from '../lookup/find.ts'
import { indexing, otherProjects } from '../open.ts'
import {
  examples,
  type GlobalOptions,
  oneMore,
  refuseBackwards,
  since,
  until,
  wholeNumber,
  wholeNumberOrNone,
} from '../options.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { columns, errorStyle, note, printJson, printLines, style } from '../terminal/terminal.ts'
import { wrap } from '../terminal/text-width.ts'
import { relativeTime, statusText } from '../text/format.ts'

interface SearchOptions extends GlobalOptions {
  conversation?: string
  author?: string
  role?: Role
  phase?: string
  since?: string
  until?: string
  archived?: boolean
  participant?: string
  agent?: string
  feature?: string
  task?: string
  bead?: string
  thread?: string
  limit: number
  offset: number
}

const roles: readonly Role[] = ['user', 'assistant', 'system']
/** Titles are shown next to the messages; a second long list would hide them. */
const titlesShown = 5

export function addSearch(program: Command): void {
  program
    .command('search')
    .summary('search what was said')
    .description(
      'Searches messages by their words (stemmed; "quoted words" stand together) and conversations by title (mistakes allowed). Without words: the conversations that pass the filters, most recent first.',
    )
    .argument('[text...]', 'what to look for')
    .option('--conversation <ID>', 'only in one conversation')
    .option('--author <NAME>', 'only what one author said (with words)')
    .addOption(new Option('--role <ROLE>', 'only messages of a role (with words)').choices(roles))
    .option('--phase <PHASE>', 'only what was said in a phase, and conversations in it')
    .option('--participant <NAME>', 'only conversations in which somebody said something')
    .option('--agent <NAME>', 'only conversations that an agent has a session on')
    .option('--feature <ID>', 'only about a feature; with --task, about a task of it')
    .option('--task <ID>', 'only about a task (with --feature)')
    .option('--bead <ID>', 'only about a bead')
    .option('--thread <ID>', 'only a thread')
    .option('--since <TIME>', 'not before: 2026-03-01, 2026-03-01T14:00, or an age such as 7d', since)
    .option('--until <TIME>', 'not after', until)
    .option('--archived', 'only in archived conversations')
    .option('--no-archived', 'not in archived conversations')
    .option('--limit <N>', 'how many messages, or without words conversations', wholeNumber, 10)
    .option('--offset <N>', 'leave out so many, the best', wholeNumberOrNone, 0)
    .addHelpText(
      'after',
      examples(
        ['search login page', 'both words are best, one is enough'],
        ['search \'"login page"\'', 'the words side by side'],
        ['search timeout --author dev --since 7d', 'what dev said about it this week'],
        ['search invoice --no-archived --json', 'for a script'],
        ['search timeout --offset 10', 'the next page'],
        ['search --participant qa --since 7d', 'conversations of this week in which qa said something'],
        ['search --feature login --task form', 'the conversation about a task'],
      ),
    )
    .action(async (words: string[], _: unknown, command: Command) => {
      const { conversation, limit, offset, json, ...options } = command.optsWithGlobals<SearchOptions>()
      const workItem = workItemOf(options, command)
      const { author, role, phase, since, until, archived, participant, agent } = options
      const filters = { author, role, phase, since, until, archived, participant, agent, workItem }
      const given = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined))
      refuseBackwards(command, ['--since', since], ['--until', until])
      const text = words.join(' ').trim()
      if (text === '' && (author ?? role) !== undefined) {
        command.error('error: --author and --role need words; --participant finds conversations by who speaks there.')
      }
      if (text === '' && Object.keys(given).length === 0) {
        command.error('error: say what to look for: words, or a filter such as --participant NAME.')
      }
      await indexing(options, async colloquy => {
        if (conversation !== undefined) await findConversation(colloquy, conversation)
        const found = await colloquy.conversations.search({
          text,
          limit: json ? limit : oneMore(limit),
          offset,
          ...(conversation !== undefined && { conversationId: conversation }),
          ...given,
        })
        if (json) return printJson(found)
        const messages = found.messages.slice(0, limit)
        const titles = found.conversations.slice(0, text === '' ? limit : Math.min(limit, titlesShown))
        if (messages.length + titles.length === 0) {
          const { project } = colloquy
          note(safeLine(`Nothing found in project "${project}".${otherProjects(project, await colloquy.projects())}`))
          return
        }
        const blocks = [...messages.map(hitLines), ...(titles.length > 0 ? [titleLines(titles, text !== '')] : [])]
        await printLines(blocks.flatMap((block, index) => (index === 0 ? block : ['', ...block])))
        const isPage =
          messages.length < found.messages.length || (text === '' && titles.length < found.conversations.length)
        if (isPage) note(errorStyle.dim(`There are more: --offset ${offset + limit}`))
      })
    })
}

/** Builds the work item that the options name; a task needs its feature. */
function workItemOf(
  { feature, task, bead, thread }: Pick<SearchOptions, 'feature' | 'task' | 'bead' | 'thread'>,
  command: Command,
): WorkItem | undefined {
  const given = [feature, bead, thread].filter(one => one !== undefined)
  if (given.length > 1) command.error('error: choose one of --feature, --bead and --thread.')
  if (task !== undefined && feature === undefined) command.error('error: --task needs --feature.')
  if (feature !== undefined) {
    return task === undefined
      ? { type: 'feature', featureId: feature }
      : { type: 'task', featureId: feature, taskId: task }
  }
  if (bead !== undefined) return { type: 'bead', beadId: bead }
  return thread === undefined ? undefined : { type: 'thread', threadId: thread }
}

function hitLines(hit: SearchHit): string[] {
  const { title, conversationId, version, author, at, archived } = hit
  const place = [safeLine(author), relativeTime(at), archived && 'archived', safeLine(`${conversationId} #${version}`)]
  return [
    `${style.bold(safeLine(title))}  ${style.dim(place.filter(Boolean).join(' · '))}`,
    ...wrap(highlighted(hit), columns() - 2).map(line => `  ${line}`),
  ]
}

/** The snippet on one line, the matched words standing out. */
function highlighted({ snippet, highlights }: SearchHit): string {
  const plain = (text: string) => safeText(text).replace(/\s+/g, ' ')
  let marked = ''
  let end = 0
  for (const [from, to] of highlights) {
    marked += plain(snippet.slice(end, from)) + style.bold(style.yellow(plain(snippet.slice(from, to))))
    end = to
  }
  return (marked + plain(snippet.slice(end))).trim()
}

function titleLines(titles: readonly TitleHit[], isByTitle: boolean): string[] {
  return [
    style.dim(isByTitle ? 'Conversations with a title like it:' : 'Conversations:'),
    ...titles.map(
      hit =>
        `  ${style.bold(safeLine(hit.title))}  ${statusText(hit.status)}  ${style.dim(safeLine(hit.conversationId))}`,
    ),
  ]
}
