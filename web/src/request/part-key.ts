/** What connects a line of the ledger with the words it accounts for. Pure. */

export interface LedgerEntry {
  what: string
  fate: 'kept' | 'trimmed' | 'summarised' | 'left-out'
  tokens: number
  why: string
  versions?: readonly number[] | undefined
  range?: { from: number; to: number; messages: number } | undefined
}

export interface Piece {
  what: string
  versions?: readonly number[] | undefined
  text: string
}

/** Messages are themselves wherever they stand; a quote of one is another thing. */
const ofMessages: ReadonlySet<string> = new Set(['message', 'history', 'pinned', 'catch-up'])

export function keyOf({ what, versions }: Pick<Piece, 'what' | 'versions'>): string {
  const [version] = versions ?? []
  if (version === undefined) return what
  return ofMessages.has(what) ? `message ${version}` : `${what} ${version}`
}

/** The ledger's parts by what they are for, in the order of the request: what the budget bar is made of. */
type SectionName =
  | 'description'
  | 'context'
  | 'checkpoint'
  | 'pinned'
  | 'messages'
  | 'catch-up'
  | 'state'
  | 'changes'
  | 'recall'
  | 'message'

export const sectionNames: Record<SectionName, string> = {
  description: 'Description',
  context: 'Context',
  checkpoint: 'Checkpoint',
  pinned: 'Pinned',
  messages: 'Messages',
  'catch-up': 'Catch-up',
  state: 'State',
  changes: 'Now',
  recall: 'Recall',
  message: 'This message',
}

function sectionOf({ what, why, versions, range }: LedgerEntry): SectionName {
  if (what === 'notice' || what === 'messages' || range !== undefined)
    return what === 'catch-up' ? 'catch-up' : 'messages'
  if (what !== 'message') return what in sectionNames ? (what as SectionName) : 'messages'
  if (why === 'pinned') return 'pinned'
  return versions === undefined || why === 'the message this request is for' || why.startsWith('it alone')
    ? 'message'
    : 'messages'
}

interface SectionSum {
  name: SectionName
  tokens: number
  entries: LedgerEntry[]
}

export function bySection(entries: readonly LedgerEntry[]): SectionSum[] {
  const sums = new Map<SectionName, SectionSum>()
  for (const entry of entries) {
    const name = sectionOf(entry)
    const sum = sums.get(name) ?? { name, tokens: 0, entries: [] }
    // What was left out or summarised takes no room; its figure says what it would have taken.
    if (entry.fate === 'kept' || entry.fate === 'trimmed') sum.tokens += entry.tokens
    sum.entries.push(entry)
    sums.set(name, sum)
  }
  const order = Object.keys(sectionNames)
  return [...sums.values()].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
}
