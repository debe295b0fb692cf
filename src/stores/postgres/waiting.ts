/** Proposals that wait to be recorded, alone and together with others on the same conversation. */
import type { Appended, Proposal } from '../../log/event-log.ts'
import type { Draft } from './write/draft.ts'

export interface Waiting {
  proposal: Proposal
  resolve(appended: Appended): void
  reject(error: unknown): void
  deadline: number
  /** It shared a call that failed, and is tried again alone. */
  alone: boolean
  /** Its heads must be read again. */
  fresh: boolean
  /** How often its conversation had moved on, and where that is. */
  tries: number
  at?: { project: string; id: string }
}

/** A draft with those who wait for it. */
export interface Group {
  draft: Draft
  /** Whether its base was read for this call. */
  fresh: boolean
  members: Array<{ waiting: Waiting; answer: () => void; isRefused: boolean }>
}

/** More in one call would hold its conversations, and the memory for it, for too long. */
export const largestBatch = { proposals: 256, characters: 8_000_000 }
