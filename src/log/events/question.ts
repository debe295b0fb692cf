/** Facts about what agents ask people: a question, or leave to do something. They wait as long as it takes. */
import { z } from 'zod'
import { Id } from './id.ts'

/** `approval`: the agent may do it if the answer is yes. */
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
  /** Answers to choose from; others may be given all the same. */
  choices: z.array(z.string()).optional(),
  /** The answer that counts when nobody gives one by `dueAt`. */
  default: z.string().optional(),
  /** ISO time. */
  dueAt: z.string().optional(),
})
export type QuestionAsked = z.infer<typeof QuestionAsked>

export const QuestionAnswered = z.object({
  type: z.literal('question.answered'),
  questionId: Id,
  answer: z.string(),
  /** Nobody answered in time: it is the default. */
  timedOut: z.boolean().optional(),
})
export type QuestionAnswered = z.infer<typeof QuestionAnswered>

/** A run has taken the answer up. What it was leave for may have been done from here on. */
export const QuestionTaken = z.object({ type: z.literal('question.taken'), questionId: Id })
export type QuestionTaken = z.infer<typeof QuestionTaken>
