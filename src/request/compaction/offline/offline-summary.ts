/**
 * A summary without a model: taken out of the messages by rules, the same every time.
 *
 * It quotes and lists, and never concludes. Its backbone is the turns (what was asked, what came of it); then what a
 * person demanded, what was decided, what is left, what failed, and the names an agent needs to go on. Everything with
 * its sources, and all of it within a tenth of what was read.
 */
import type { CheckpointItem, CheckpointSection } from '../../../log/events/checkpoint.ts'
import type { Message } from '../../../log/views/message.ts'
import { fastEstimator, type TokenEstimator } from '../../text/tokens.ts'
import type { CheckpointDelta } from '../delta.ts'
import { normalised } from '../merge.ts'
import { type Addition, type Candidate, itemOverhead } from './candidate.ts'
import { mentionsIn } from './mentions.ts'
import { factsOf } from './name-lists.ts'
import { blockersOf } from './open-errors.ts'
import { achieved, completedOf, goalOf, inProgressOf } from './outcomes.ts'
import { constraintsOf, deadEndsOf, decisionsOf, pendingOf, type Said, sentencesIn } from './statements.ts'
import { type Turn, turnsOf } from './turns.ts'

interface OfflineInput {
  /** Items of the last checkpoint. */
  items: readonly CheckpointItem[]
  messages: readonly Message[]
  /** The messages end inside a turn: its work is in progress, however it sounds. */
  endsInsideTurn?: boolean
  /** Default: a tenth of the messages' tokens, and never more than {@link largestSummary}. */
  maxTokens?: number
  estimator?: TokenEstimator
}

const largestSummary = 6_000

export function summariseOffline({
  items,
  messages,
  endsInsideTurn = false,
  maxTokens,
  estimator = fastEstimator,
}: OfflineInput): CheckpointDelta {
  const turns = turnsOf(messages, endsInsideTurn)
  const mentions = mentionsIn(messages)
  const said = sentencesIn(messages)
  const open = items.filter(item => !item.resolved)
  const read = messages.reduce((sum, message) => sum + message.tokens.count, 0)
  const room = maxTokens ?? Math.min(largestSummary, Math.max(read * 0.1, Math.min(150, read * 0.3)))
  const goal = goalOf(turns, open)
  const kinds: [share: number, candidates: Candidate[]][] = [
    [0.05, goal],
    [0.14, constraintsOf(said, [...open, ...goal], { estimator, maxTokens: (maxTokens ?? largestSummary) * 0.8 })],
    [0.03, inProgressOf(turns)],
    [0.34, completedOf({ turns, mentions, said, room: room * 0.34 })],
    [0.08, decisionsOf(said)],
    [0.05, pendingOf(said, messages)],
    [0.03, blockersOf(messages)],
    [0.04, deadEndsOf(said)],
    [0.24, factsOf(mentions, open)],
  ]
  const { add, rewrite } = withRewrites(chosen(kinds, room, estimator), open)
  const changes = changesTo(open, { messages, turns, said })
  return {
    ...(add.length > 0 && { add }),
    ...(rewrite.length > 0 && { rewrite }),
    ...(changes.move.length > 0 && { move: changes.move }),
    ...(changes.resolve.length > 0 && { resolve: changes.resolve }),
  }
}

/**
 * Every kind gets its share. Unused room goes to the kinds after it, and at the end to any kind that has more, in
 * order. The first candidate is always taken, because an empty summary helps no reader.
 */
function chosen(kinds: readonly [number, Candidate[]][], room: number, estimator: TokenEstimator): Candidate[] {
  const queues = kinds.map(([share, candidates]) => ({ share, queue: withoutRepetition(candidates) }))
  const taken: Candidate[] = []
  let left = room
  let allowance = 0
  const take = (queue: Candidate[], limit: number): number => {
    let spent = 0
    for (let at = 0; at < queue.length; ) {
      const cost = estimator.count(queue[at]!.text) + itemOverhead
      if (spent + cost <= limit || taken.length === 0) {
        taken.push(...queue.splice(at, 1))
        spent += cost
      } else at++
    }
    return spent
  }
  for (const { share, queue } of queues) {
    allowance += room * share
    const spent = take(queue, Math.min(allowance, left))
    allowance -= spent
    left -= spent
  }
  for (const { queue } of queues) left -= take(queue, left)
  // Facts by weight, for they have no story; the rest in the order it happened.
  const facts = taken.filter(({ section }) => section === 'facts')
  const story = taken.filter(({ section }) => section !== 'facts')
  return [...story.sort((a, b) => a.sources[0]! - b.sources[0]!), ...facts.sort((a, b) => b.rank - a.rank)]
}

function withoutRepetition(candidates: Candidate[]): Candidate[] {
  const seen = new Set<string>()
  return candidates
    .sort((a, b) => b.rank - a.rank || b.sources.at(-1)! - a.sources.at(-1)!)
    .filter(candidate => {
      const saying = normalised(candidate.text)
      return !seen.has(saying) && seen.add(saying)
    })
}

/** Facts that list names replace their older version; everything else is added. */
function withRewrites(candidates: readonly Candidate[], open: readonly CheckpointItem[]) {
  const add: Addition[] = []
  const rewrite: NonNullable<CheckpointDelta['rewrite']> = []
  for (const { section, text, sources } of candidates) {
    const label = section === 'facts' ? text.slice(0, text.indexOf(': ') + 2) : undefined
    const older = label && open.find(item => item.section === 'facts' && !item.pinned && item.text.startsWith(label))
    if (older) rewrite.push({ id: older.id, text, sources })
    else add.push({ section, text, sources })
  }
  return { add, rewrite: rewrite.filter(({ id, text }) => open.find(item => item.id === id)!.text !== text) }
}

/** Max open items of a section before the oldest are resolved. */
const mostOpen: Partial<Record<CheckpointSection, number>> = { pending: 15, blockers: 6, decisions: 30, deadEnds: 15 }

/** The changes of the last checkpoint's items that the messages show. */
function changesTo(
  open: readonly CheckpointItem[],
  { messages, turns, said }: { messages: readonly Message[]; turns: readonly Turn[]; said: readonly Said[] },
) {
  const move: NonNullable<CheckpointDelta['move']> = []
  const resolve: NonNullable<CheckpointDelta['resolve']> = []
  const last = messages.at(-1)?.version
  const touchable = open.filter(item => !item.pinned)
  const nextRequest = turns.find(turn => turn.request)?.request
  for (const item of touchable) {
    // Work that was going on ended when the next request came.
    if (item.section === 'inProgress' && nextRequest)
      move.push({ id: item.id, to: 'completed', sources: [nextRequest.version] })
    const lifted = item.section === 'constraints' && said.find(sentence => isLifting(sentence, item))
    if (lifted) resolve.push({ id: item.id, sources: [lifted.version] })
    if (item.section !== 'pending') continue
    const shown = said.find(
      sentence => (sentence.ticked || achieved.test(sentence.text)) && saysTheSame(item.text, sentence.text),
    )
    if (shown) move.push({ id: item.id, to: 'completed', sources: [shown.version] })
  }
  if (last === undefined) return { move, resolve }
  const moved = new Set(move.map(({ id }) => id))
  for (const [section, most] of Object.entries(mostOpen)) {
    const standing = touchable.filter(item => item.section === section && !moved.has(item.id))
    // The oldest come first. Decisions and dead ends become facts, which the size cap may trim; the rest is over.
    for (const { id } of standing.slice(0, Math.max(0, standing.length - most))) {
      if (section === 'decisions' || section === 'deadEnds') move.push({ id, to: 'facts', sources: [last] })
      else resolve.push({ id, sources: [last] })
    }
  }
  return { move, resolve }
}

const lifting =
  /\b(?:no longer|not? (?:need|have) to|don'?t (?:need|have) to|forget (?:about|what)|never ?mind|may now|can now|(?:ok|okay|fine|allowed) (?:now )?to|lift(?:ed)?|drop the (?:rule|requirement))\b/i

/** A person says of a constraint that it no longer holds, in its own words. */
function isLifting({ role, isInternal, text, version }: Said, constraint: CheckpointItem): boolean {
  const isLater = version > constraint.sources.at(-1)!
  return isLater && role === 'user' && !isInternal && lifting.test(text) && saysTheSame(constraint.text, text)
}

/** Most of the longer words of the one stand in the other. */
function saysTheSame(one: string, other: string): boolean {
  const words = new Set(normalised(one).match(/[\p{L}\d_./-]{4,}/gu) ?? [])
  if (words.size < 2) return normalised(one) === normalised(other)
  const others = new Set(normalised(other).match(/[\p{L}\d_./-]{4,}/gu) ?? [])
  let shared = 0
  for (const word of words) if (others.has(word)) shared++
  return shared >= words.size * 0.7
}
