/** Keys that connect ledger entries with the text they account for. Pure. */

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

/** A message keeps its key in every rendering; a quote of it has another. */
const ofMessages: ReadonlySet<string> = new Set(['message', 'history', 'pinned', 'catch-up'])

export function keyOf({ what, versions }: Pick<Piece, 'what' | 'versions'>): string {
  const [version] = versions ?? []
  if (version === undefined) return what
  return ofMessages.has(what) ? `message ${version}` : `${what} ${version}`
}

/** Sections of the ledger in the order of the request; the budget bar draws these. */
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
    // Omitted and summarised parts take no room; their figure is what they would have taken.
    if (entry.fate === 'kept' || entry.fate === 'trimmed') sum.tokens += entry.tokens
    sum.entries.push(entry)
    sums.set(name, sum)
  }
  const order = Object.keys(sectionNames)
  return [...sums.values()].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
}
