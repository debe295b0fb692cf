/** Facts about reviews: whether the work does what its task asks. */
import { z } from 'zod'
import { Id } from '../id.ts'

/** `return`: dev continues with the feedback. */
export const Verdict = z.enum(['pass', 'return'])
export type Verdict = z.infer<typeof Verdict>

export const ReviewGiven = z.object({
  type: z.literal('review.given'),
  sessionId: Id,
  agent: Id,
  /** 1, 2, 3 … within the task. */
  number: z.int().positive(),
  verdict: Verdict,
  /** Required changes, or what was examined. */
  feedback: z.string(),
  /** The commit that was reviewed. */
  commit: z.string(),
})
export type ReviewGiven = z.infer<typeof ReviewGiven>
