/** Recall: older messages that share words with the trigger, the best of them with the messages next to them. */
import type { StoreCalls } from '../../log/store.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { viewerOf } from '../../log/visibility.ts'
import { windowOf } from '../../log/windows.ts'
import type { QuotedMessage } from '../../request/assembly/inputs.ts'
import { recallWords } from '../../request/text/recall-words.ts'

const maxQuotes = 8
const hitsWithNeighbours = 3
const maxNeighbourCharacters = 400
const maxSearchedCharacters = 2_000

export interface RecallInput {
  store: StoreCalls
  session: SessionHead
  text: string
  /** Only messages before this version. */
  before: number
  /** Versions that are in the request anyway. */
  except: readonly (number | undefined)[]
}

export async function recallQuotes({ store, session, text, before, except }: RecallInput): Promise<QuotedMessage[]> {
  const words = recallWords(text.slice(0, maxSearchedCharacters))
  if (words.length === 0) return []
  const { project, conversationId, branchOf, windowStart } = session
  const hits = await store.search({
    project,
    conversationId,
    text: words.join(' '),
    viewer: viewerOf(session),
    ...(branchOf && { branchOf }),
    before,
    limit: maxQuotes,
  })
  const excluded = new Set(except)
  const newHits = hits.filter(hit => hit.version > windowStart && !excluded.has(hit.version))
  for (const { version } of newHits) excluded.add(version)
  const quotes = await Promise.all(
    newHits.map(async ({ version, author, snippet }, rank): Promise<QuotedMessage[]> => {
      const quote = { version, author, text: snippet }
      return rank < hitsWithNeighbours ? [quote, ...(await neighbours(version))] : [quote]
    }),
  )
  // A message between two hits is the neighbour of both.
  return [...new Map(quotes.flat().map(quote => [quote.version, quote])).values()]

  /** The messages right before and after a hit: a question without its answer says little. */
  async function neighbours(version: number): Promise<QuotedMessage[]> {
    const window = windowOf(session, ['talk'])
    const [earlier, later] = await Promise.all([
      store.messages(window, { before: version, limit: 1 }),
      store.messages(window, { after: version, limit: 1 }),
    ])
    return [...earlier, ...later]
      .filter(message => message.version < before && !excluded.has(message.version) && message.content.trim() !== '')
      .map(({ version: at, author, content }) => ({ version: at, author, text: clipped(content), beside: version }))
  }
}

function clipped(text: string): string {
  if (text.length <= maxNeighbourCharacters) return text
  return `${text.slice(0, maxNeighbourCharacters).toWellFormed()}…`
}
