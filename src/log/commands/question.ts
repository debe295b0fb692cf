/** Decisions about questions of agents to people: one question per tool call, one answer per question. */
import { IllegalState } from '../../errors.ts'
import type { QuestionAsked } from '../events/question.ts'
import type { ConversationInfo } from '../views/conversation.ts'
import type { QuestionState } from '../views/questions.ts'
import { type Decision, openConversationIn } from './decision.ts'

/** A second question for the same call records nothing. */
export function askQuestion(conversationId: string, question: Omit<QuestionAsked, 'type'>): Decision {
  return heads => {
    const { info } = openConversationIn(heads, conversationId)
    return questionOfCall(info, question) ? [] : [{ type: 'question.asked', ...question }]
  }
}

/** @throws {IllegalState} when it is answered already, or does not exist */
export function answerQuestion(conversationId: string, questionId: string, answer: string): Decision {
  return heads => {
    const { info } = openConversationIn(heads, conversationId)
    if (info.questions?.open.some(({ id }) => id === questionId))
      return [{ type: 'question.answered', questionId, answer }]
    const answered = info.questions?.answered.find(({ id }) => id === questionId)
    throw new IllegalState(
      answered
        ? `Question ${questionId} was answered already: ${answered.answer}`
        : `Conversation ${conversationId} has no open question ${questionId}.`,
      { conversationId, questionId },
    )
  }
}

/** Answers questions whose time is over with their default. */
export function timeOutQuestions(): Decision {
  return (heads, now) =>
    (heads.conversation?.info.questions?.open ?? [])
      .filter(({ dueAt }) => dueAt !== undefined && Date.parse(dueAt) <= now)
      .map(question => ({
        type: 'question.answered',
        questionId: question.id,
        answer: question.default ?? '',
        timedOut: true,
      }))
}

export function takeAnswer(questionId: string): Decision {
  return heads => {
    const question = heads.conversation?.info.questions?.answered.find(({ id }) => id === questionId)
    return !question || question.taken ? [] : [{ type: 'question.taken', questionId }]
  }
}

/** Finds the open question of a tool call, or else its newest answered one. */
export function questionOfCall(
  { questions }: Pick<ConversationInfo, 'questions'>,
  { sessionId, callId }: { sessionId: string; callId: string },
): QuestionState | undefined {
  const isOfCall = (question: QuestionState) => question.callId === callId && question.sessionId === sessionId
  return questions?.open.find(isOfCall) ?? questions?.answered.findLast(isOfCall)
}
