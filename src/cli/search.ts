/** `colloquy search`: messages by their words, conversations by their titles. */
import { type Command, Option } from 'commander'
import type { Role, SearchHit, TitleHit } from '../index.ts'
import { writing } from './open.ts'
import { examples, type GlobalOptions, since, until, wholeNumber } from './options.ts'
import { safeLine, safeText } from './safe-text.ts'
import { columns, note, printJson, printLines, style } from './terminal.ts'
import { wrap } from './text-width.ts'
import { relativeTime, statusText } from './words.ts'

interface SearchOptions extends GlobalOptions {
  conversation?: string
  author?: string
  role?: Role
  phase?: string
  since?: string
  until?: string
  archived?: boolean
  limit: number
}

const roles: readonly Role[] = ['user', 'assistant', 'system']
/** Titles are a help beside the messages, not a second list to read through. */
const titlesShown = 5

export function addSearch(program: Command): void {
  program
    .command('search')
    .summary('search what was said')
    .description(
      'Searches messages by their words (stemmed; "quoted words" stand together) and conversations by title.',
    )
    .argument('<text...>', 'what to look for')
    .option('--conversation <ID>', 'only in one conversation')
    .option('--author <NAME>', 'only what one author said')
    .addOption(new Option('--role <ROLE>', 'only messages of a role').choices(roles))
    .option('--phase <PHASE>', 'only what was said in a phase')
    .option('--since <TIME>', 'not before: 2026-03-01, 2026-03-01T14:00, or an age such as 7d', since)
    .option('--until <TIME>', 'not after', until)
    .option('--archived', 'only in archived conversations')
    .option('--no-archived', 'not in archived conversations')
    .option('--limit <N>', 'how many messages', wholeNumber, 10)
    .addHelpText(
      'after',
      examples(
        ['search login page', 'both words are best, one is enough'],
        ['search \'"login page"\'', 'the words side by side'],
        ['search timeout --author dev --since 7d', 'what dev said about it this week'],
        ['search invoice --no-archived --json', 'for a script'],
      ),
    )
    .action(async (words: string[], _: unknown, command: Command) => {
      const { conversation, author, role, phase, archived, limit, json, ...options } =
        command.optsWithGlobals<SearchOptions>()
      await writing(options, async colloquy => {
        const found = await colloquy.conversations.search({
          text: words.join(' '),
          limit,
          ...(conversation !== undefined && { conversationId: conversation }),
          ...(author !== undefined && { author }),
          ...(role && { role }),
          ...(phase !== undefined && { phase }),
          ...(options.since !== undefined && { since: options.since }),
          ...(options.until !== undefined && { until: options.until }),
          ...(archived !== undefined && { archived }),
        })
        if (json) return printJson(found)
        const titles = conversation === undefined ? found.conversations.slice(0, titlesShown) : []
        if (found.messages.length + titles.length === 0) {
          note(safeLine(`Nothing found in project "${colloquy.project}".`))
          return
        }
        const blocks = [...found.messages.map(hitLines), ...(titles.length > 0 ? [titleLines(titles)] : [])]
        await printLines(blocks.flatMap((block, index) => (index === 0 ? block : ['', ...block])))
      })
    })
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

function titleLines(titles: readonly TitleHit[]): string[] {
  return [
    style.dim('Conversations with a title like it:'),
    ...titles.map(
      hit =>
        `  ${style.bold(safeLine(hit.title))}  ${statusText(hit.status)}  ${style.dim(safeLine(hit.conversationId))}`,
    ),
  ]
}
