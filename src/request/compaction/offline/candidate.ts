/** An item that an extractor proposes. */
import type { CheckpointDelta } from '../delta.ts'

export type Addition = NonNullable<CheckpointDelta['add']>[number]

/** Within a section, a higher rank is kept first. */
export interface Candidate extends Addition {
  sources: number[]
  rank: number
}

/** Tokens of the list marker, the id and the sources of an item. */
export const itemOverhead = 12
