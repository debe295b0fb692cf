/** What an extractor found worth keeping. */
import type { CheckpointDelta } from '../delta.ts'

export type Addition = NonNullable<CheckpointDelta['add']>[number]

/** Of one section, what ranks higher is kept first. */
export interface Candidate extends Addition {
  sources: number[]
  rank: number
}

/** What a list marker, an id and the sources of an item take beside its text. */
export const itemOverhead = 12
