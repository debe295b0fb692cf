/** The account of a request as a person reads it: what each section takes of the budget, then what became of each part. */
import type { AgentRequest, Ledger } from '../../index.ts'
import type { LedgerEntry } from '../../request/assembly/ledger.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { type Column, fields, table } from '../terminal/table.ts'
import { style } from '../terminal/terminal.ts'
import { count } from './format.ts'

interface Share {
  name: string
  tokens: number
  paint(text: string): string
}

/** Messages in a row that fared alike are one line from this many on. */
const alikeFrom = 4
const barWidth = 32
const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

export function ledgerLines(
  { ledger, strategy, checkpoint, omitted }: Pick<AgentRequest, 'ledger' | 'strategy' | 'checkpoint' | 'omitted'>,
  { id, agentName }: { id?: string | undefined; agentName: string },
): string[] {
  const { budget, used, free, entries, calibrated, model, set, notes } = ledger
  return [
    style.bold(safeLine(`Request for ${agentName}: ${count(used)} of ${count(budget, 'token')}`)),
    ...fields([
      ['session', id === undefined ? 'none yet' : safeLine(id)],
      ['strategy', `${strategy} (of the ${set.strategy})`],
      ['budget', `${count(budget, 'token')} (of the ${set.budget}, or what the model takes)`],
      ['model', model.name === undefined ? 'none named' : safeLine(model.name)],
      ['provider', `is expected to count ${count(calibrated, 'token')}`],
      ['checkpoint', checkpoint === undefined ? 'none' : String(checkpoint)],
      ['left out', omitted === 0 ? 'nothing' : count(omitted, 'message')],
    ]),
    ...notes.map(text => style.yellow(safeLine(`Note: ${text}.`))),
    '',
    ...table([...sharesOf(ledger), { name: 'free', tokens: free, paint: style.dim }], shareColumns(budget)),
    '',
    ...table(folded(entries), entryColumns),
  ]
}

/** Bars where a person looks on, as with colours. */
const hasBars = process.stdout.isTTY || style.isColorSupported

function shareColumns(budget: number): Column<Share>[] {
  const bar: Column<Share> = { heading: '', of: ({ tokens, paint }) => paint(barOf(tokens, budget)) }
  return [
    { heading: 'SECTION', of: ({ name }) => name },
    ...(hasBars ? [bar] : []),
    { heading: 'TOKENS', of: ({ tokens }) => count(tokens), align: 'right' },
    { heading: 'OF BUDGET', of: ({ tokens }) => `${((100 * tokens) / budget).toFixed(1)} %`, align: 'right' },
  ]
}

function barOf(tokens: number, budget: number): string {
  // Whatever takes room is seen, however little.
  const filled = Math.min(barWidth * 8, Math.ceil((tokens / budget) * barWidth * 8))
  return ('█'.repeat(Math.floor(filled / 8)) + eighths[filled % 8]).padEnd(barWidth)
}

const colours: Record<string, Share['paint']> = {
  description: style.blue,
  context: style.cyan,
  checkpoint: style.magenta,
  messages: style.green,
  'catch-up': style.yellow,
  changes: style.cyan,
  recall: style.yellow,
  'new message': style.red,
}

/** Tokens of each section, in the order of the request; the rest is headings and notices between them. */
function sharesOf({ entries, used, calibrated }: Ledger): Share[] {
  const taken = new Map<string, number>()
  entries.forEach((entry, index) => {
    const { what, fate, tokens } = entry
    if (fate === 'left-out' || fate === 'summarised') return
    const isMessage = what === 'message' || what === 'messages'
    const name = !isMessage ? what : index === entries.length - 1 ? 'new message' : 'messages'
    // Quotes and messages add up. Another section that is there twice was trimmed twice, and the later entry holds.
    const addsUp = entry.versions !== undefined || what === 'catch-up'
    taken.set(name, tokens + (addsUp ? (taken.get(name) ?? 0) : 0))
  })
  const rest = used - [...taken.values()].reduce((sum, tokens) => sum + tokens, 0)
  const shares = [...taken].map(([name, tokens]) => ({ name, tokens, paint: colours[name] ?? style.white }))
  if (rest > 0) shares.push({ name: 'headings', tokens: rest, paint: style.white })
  // Tokens that the provider counts beyond our own count are reserved.
  if (calibrated > used) shares.push({ name: 'set aside', tokens: calibrated - used, paint: style.dim })
  return shares
}

const entryColumns: Column<LedgerEntry>[] = [
  { heading: 'WHAT', of: ({ what }) => safeLine(what) },
  { heading: 'FATE', of: fateText },
  // Omitted messages take no room; their size is in brackets.
  {
    heading: 'TOKENS',
    of: ({ tokens, fate }) => (fate === 'left-out' && tokens > 0 ? style.dim(`(${count(tokens)})`) : count(tokens)),
    align: 'right',
  },
  { heading: 'VERSIONS', of: versionsText, align: 'right' },
  { heading: 'WHY', of: ({ why }) => safeLine(why), gives: true },
]

function fateText({ fate }: LedgerEntry): string {
  switch (fate) {
    case 'kept':
      return style.green(fate)
    case 'trimmed':
      return style.yellow(fate)
    case 'summarised':
      return style.magenta(fate)
    case 'left-out':
      return style.red('left out')
  }
}

function versionsText({ versions = [], range }: LedgerEntry): string {
  if (range) return `${range.from}–${range.to}`
  return versions.join(', ')
}

/** A long conversation has hundreds of messages that are kept because they are recent: once is enough to say so. */
function folded(entries: readonly LedgerEntry[]): LedgerEntry[] {
  const rows: LedgerEntry[] = []
  for (let start = 0; start < entries.length; ) {
    const first = entries[start]!
    let end = start + 1
    while (end < entries.length && isAlike(first, entries[end]!)) end++
    const run = entries.slice(start, end)
    rows.push(...(run.length < alikeFrom ? run.map(counted) : [together(run)]))
    start = end
  }
  return rows
}

function isAlike(one: LedgerEntry, other: LedgerEntry): boolean {
  const isMessage = one.what === 'message' && one.versions !== undefined && other.versions !== undefined
  return isMessage && one.what === other.what && one.fate === other.fate && one.why === other.why
}

function together(run: readonly LedgerEntry[]): LedgerEntry {
  const [first, last] = [run[0]!, run.at(-1)!]
  const { fate, why } = first
  const range = { from: first.versions![0]!, to: last.versions!.at(-1)!, messages: run.length }
  return counted({ what: 'messages', fate, why, tokens: run.reduce((sum, { tokens }) => sum + tokens, 0), range })
}

function counted(entry: LedgerEntry): LedgerEntry {
  return entry.range ? { ...entry, what: count(entry.range.messages, 'message') } : entry
}
