/** Facts about questions of agents to people, and requests for permission. They wait without a time limit. */
import { z } from 'zod'
import { Id } from './id.ts'

/** `approval`: the agent may act if the answer is yes. */
export const QuestionKind = z.enum(['question', 'approval'])
export type QuestionKind = z.infer<typeof QuestionKind>

export const QuestionAsked = z.object({
  type: z.literal('question.asked'),
  questionId: Id,
  sessionId: Id,
  agent: Id,
  /** The tool call that waits for it. */
  callId: Id,
  kind: QuestionKind,
  text: z.string().min(1),
  /** Suggested answers; others are accepted too. */
  choices: z.array(z.string()).optional(),
  /** The answer that counts when none is given by `dueAt`. */
  default: z.string().optional(),
  /** ISO time. */
  dueAt: z.string().optional(),
})
export type QuestionAsked = z.infer<typeof QuestionAsked>

export const QuestionAnswered = z.object({
  type: z.literal('question.answered'),
  questionId: Id,
  answer: z.string(),
  /** The default counted, because no answer came in time. */
  timedOut: z.boolean().optional(),
})
export type QuestionAnswered = z.infer<typeof QuestionAnswered>

/** A run has received the answer. What it permits may have been done from here on. */
export const QuestionTaken = z.object({ type: z.literal('question.taken'), questionId: Id })
export type QuestionTaken = z.infer<typeof QuestionTaken>
