/**
 * Questions of agents to people. A question is an event, so it waits across restarts, and the next run of the agent
 * finds its answer.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { IllegalState, NotFound } from '../../errors.ts'
import {
  answerQuestion,
  askQuestion,
  questionOfCall,
  takeAnswer,
  timeOutQuestions,
} from '../../log/commands/question.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { QuestionAsked } from '../../log/events/question.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { ConversationAccess } from '../access/conversation-access.ts'
import type { Question } from './turn-views.ts'

interface Answer {
  answer: string
  timedOut: boolean
}

/** Interval at which a run looks for its answer. */
const pollMs = 100

export class Questions {
  readonly #access: ConversationAccess

  constructor(access: ConversationAccess) {
    this.#access = access
  }

  /** Asks, or finds what was asked for the same call, and waits for the answer. */
  async ask(
    conversationId: string,
    asked: Omit<QuestionAsked, 'type' | 'questionId' | 'dueAt'> & { withinMs: number },
    { signal, onAsked, write }: { signal: AbortSignal; onAsked?: (question: Question) => void; write?: WriteOptions },
  ): Promise<Answer> {
    const { withinMs, ...question } = asked
    const { engine } = this.#access
    const dueAt = new Date(engine.clock() + withinMs).toISOString()
    const decide = askQuestion(conversationId, { ...question, questionId: engine.newId(), dueAt })
    await this.#access.execute(conversationId, { decide, asked: [], options: write })
    let isTold = false
    for (;;) {
      const { info } = await this.#access.head(conversationId)
      const known = questionOfCall(info, asked)
      if (!known) throw new IllegalState('The question no longer exists.', { conversationId, callId: asked.callId })
      if (known.answer !== undefined) {
        // Under the run's lease: one that lost it must not act on an answer that is another's by now.
        await this.#access.execute(conversationId, { decide: takeAnswer(known.id), asked: [], options: write })
        return { answer: known.answer, timedOut: known.timedOut ?? false }
      }
      if (!isTold) onAsked?.({ ...known, conversationId, title: info.title })
      isTold = true
      if (known.dueAt !== undefined && Date.parse(known.dueAt) <= engine.clock()) {
        await this.#access.execute(conversationId, { decide: timeOutQuestions(), asked: [] })
      } else await wait(pollMs, undefined, { signal })
    }
  }

  /** @throws {IllegalState} when it was answered already, or never asked */
  async answer(
    questionId: string,
    answer: string,
    { conversationId: named, write }: { conversationId?: string | undefined; write?: WriteOptions } = {},
  ): Promise<Question> {
    const conversationId = named ?? (await this.open()).find(one => one.id === questionId)?.conversationId
    if (conversationId === undefined) {
      throw new IllegalState(`There is no open question ${questionId}.`, { questionId })
    }
    const decide = answerQuestion(conversationId, questionId, answer)
    await this.#access.execute(conversationId, { decide, asked: ['answer', questionId, answer], options: write })
    return { ...(await this.find(conversationId, questionId)), answer }
  }

  /** Open, or among the newest that were answered. @throws {NotFound} when it is neither */
  async find(conversationId: string, questionId: string): Promise<Question> {
    const { info } = await this.#access.head(conversationId)
    const { open = [], answered = [] } = info.questions ?? {}
    const found = [...open, ...answered].find(one => one.id === questionId)
    if (!found) throw new NotFound('question', questionId)
    return { ...found, conversationId, title: info.title }
  }

  /** Questions without an answer, oldest first. */
  async open(conversationId?: string): Promise<Question[]> {
    const found: Question[] = []
    for await (const { info } of this.#withQuestions(conversationId)) {
      for (const one of info.questions?.open ?? []) found.push({ ...one, conversationId: info.id, title: info.title })
    }
    return found.sort((a, b) => a.askedAt.localeCompare(b.askedAt))
  }

  /** Gives those whose time is over their default. Returns how many. */
  async timeOut({ info }: ConversationHead, options?: WriteOptions): Promise<number> {
    const now = this.#access.engine.clock()
    const isDue = (info.questions?.open ?? []).some(one => one.dueAt !== undefined && Date.parse(one.dueAt) <= now)
    return isDue ? this.#access.settle(info.id, timeOutQuestions(), options) : 0
  }

  /** Every open question has a due time, so due conversations are all of them. */
  async *#withQuestions(conversationId: string | undefined): AsyncGenerator<ConversationHead> {
    if (conversationId !== undefined) {
      yield await this.#access.head(conversationId)
      return
    }
    const { engine, scope } = this.#access
    let cursor: string | undefined
    do {
      const page = await engine.store.due(scope.project, Number.MAX_SAFE_INTEGER, {
        limit: 100,
        ...(cursor !== undefined && { cursor }),
      })
      yield* page.items
      cursor = page.next
    } while (cursor !== undefined)
  }
}
