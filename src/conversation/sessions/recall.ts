/** Recall: older messages that have the words of the new one, the best of them with what was said around them. */
import type { Store } from '../../log/store.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { viewerOf } from '../../log/visibility.ts'
import { windowOf } from '../../log/windows.ts'
import { recallWords } from '../../request/assembly/recall-words.ts'
import type { Quote, TextSection, Trigger } from '../../request/assembly/sections.ts'

const mostQuotes = 8
/** The best hits are quoted with what was said right before and after. */
const hitsWithNeighbours = 3
const neighbourCharacters = 400

export interface RecallInput {
  store: Store
  head: SessionHead
  trigger: Trigger
  /** Only messages before this version. */
  before: number
  pinned: readonly Message[]
  section: (text: string) => TextSection
}

export async function recalled({ store, head, trigger, before, pinned, section }: RecallInput): Promise<Quote[]> {
  const words = recallWords(trigger.text.slice(0, 2000))
  if (words.length === 0) return []
  const hits = await store.search({
    project: head.project,
    conversationId: head.conversationId,
    text: words.join(' '),
    viewer: viewerOf(head),
    ...(head.branchOf && { branchOf: head.branchOf }),
    before,
    limit: mostQuotes,
  })
  const known = new Set([...pinned.map(message => message.version), trigger.version])
  const found = hits.filter(hit => hit.version > head.windowStart && !known.has(hit.version))
  for (const hit of found) known.add(hit.version)
  const quotes = await Promise.all(
    found.map(async (hit, rank): Promise<Quote[]> => {
      const quote = { version: hit.version, author: hit.author, ...section(hit.snippet) }
      return rank < hitsWithNeighbours ? [quote, ...(await neighbours(hit.version))] : [quote]
    }),
  )
  // A message between two hits is the neighbour of both.
  return [...new Map(quotes.flat().map(quote => [quote.version, quote])).values()]

  /** What was said right before and after: a question without its answer says little. */
  async function neighbours(version: number): Promise<Quote[]> {
    const window = windowOf(head, ['talk'])
    const [earlier, later] = await Promise.all([
      store.messages(window, { before: version, limit: 1 }),
      store.messages(window, { after: version, limit: 1 }),
    ])
    return [...earlier, ...later]
      .filter(one => one.version < before && !known.has(one.version) && one.content.trim() !== '')
      .map(one => ({
        version: one.version,
        author: one.author,
        ...section(clipped(one.content)),
        beside: version,
      }))
  }
}

function clipped(text: string): string {
  if (text.length <= neighbourCharacters) return text
  return `${text.slice(0, neighbourCharacters).toWellFormed()}…`
}
