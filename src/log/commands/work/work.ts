/** Decisions about work items: their descriptions, states, reports and worktrees. */
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
  /** State of a bead imported from another system. */
  state: BeadState.optional(),
  /** Reason of that state. */
  reason: text.optional(),
})
export type NewBead = z.input<typeof NewBead>
export const BeadChanges = z.strictObject({ title: name.optional(), ...beadFields })
export type BeadChanges = z.input<typeof BeadChanges>

export const Move = z.strictObject({
  /** State the item must be in. Default: any. */
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
  /** ISO time before which the item is not tried again. */
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

/** Title and phase of the conversation, used when the item has none yet. */
export interface NewWorkConversation {
  title: string
  phase?: string
  phaseTimeoutMs?: number
}

/** Returns a work item's name in messages, such as `Task t1 of feature login`. */
export function workItemName(item: WorkItem): string {
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

/** Creates the conversation if there is none; checks that it takes writes if there is one. */
export function ensureConversation(
  heads: Heads,
  item: WorkItem,
  conversation: NewWorkConversation,
): ConversationEvent[] {
  if (!heads.conversation) return [{ type: 'conversation.created', workItem: item, ...conversation }]
  openConversationIn(heads, heads.conversation.info.id)
  return []
}

/** @throws {IllegalState} when the feature exists already */
export function addFeature(
  featureId: string,
  { name, ...rest }: Omit<z.output<typeof NewFeature>, 'featureId'>,
  conversation: Omit<NewWorkConversation, 'title'>,
): Decision {
  const item: WorkItem = { type: 'feature', featureId }
  return heads => {
    refuseExisting(heads, item)
    return [
      ...ensureConversation(heads, item, { ...conversation, title: name }),
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

/** @throws {IllegalState} when the bead exists already */
export function addBead(
  beadId: string,
  { title, state = firstState.bead, reason, ...rest }: Omit<z.output<typeof NewBead>, 'beadId'>,
  conversation: Omit<NewWorkConversation, 'title'>,
): Decision {
  const item: WorkItem = { type: 'bead', beadId }
  return heads => {
    refuseExisting(heads, item)
    const described: WorkDescribed = { type: 'work.described', item, title, ...withoutUndefined(rest) }
    const events: ConversationEvent[] = [
      ...ensureConversation(heads, item, { ...conversation, title }),
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
 * Moves a work item to another state. A move to its current state records nothing.
 *
 * @throws {MoveRefused} when the move is not legal, or the item is not in the expected state
 */
export function moveWork(
  item: WorkItem,
  to: string,
  { from: expected, ...rest }: z.output<typeof Move>,
  conversation: NewWorkConversation,
): Decision {
  return heads => {
    const { type, state, heldIn } = currentWork(heads, item)
    const created = ensureConversation(heads, item, conversation)
    const legal = legalMoves(type, state, heldIn)
    const facts = { item: workItemName(item), from: state, to, legal }
    if (expected !== undefined && expected !== state) throw new MoveRefused(facts, `"${expected}" was expected`)
    if (to === state) return []
    if (!legal.includes(to)) {
      throw new MoveRefused(facts, workStates[type].includes(to) ? undefined : 'there is no such state')
    }
    const moved: WorkMoved = { type: 'work.moved', item, from: state, to, ...withoutUndefined(rest) }
    return [...created, moved]
  }
}

export function reportWork(
  item: WorkItem,
  report: z.output<typeof Report>,
  conversation: NewWorkConversation,
): Decision {
  return heads => {
    currentWork(heads, item)
    const { summary, ...rest } = report
    return [
      ...ensureConversation(heads, item, conversation),
      { type: 'work.reported', item, summary, ...withoutUndefined(rest) },
    ]
  }
}

export function attemptWork(
  item: WorkItem,
  attempt: z.output<typeof Attempt>,
  conversation: NewWorkConversation,
): Decision {
  return heads => {
    currentWork(heads, item)
    const { outcome, ...rest } = attempt
    return [
      ...ensureConversation(heads, item, conversation),
      { type: 'work.attempted', item, outcome, ...withoutUndefined(rest) },
    ]
  }
}

export function addWorktree(
  item: WorkItem,
  tree: z.output<typeof NewWorktree>,
  conversation: NewWorkConversation,
): Decision {
  return heads => {
    currentWork(heads, item)
    const { path, branch, ...rest } = tree
    const current = heads.conversation?.info.work?.worktree
    if (current?.path === path && current.branch === branch) return []
    const created: WorktreeCreated = { type: 'worktree.created', item, path, branch, ...withoutUndefined(rest) }
    return [...ensureConversation(heads, item, conversation), created]
  }
}

export function removeWorktree(item: WorkItem, reason: string | undefined): Decision {
  return heads => {
    const worktree = heads.conversation?.info.work?.worktree
    if (!worktree) return []
    return [{ type: 'worktree.removed', item, path: worktree.path, ...(reason !== undefined && { reason }) }]
  }
}

function refuseExisting({ conversation }: Heads, item: WorkItem): void {
  if (!conversation?.info.work) return
  throw new IllegalState(`${workItemName(item)} exists already. Nothing was written.`, {
    conversationId: conversation.info.id,
  })
}

/** @throws {NotFound} when the item was never described */
export function openWorkIn(heads: Heads, item: WorkItem) {
  const { work, id } = heads.conversation?.info ?? {}
  if (!work || id === undefined) throw new NotFound(item.type, idOf(item))
  openConversationIn(heads, id)
  return work
}

/** A task without events is in planning; features and beads must have been added. */
function currentWork(heads: Heads, item: WorkItem): { type: WorkType; state: string; heldIn?: string } {
  if (item.type === 'thread')
    throw new IllegalState(`${workItemName(item)} is not a work item and has no state.`, { item })
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
