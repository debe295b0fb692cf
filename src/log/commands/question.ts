/** Agents ask, people answer. One question per tool call, one answer per question. */
import { IllegalState } from '../../errors.ts'
import type { QuestionAsked } from '../events/question.ts'
import type { ConversationInfo } from '../views/conversation.ts'
import type { QuestionState } from '../views/questions.ts'
import { type Decision, openConversationIn } from './decision.ts'

/** Asking again for the same call is the same question. */
export function askQuestion(conversationId: string, asked: Omit<QuestionAsked, 'type'>): Decision {
  return heads => {
    const { info } = openConversationIn(heads, conversationId)
    return questionOfCall(info, asked) ? [] : [{ type: 'question.asked', ...asked }]
  }
}

/** @throws {IllegalState} when it was answered already, or never asked */
export function answerQuestion(conversationId: string, questionId: string, answer: string): Decision {
  return heads => {
    const { info } = openConversationIn(heads, conversationId)
    if (info.questions?.open.some(one => one.id === questionId))
      return [{ type: 'question.answered', questionId, answer }]
    const known = info.questions?.answered.find(one => one.id === questionId)
    throw new IllegalState(
      known
        ? `Question ${questionId} was answered already: ${known.answer}`
        : `Conversation ${conversationId} has no open question ${questionId}.`,
      { conversationId, questionId },
    )
  }
}

/** Those whose time is over get their default. */
export function timeOutQuestions(): Decision {
  return (heads, now) =>
    (heads.conversation?.info.questions?.open ?? [])
      .filter(one => one.dueAt !== undefined && Date.parse(one.dueAt) <= now)
      .map(one => ({ type: 'question.answered', questionId: one.id, answer: one.default ?? '', timedOut: true }))
}

export function takeAnswer(questionId: string): Decision {
  return heads => {
    const known = heads.conversation?.info.questions?.answered.find(one => one.id === questionId)
    return !known || known.taken ? [] : [{ type: 'question.taken', questionId }]
  }
}

/** What was asked for a tool call, open or answered. */
export function questionOfCall(
  { questions }: Pick<ConversationInfo, 'questions'>,
  { sessionId, callId }: { sessionId: string; callId: string },
): QuestionState | undefined {
  const isMeant = (one: QuestionState) => one.callId === callId && one.sessionId === sessionId
  return questions?.open.find(isMeant) ?? questions?.answered.findLast(isMeant)
}
