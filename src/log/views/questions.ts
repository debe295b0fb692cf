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

const answeredRemembered = 32

export function evolveQuestions(
  state: QuestionsState | undefined,
  recorded: RecordedEvent,
): QuestionsState | undefined {
  const { event, version, at } = recorded
  if (event.type === 'question.asked') {
    const { type: _, questionId: id, ...asked } = event
    const { open, answered } = state ?? { open: [], answered: [] }
    return { open: [...open, { id, ...asked, version, askedAt: at }], answered }
  }
  if (!state) return state
  if (event.type === 'question.answered') {
    const one = state.open.find(({ id }) => id === event.questionId)
    if (!one) return state
    const { answer, timedOut } = event
    const known = { ...one, answer, ...(timedOut && { timedOut }) }
    return {
      open: state.open.filter(other => other !== one),
      answered: [...state.answered, known].slice(-answeredRemembered),
    }
  }
  if (event.type === 'question.taken') {
    const answered = state.answered.map(one => (one.id === event.questionId ? { ...one, taken: true } : one))
    return { ...state, answered }
  }
  return state
}

/** Returns when the first open question times out. */
export function questionsDueAt(state: QuestionsState | undefined): number | undefined {
  const due = (state?.open ?? []).flatMap(one => (one.dueAt === undefined ? [] : [Date.parse(one.dueAt)]))
  return due.length === 0 ? undefined : Math.min(...due)
}
