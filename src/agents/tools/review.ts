/** How QA gives its verdict: by a tool, or where a model cannot call one, in words that hold one. */
import { z } from 'zod'
import { Verdict } from '../../log/events/work/review.ts'
import { parseLeniently } from '../../request/compaction/lenient-json.ts'
import { type Tool, tool } from './tool.ts'

const feedbackCharacters = 20_000

export const Review = z.object({
  verdict: z.preprocess(value => meant(value), Verdict),
  feedback: z
    .string()
    .default('')
    .transform(text => text.slice(0, feedbackCharacters).toWellFormed()),
})
export type Review = z.output<typeof Review>

/** Recorded when it is called; nothing more is asked of QA then. */
export function reviewTool(record: (review: Review) => Promise<void>): Tool {
  return tool({
    name: 'review',
    description:
      'Gives your verdict on the task, once. pass: it does what the task asks, and nothing blocks. return: dev goes on with your feedback.',
    input: z.strictObject({
      verdict: z.enum(['pass', 'return']),
      feedback: z
        .string()
        .max(feedbackCharacters)
        .describe('for return: each finding with its place, how to see it, and what should happen'),
    }),
    async run(given) {
      if (given.verdict === 'return' && given.feedback.trim() === '')
        return { text: 'A task that is returned needs feedback: say what must change.', isError: true }
      await record(given)
      return { text: 'Recorded.', ends: true }
    },
  })
}

/** The verdict in a text, fenced or amid prose; undefined when there is none that can be told. */
export function reviewIn(text: string): Review | undefined {
  const isReview = (value: unknown) => Review.safeParse(value).success
  const found = parseLeniently(text, isReview)
  const read = Review.safeParse(found)
  return read.success ? read.data : undefined
}

/** Other words models use for the two. */
function meant(value: unknown): unknown {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value
  if (word === 'passed' || word === 'approve' || word === 'approved') return 'pass'
  if (word === 'returned' || word === 'fail' || word === 'failed' || word === 'reject' || word === 'rejected')
    return 'return'
  return word
}
