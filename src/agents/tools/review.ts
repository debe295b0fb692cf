/** QA's verdict: from a tool call, or parsed from text of a model that cannot call tools. */
import { z } from 'zod'
import { Verdict } from '../../log/events/work/review.ts'
import { parseLeniently } from '../../request/compaction/lenient-json.ts'
import { type Tool, tool } from './tool.ts'

const feedbackCharacters = 20_000

export const Review = z.object({
  verdict: z.preprocess(normalizedVerdict, Verdict),
  feedback: z
    .string()
    .default('')
    .transform(text => text.slice(0, feedbackCharacters).toWellFormed()),
})
export type Review = z.output<typeof Review>

export function reviewTool(record: (review: Review) => Promise<void>): Tool {
  return tool({
    name: 'review',
    description:
      'Reports your verdict on the task, once. pass: it does what the task asks, and nothing blocks. return: dev continues with your feedback.',
    input: z.strictObject({
      verdict: z.enum(['pass', 'return']),
      feedback: z
        .string()
        .max(feedbackCharacters)
        .describe('for return: each finding with its place, how to see it, and what should happen'),
    }),
    async run(review) {
      if (review.verdict === 'return' && review.feedback.trim() === '')
        return { text: 'Not recorded: a returned task needs feedback that says what must change.', isError: true }
      await record(review)
      return { text: 'Recorded.', ends: true }
    },
  })
}

/** Parses the verdict from a text, fenced or surrounded by prose; undefined when there is none. */
export function reviewIn(text: string): Review | undefined {
  const isReview = (value: unknown) => Review.safeParse(value).success
  const parsed = Review.safeParse(parseLeniently(text, isReview))
  return parsed.success ? parsed.data : undefined
}

/** Accepts synonyms that models use for the two verdicts. */
function normalizedVerdict(value: unknown): unknown {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value
  if (word === 'passed' || word === 'approve' || word === 'approved') return 'pass'
  if (word === 'returned' || word === 'fail' || word === 'failed' || word === 'reject' || word === 'rejected')
    return 'return'
  return word
}
