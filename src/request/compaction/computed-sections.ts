/**
 * Sections that code knows better than any summary: a registry, to which other parts of the product add theirs.
 *
 * There are two kinds. A *carried* section is folded from the messages a compaction covers and goes from checkpoint to
 * checkpoint: what only the messages tell. A *state* section is read from the heads when a request is built and stands
 * behind the history: what the log's own events tell, always as it is now. Both are bounded: the oldest lines give way.
 * Lines are made safe here, so that no section can forget to.
 */
import type { CarriedState, Checkpoint } from '../../log/events/checkpoint.ts'
import type { ConversationInfo } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { fence, oneLine } from '../text/quote-untrusted.ts'
import type { TokenEstimator } from '../text/tokens.ts'

/** A line in the engine's own words, or foreign text, which is fenced. */
export type ComputedLine = string | { label: string; quote: string }

interface ComputedSection {
  /** Unique in the registry; the later of two with the same name replaces the earlier. */
  readonly name: string
  readonly heading: string
  /** The most it takes; less where the budget is small. What it leaves over goes to the sections behind it. */
  readonly maxTokens: number
}

export interface CarriedSection<Entry = unknown> extends ComputedSection {
  /** The entries after `messages`, oldest first, given those before. They are kept as JSON under the section's name. */
  fold(before: readonly Entry[], messages: readonly Message[]): Entry[]
  /** The number of newest entries that are kept. */
  readonly maxEntries: number
  /** Returns an entry as the checkpoint shows it, or undefined where another section shows it. */
  line(entry: Entry, carried: CarriedState): ComputedLine | undefined
}

/** The input of state sections when a request is built. */
export interface Known {
  readonly session: SessionHead
  readonly conversation: ConversationInfo | undefined
  readonly checkpoint: Checkpoint | undefined
  /** The messages behind the checkpoint. */
  readonly messages: readonly Message[]
  /** Facts of other sessions that the sharing policy lets this one know. */
  readonly shared?: readonly ComputedLine[]
  /** References of messages that could not be resolved for this request, a line each. */
  readonly unresolved?: readonly string[]
}

export interface StateSection extends ComputedSection {
  /** Its lines now, the most important last: the first give way. None, and it is not shown. */
  read(known: Known): ComputedLine[]
  /** The part of it that a checkpoint keeps as a field of its own. */
  kept?(known: Known): Pick<Checkpoint, 'ralphLoop'>
}

export interface ComputedSections {
  readonly carried: readonly CarriedSection[]
  readonly state: readonly StateSection[]
}

/** A registry and more sections; one with a name that is there already takes its place. */
export function withSections(
  { carried, state }: ComputedSections,
  more: { carried?: readonly CarriedSection[]; state?: readonly StateSection[] },
): ComputedSections {
  return { carried: replaced(carried, more.carried ?? []), state: replaced(state, more.state ?? []) }
}

function replaced<T extends ComputedSection>(sections: readonly T[], more: readonly T[]): T[] {
  const byName = new Map(sections.map(section => [section.name, section]))
  for (const section of more) byName.set(section.name, section)
  return [...byName.values()]
}

/** The carried state after `messages`. What no section of this program knows is carried on as it is. */
export function foldCarried(
  sections: ComputedSections['carried'],
  base: CarriedState | undefined,
  messages: readonly Message[],
): CarriedState {
  const carried: Record<string, readonly unknown[]> = { ...base }
  for (const { name, fold, maxEntries } of sections) {
    const entries = fold(carried[name] ?? [], messages)
    carried[name] = maxEntries > 0 ? entries.slice(-maxEntries) : []
  }
  return { openCalls: [], filesRead: [], filesChanged: [], userMessages: [], ...carried } as CarriedState
}

/** The same within `maxTokens`: of each section the newest entries that fit, and at least one. */
export function boundCarried(
  sections: ComputedSections['carried'],
  carried: CarriedState,
  { maxTokens, estimator }: { maxTokens: number; estimator: TokenEstimator },
): CarriedState {
  const bounded: Record<string, readonly unknown[]> = { ...carried }
  const allow = allowances(sections, maxTokens)
  for (const section of sections) {
    const entries = (carried[section.name] ?? []) as unknown[]
    const sizes = entries.map(entry => {
      const line = section.line(entry, carried)
      return line === undefined ? 0 : estimator.count(rendered(line, section.name))
    })
    const { from, spent } = newestWithin(sizes, allow.roomFor(section))
    bounded[section.name] = entries.slice(Math.min(from, entries.length - 1))
    allow.spend(spent)
  }
  return bounded as CarriedState
}

/** One block per section that has something to show. */
export function renderCarried(sections: ComputedSections['carried'], carried: CarriedState): string[] {
  return sections.flatMap(section => {
    const entries = (carried[section.name] ?? []) as unknown[]
    const lines = entries.flatMap(entry => section.line(entry, carried) ?? [])
    return block(section, lines)
  })
}

/** Renders the part behind the history: every state section that has lines, within `maxTokens`. */
export function renderState(
  sections: ComputedSections['state'],
  known: Known,
  { maxTokens, estimator }: { maxTokens: number; estimator: TokenEstimator },
): string {
  const allow = allowances(sections, maxTokens)
  const blocks = sections.flatMap(section => {
    const lines = section.read(known)
    const sizes = lines.map(line => estimator.count(rendered(line, section.name)) + 1)
    const { from, spent } = newestWithin(sizes, allow.roomFor(section))
    allow.spend(spent)
    if (from === 0) return block(section, lines)
    return block(section, [`${from} more are left out here; the log has them`, ...lines.slice(from)])
  })
  return blocks.join('\n\n')
}

/** Collects what a checkpoint taken now keeps of the state. */
export function keptState(sections: ComputedSections['state'], known: Known): Pick<Checkpoint, 'ralphLoop'> {
  return Object.assign({}, ...sections.map(section => section.kept?.(known) ?? {}))
}

function block({ name, heading }: ComputedSection, lines: readonly ComputedLine[]): string[] {
  return lines.length > 0 ? [`## ${heading}\n${lines.map(line => rendered(line, name)).join('\n')}`] : []
}

const longestLine = 500

function rendered(line: ComputedLine, section: string): string {
  if (typeof line === 'string') return `- ${oneLine(line, longestLine)}`
  return fence(line.quote, `${section} ${line.label}`, line.label)
}

/** Shares the room by what the sections may take at the most, and passes on what one leaves over. */
function allowances(sections: readonly ComputedSection[], maxTokens: number) {
  const wanted = sections.reduce((sum, section) => sum + section.maxTokens, 0)
  const scale = wanted > maxTokens ? maxTokens / wanted : 1
  let left = 0
  return {
    roomFor: (section: ComputedSection) => (left += section.maxTokens * scale),
    spend: (tokens: number) => {
      left -= tokens
    },
  }
}

/** Finds how many of the last sizes fit: the index of the first of them, and their sum. */
function newestWithin(sizes: readonly number[], room: number): { from: number; spent: number } {
  let from = sizes.length
  let spent = 0
  while (from > 0 && spent + sizes[from - 1]! <= room) spent += sizes[--from]!
  return { from, spent }
}
