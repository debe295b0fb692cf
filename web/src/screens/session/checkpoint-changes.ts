/** Describes the difference between two checkpoints, item by item. Pure. */
import type { CheckpointDiff } from './types.ts'

export const sectionTitles = {
  goal: 'Goal',
  constraints: 'Constraints',
  inProgress: 'In progress',
  pending: 'Pending',
  blockers: 'Blockers',
  decisions: 'Decisions',
  completed: 'Completed',
  deadEnds: 'Dead ends',
  facts: 'Facts',
} as const

interface Change {
  word: string
  kind: 'good' | 'note' | 'warn' | 'bad' | 'accent'
  /** The earlier text, where it changed. */
  before?: string
}

export function changesOf(diff: CheckpointDiff | undefined): ReadonlyMap<string, Change> {
  const changes = new Map<string, Change>()
  if (!diff) return changes
  for (const { id } of diff.added) changes.set(id, { word: 'new', kind: 'good' })
  for (const { id } of diff.resolved) changes.set(id, { word: 'now resolved', kind: 'accent' })
  for (const { id } of diff.reopened) changes.set(id, { word: 'reopened', kind: 'warn' })
  for (const { item, from } of diff.moved) changes.set(item.id, { word: `from ${sectionTitles[from]}`, kind: 'note' })
  for (const { item, before } of diff.rewritten) changes.set(item.id, { word: 'reworded', kind: 'note', before })
  return changes
}
