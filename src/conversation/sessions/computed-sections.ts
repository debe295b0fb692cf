/**
 * What code computes for every request and checkpoint of this product: the sections all sessions have, and those that
 * other parts add (delegations in flight, the current turn, where a loop stands), each from its own file.
 */
import { commonSections } from '../../request/compaction/carried-sections.ts'
import { type ComputedSections, withSections } from '../../request/compaction/computed-sections.ts'
import {
  currentTurn,
  delegationsInFlight,
  sharedKnowledge,
  unresolvedReferences,
} from '../../request/compaction/team-sections.ts'

export const computedSections: ComputedSections = withSections(commonSections, {
  state: [sharedKnowledge, delegationsInFlight, currentTurn, unresolvedReferences],
})
