/**
 * Sentences that say something about the work: what a person demands, what was decided, what is left, what did not work.
 *
 * Found by the words people use for it (in English), and quoted as they stand.
 */
import type { CheckpointItem, CheckpointSection } from '../../../log/events/checkpoint.ts'
import type { Message } from '../../../log/views/message.ts'
import type { TokenEstimator } from '../../text/tokens.ts'
import { normalised } from '../merge.ts'
import type { Candidate } from './candidate.ts'
import { itemOverhead } from './candidate.ts'
import { clipped, type Sentence, sentencesOf } from './prose.ts'

export interface Said extends Sentence {
  version: number
  role: Message['role']
  /** Said by a harness in the user's place, or otherwise not for people. */
  isInternal: boolean
  /** 0 for the oldest of the range, towards 1 for the newest. */
  age: number
}

export function sentencesIn(messages: readonly Message[]): Said[] {
  return messages.flatMap(({ content, version, role, missing, internal = false }, at) =>
    missing || role === 'system'
      ? []
      : sentencesOf(content).map(sentence => ({
          ...sentence,
          version,
          role,
          isInternal: internal,
          age: at / messages.length,
        })),
  )
}

const demands =
  /\b(?:must(?:n'?t)?|never|always|don'?t|do not|only|should(?:n'?t| not)|make sure|ensure|has to|have to|not allowed|avoid|under no|at most|at least|required?|forbidden)\b/i
const wishes =
  /\b(?:i want|we want|i(?:'d| would) (?:only )?(?:want|like|prefer)|needs? to|prefer|keep|instead of|no need|stick (?:to|with))\b/i
const idle =
  /\b(?:don'?t|do not) (?:know|think|care|mind|worry|see|get|understand|remember|believe|have)\b|\bonly if\b.*\?|not sure/i
/** A person's constraints stand until they are lifted, so there must not be too many of them, nor too long ones. */
const mostConstraints = 60

/** Demands of a person, in their words. */
export function constraintsOf(
  said: readonly Said[],
  open: readonly Pick<CheckpointItem, 'section' | 'text'>[],
  { maxTokens, estimator }: { maxTokens: number; estimator: TokenEstimator },
): Candidate[] {
  const goals = open.filter(item => item.section === 'goal').map(item => item.text)
  const found = said.flatMap(({ text, role, version, isInternal }): Candidate[] => {
    if (role !== 'user' || isInternal || text.length < 12 || text.length > 320 || idle.test(text)) return []
    const isQuestion =
      text.endsWith('?') || /^(?:why|how|what|who|when|where|is|are|do|does|can|could|will|would)\b/i.test(text)
    const strong = demands.test(text)
    if (isQuestion || !(strong || wishes.test(text))) return []
    // A wish that the goal has already is left out. A demand stays, because only a constraint is protected
    // permanently.
    if (!strong && goals.some(goal => goal.includes(text))) return []
    return [{ section: 'constraints', text: clipped(text, 260), sources: [version], rank: strong ? 2 : 1 }]
  })
  const standing = open.filter(item => item.section === 'constraints')
  const sizeOf = ({ text }: { text: string }) => estimator.count(text) + itemOverhead
  let left = maxTokens - standing.reduce((sum, item) => sum + sizeOf(item), 0)
  const fitting = found
    .sort((a, b) => b.rank - a.rank)
    .filter(candidate => {
      left -= sizeOf(candidate)
      return left >= 0
    })
  return fitting.slice(0, Math.min(Math.max(0, mostConstraints - standing.length), 24))
}

const decided =
  /\b(?:decided|let'?s (?:use|go with|keep|do it|stick|call)|we(?:'ll| will) (?:use|keep|go with|stick)|i(?:'ll| will) (?:use|go with)|go(?:ing)? with|we agreed|agreed on|chose|settled on|the (?:plan|approach) is|better to|makes (?:more )?sense to|should (?:be|live|go) in|belongs in)\b/i

export function decisionsOf(said: readonly Said[]): Candidate[] {
  return matching(said, 'decisions', decided, ({ role, text }) =>
    text.endsWith('?') ? undefined : role === 'user' ? 2 : 1,
  ).slice(-30)
}

const left =
  /^(?:todo|next(?: steps?)?|remaining|still (?:to do|need|open))\b|\b(?:todo:|still (?:need|needs|have|has) to|not (?:yet )?(?:done|implemented|tested|committed)|left to do|next step|follow-up|we still need)\b/i

const leftLabel =
  /^(?:(?:the )?(?:remaining|next|pending|open|todo|to do|still|left|outstanding)\b|what(?:'s| is) (?:left|next|missing))/

/** Work that was open at the end. Open work in the middle has mostly been done since. */
export function pendingOf(said: readonly Said[], messages: readonly Message[]): Candidate[] {
  const ticked = new Set(said.filter(sentence => sentence.ticked).map(sentence => normalised(sentence.text)))
  const recent = messages.length < 20 ? 0 : 0.6
  const boxes = said.filter(
    sentence => sentence.ticked === false && sentence.age >= recent && !ticked.has(normalised(sentence.text)),
  )
  const listed = boxes.map(
    ({ text, version }): Candidate => ({ section: 'pending', text: clipped(text, 180), sources: [version], rank: 2 }),
  )
  // The newest list of what remains replaces the ones before it.
  const remaining = said.filter(({ under, ticked }) => under && leftLabel.test(under) && ticked === undefined)
  const newest = remaining.filter(
    ({ version }) => version === remaining.at(-1)!.version && version >= (said.at(-1)?.version ?? 0) * recent,
  )
  for (const { text, version } of newest)
    listed.push({ section: 'pending', text: clipped(text, 180), sources: [version], rank: 3 })
  const statements = matching(said, 'pending', left, ({ age, text }) =>
    age < recent || text.endsWith('?') ? undefined : 1,
  )
  const current = statements.filter(({ sources }) => sources[0]! >= (newest[0]?.version ?? 0))
  return [...listed.slice(-15), ...current.slice(-4)]
}

const deadEnd =
  /\b(?:(?:did ?n'?t|does ?n'?t|won'?t|not) work\b|revert(?:ed|ing)?\b|rolled back|gave up|dead end|turns out|was wrong|the wrong|no longer|abandon(?:ed)?|root cause (?:is|was)|the (?:problem|issue|bug) was)/i

export function deadEndsOf(said: readonly Said[]): Candidate[] {
  return matching(said, 'deadEnds', deadEnd, ({ text, role }) =>
    text.endsWith('?') ? undefined : role === 'user' ? 2 : 1,
  ).slice(-16)
}

function matching(
  said: readonly Said[],
  section: CheckpointSection,
  pattern: RegExp,
  rankOf: (sentence: Said) => number | undefined,
): Candidate[] {
  return said.flatMap((sentence): Candidate[] => {
    const { text, version, isLabel } = sentence
    if (isLabel || text.length < 16 || text.length > 400 || !pattern.test(text)) return []
    const rank = rankOf(sentence)
    return rank === undefined ? [] : [{ section, text: clipped(text.replace(/:$/, ''), 220), sources: [version], rank }]
  })
}
