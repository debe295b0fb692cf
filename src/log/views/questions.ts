/** Open and answered questions of a conversation. Folded from its log. */
import { z } from 'zod'
import { QuestionKind } from '../events/question.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'

export const QuestionState = z.object({
  id: z.string(),
  sessionId: z.string(),
  agent: z.string(),
  callId: z.string(),
  kind: QuestionKind,
  text: z.string(),
  choices: z.array(z.string()).readonly().optional(),
  default: z.string().optional(),
  dueAt: z.string().optional(),
  /** Version of the question. */
  version: z.int(),
  askedAt: z.string(),
  answer: z.string().optional(),
  timedOut: z.boolean().optional(),
  /** A run has received the answer. */
  taken: z.boolean().optional(),
})
export type QuestionState = z.infer<typeof QuestionState>

export interface QuestionsState {
  open: readonly QuestionState[]
  /** The newest answered ones, oldest first. */
  answered: readonly QuestionState[]
}

const rememberedAnswers = 32

export function evolveQuestions(
  state: QuestionsState | undefined,
  recorded: RecordedEvent,
): QuestionsState | undefined {
  const { event, version, at } = recorded
  if (event.type === 'question.asked') {
    const { type: _, questionId: id, ...question } = event
    const { open, answered } = state ?? { open: [], answered: [] }
    return { open: [...open, { id, ...question, version, askedAt: at }], answered }
  }
  if (!state) return state
  if (event.type === 'question.answered') {
    const question = state.open.find(({ id }) => id === event.questionId)
    if (!question) return state
    const { answer, timedOut } = event
    const closed = { ...question, answer, ...(timedOut && { timedOut }) }
    return {
      open: state.open.filter(other => other !== question),
      answered: [...state.answered, closed].slice(-rememberedAnswers),
    }
  }
  if (event.type === 'question.taken') {
    const answered = state.answered.map(question =>
      question.id === event.questionId ? { ...question, taken: true } : question,
    )
    return { ...state, answered }
  }
  return state
}

/** Returns when the first open question times out. */
export function questionsDueAt(state: QuestionsState | undefined): number | undefined {
  const due = (state?.open ?? []).flatMap(({ dueAt }) => (dueAt === undefined ? [] : [Date.parse(dueAt)]))
  return due.length === 0 ? undefined : Math.min(...due)
}
