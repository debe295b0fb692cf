/** Decisions about work items: what they are, where they go. The state is that of the head at the moment of writing. */
import { z } from 'zod'
import { IllegalState, MoveRefused, NotFound } from '../../../errors.ts'
import type { ConversationEvent } from '../../events/event.ts'
import { Id } from '../../events/id.ts'
import { Metadata } from '../../events/metadata.ts'
import {
  AttemptOutcome,
  BeadState,
  Priority,
  WorkBy,
  type WorkDescribed,
  type WorkMoved,
  type WorktreeCreated,
} from '../../events/work/work.ts'
import type { WorkItem } from '../../events/work-item.ts'
import type { Heads } from '../../views/heads.ts'
import { firstState, legalMoves, type WorkType, workStates } from '../../views/work/state-transitions.ts'
import { type Decision, openConversationIn } from '../decision.ts'
import { withoutUndefined } from '../omit-undefined.ts'

const text = z.string().max(1_000_000)
const name = z.string().trim().min(1).max(1_000)

const featureFields = {
  goal: text.optional(),
  spec: text.optional(),
  baseBranch: z.string().min(1).max(1_000).optional(),
  priority: Priority.optional(),
  data: Metadata.optional(),
}
export const NewFeature = z.strictObject({ featureId: Id.optional(), name, ...featureFields })
export type NewFeature = z.input<typeof NewFeature>
export const FeatureChanges = z.strictObject({ name: name.optional(), ...featureFields })
export type FeatureChanges = z.input<typeof FeatureChanges>

const beadFields = {
  description: text.optional(),
  priority: Priority.optional(),
  dependencies: z.array(Id).max(1_000).optional(),
  agent: Id.optional(),
  kind: z.string().min(1).max(200).optional(),
  labels: z.array(z.string().min(1).max(200)).max(200).optional(),
  data: Metadata.optional(),
}
export const NewBead = z.strictObject({
  beadId: Id.optional(),
  title: name,
  ...beadFields,
  /** Where it stands already, of one that comes from elsewhere. */
  state: BeadState.optional(),
  /** Why it stands there. */
  reason: text.optional(),
})
export type NewBead = z.input<typeof NewBead>
export const BeadChanges = z.strictObject({ title: name.optional(), ...beadFields })
export type BeadChanges = z.input<typeof BeadChanges>

export const Move = z.strictObject({
  /** The state it must be in now. Without it: whatever it is in. */
  from: z.string().optional(),
  reason: text.optional(),
  by: WorkBy.optional(),
  data: Metadata.optional(),
})
export type Move = z.input<typeof Move>

export const Report = z.strictObject({ summary: text, by: WorkBy.optional(), data: Metadata.optional() })
export type Report = z.input<typeof Report>

export const Attempt = z.strictObject({
  outcome: AttemptOutcome,
  reason: text.optional(),
  /** ISO time before which it is not tried again. */
  notBefore: z.iso.datetime().optional(),
  by: WorkBy.optional(),
  data: Metadata.optional(),
})
export type Attempt = z.input<typeof Attempt>

export const NewWorktree = z.strictObject({
  path: z.string().min(1).max(4_096),
  branch: z.string().min(1).max(1_000),
  base: z.string().min(1).max(200).optional(),
  data: Metadata.optional(),
})
export type NewWorktree = z.input<typeof NewWorktree>

/** Where a conversation has to be made first: what it is called, and the phase it begins in. */
export interface Beginning {
  title: string
  phase?: string
  phaseTimeoutMs?: number
}

/** What a work item is called in words. */
export function called(item: WorkItem): string {
  switch (item.type) {
    case 'feature':
      return `Feature ${item.featureId}`
    case 'task':
      return `Task ${item.taskId} of feature ${item.featureId}`
    case 'bead':
      return `Bead ${item.beadId}`
    case 'thread':
      return `Thread ${item.threadId}`
  }
}

/** The facts that begin the conversation, if there is none; whether it takes writes, if there is one. */
export function begin(heads: Heads, item: WorkItem, beginning: Beginning): ConversationEvent[] {
  const { conversation } = heads
  if (!conversation) return [{ type: 'conversation.created', workItem: item, ...beginning }]
  openConversationIn(heads, conversation.info.id)
  return []
}

/** @throws {IllegalState} when the feature is a work item already */
export function addFeature(
  featureId: string,
  { name, ...rest }: Omit<z.output<typeof NewFeature>, 'featureId'>,
  beginning: Omit<Beginning, 'title'>,
): Decision {
  const item: WorkItem = { type: 'feature', featureId }
  return heads => {
    refuseKnown(heads, item)
    return [
      ...begin(heads, item, { ...beginning, title: name }),
      ...retitled(heads, name),
      { type: 'feature.described', featureId, name, ...withoutUndefined(rest) },
    ]
  }
}

export function describeFeature(featureId: string, changes: z.output<typeof FeatureChanges>): Decision {
  const item: WorkItem = { type: 'feature', featureId }
  return heads => {
    openWorkIn(heads, item)
    if (Object.keys(withoutUndefined(changes)).length === 0) return []
    return [...retitled(heads, changes.name), { type: 'feature.described', featureId, ...withoutUndefined(changes) }]
  }
}

/** @throws {IllegalState} when the bead is there already */
export function addBead(
  beadId: string,
  { title, state = firstState.bead, reason, ...rest }: Omit<z.output<typeof NewBead>, 'beadId'>,
  beginning: Omit<Beginning, 'title'>,
): Decision {
  const item: WorkItem = { type: 'bead', beadId }
  return heads => {
    refuseKnown(heads, item)
    const described: WorkDescribed = { type: 'work.described', item, title, ...withoutUndefined(rest) }
    const events: ConversationEvent[] = [
      ...begin(heads, item, { ...beginning, title }),
      ...retitled(heads, title),
      described,
    ]
    if (state !== firstState.bead) {
      const why = reason === undefined ? {} : { reason }
      events.push({ type: 'work.moved', item, from: firstState.bead, to: state, ...why })
    }
    return events
  }
}

export function describeBead(beadId: string, changes: z.output<typeof BeadChanges>): Decision {
  const item: WorkItem = { type: 'bead', beadId }
  return heads => {
    openWorkIn(heads, item)
    if (Object.keys(withoutUndefined(changes)).length === 0) return []
    return [...retitled(heads, changes.title), { type: 'work.described', item, ...withoutUndefined(changes) }]
  }
}

/**
 * Moves a work item to another state. To the one it is in already records nothing, unless another one was expected.
 *
 * @throws {MoveRefused} when that is not legal from its state, or it is not in the state that was expected
 */
export function moveWork(
  item: WorkItem,
  to: string,
  { from: expected, ...rest }: z.output<typeof Move>,
  beginning: Beginning,
): Decision {
  return heads => {
    const { type, state, heldIn } = standingIn(heads, item)
    const created = begin(heads, item, beginning)
    const legal = legalMoves(type, state, heldIn)
    const facts = { item: called(item), from: state, to, legal }
    if (expected !== undefined && expected !== state) throw new MoveRefused(facts, `"${expected}" was expected`)
    if (to === state) return []
    if (!legal.includes(to)) {
      throw new MoveRefused(facts, workStates[type].includes(to) ? undefined : 'there is no such state')
    }
    const moved: WorkMoved = { type: 'work.moved', item, from: state, to, ...withoutUndefined(rest) }
    return [...created, moved]
  }
}

export function reportWork(item: WorkItem, report: z.output<typeof Report>, beginning: Beginning): Decision {
  return heads => {
    standingIn(heads, item)
    const { summary, ...rest } = report
    return [...begin(heads, item, beginning), { type: 'work.reported', item, summary, ...withoutUndefined(rest) }]
  }
}

export function attemptWork(item: WorkItem, attempt: z.output<typeof Attempt>, beginning: Beginning): Decision {
  return heads => {
    standingIn(heads, item)
    const { outcome, ...rest } = attempt
    return [...begin(heads, item, beginning), { type: 'work.attempted', item, outcome, ...withoutUndefined(rest) }]
  }
}

/** The same again records nothing. */
export function addWorktree(item: WorkItem, tree: z.output<typeof NewWorktree>, beginning: Beginning): Decision {
  return heads => {
    standingIn(heads, item)
    const { path, branch, ...rest } = tree
    const known = heads.conversation?.info.work?.worktree
    if (known?.path === path && known.branch === branch) return []
    const created: WorktreeCreated = { type: 'worktree.created', item, path, branch, ...withoutUndefined(rest) }
    return [...begin(heads, item, beginning), created]
  }
}

export function removeWorktree(item: WorkItem, reason: string | undefined): Decision {
  return heads => {
    const known = heads.conversation?.info.work?.worktree
    if (!known) return []
    return [{ type: 'worktree.removed', item, path: known.path, ...(reason !== undefined && { reason }) }]
  }
}

function refuseKnown({ conversation }: Heads, item: WorkItem): void {
  if (!conversation?.info.work) return
  throw new IllegalState(`${called(item)} is there already.`, { conversationId: conversation.info.id })
}

/** A work item that was described as one, and takes writes. */
export function openWorkIn(heads: Heads, item: WorkItem) {
  const { work, id } = heads.conversation?.info ?? {}
  if (!work || id === undefined) throw new NotFound(item.type, idOf(item))
  openConversationIn(heads, id)
  return work
}

/** Where it stands. A task needs no facts of its own to be in planning; the others must have been added. */
function standingIn(heads: Heads, item: WorkItem): { type: WorkType; state: string; heldIn?: string } {
  if (item.type === 'thread') throw new IllegalState(`${called(item)} is no work item: it has no state.`, { item })
  const work = heads.conversation?.info.work
  if (!work && item.type !== 'task') throw new NotFound(item.type, idOf(item))
  return work ?? { type: 'task', state: firstState.task }
}

function retitled({ conversation }: Heads, title: string | undefined): ConversationEvent[] {
  if (title === undefined || !conversation || conversation.info.title === title) return []
  return [{ type: 'conversation.annotated', title }]
}

function idOf(item: WorkItem): string {
  switch (item.type) {
    case 'feature':
      return item.featureId
    case 'task':
      return item.taskId
    case 'bead':
      return item.beadId
    case 'thread':
      return item.threadId
  }
}
