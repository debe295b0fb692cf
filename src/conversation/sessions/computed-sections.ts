/** The computed sections of this product: those that all sessions have, and those of teams. */
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
