/** What an extractor found worth keeping. */
import type { CheckpointDelta } from './delta.ts'

export type Addition = NonNullable<CheckpointDelta['add']>[number]

/** Of one section, what ranks higher is kept first. */
export interface Candidate extends Addition {
  sources: number[]
  rank: number
}
