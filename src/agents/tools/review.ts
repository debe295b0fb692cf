/** QA's verdict: given by a tool, or parsed from text where the model cannot call one. */
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

/** Recorded on the call; QA is then not asked for more. */
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

/** Parses the verdict from a text, fenced or surrounded by prose; undefined when there is none. */
export function reviewIn(text: string): Review | undefined {
  const isReview = (value: unknown) => Review.safeParse(value).success
  const found = parseLeniently(text, isReview)
  const read = Review.safeParse(found)
  return read.success ? read.data : undefined
}

/** Accepts synonyms that models use for the two verdicts. */
function meant(value: unknown): unknown {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value
  if (word === 'passed' || word === 'approve' || word === 'approved') return 'pass'
  if (word === 'returned' || word === 'fail' || word === 'failed' || word === 'reject' || word === 'rejected')
    return 'return'
  return word
}
