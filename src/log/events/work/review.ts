/** Facts about reviews: whether the work on a task is what the task asks. */
import { z } from 'zod'
import { Id } from '../id.ts'

/** `return`: dev goes on with the feedback. */
export const Verdict = z.enum(['pass', 'return'])
export type Verdict = z.infer<typeof Verdict>

export const ReviewGiven = z.object({
  type: z.literal('review.given'),
  sessionId: Id,
  agent: Id,
  /** 1, 2, 3 … of the task. */
  number: z.int().positive(),
  verdict: Verdict,
  /** What must change, or what was looked at. */
  feedback: z.string(),
  /** The commit that was reviewed. */
  commit: z.string(),
})
export type ReviewGiven = z.infer<typeof ReviewGiven>
