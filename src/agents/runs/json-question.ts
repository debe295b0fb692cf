/**
 * Asks a model for JSON. The reply is parsed leniently (fenced, surrounded by prose, cut off) and validated strictly. An
 * invalid reply is sent back once with the problem.
 */

import { answerOf, type ModelAnswer } from '../../models/answer.ts'
import type { Model, ModelFailure, ModelPart, ModelPriority } from '../../models/model.ts'
import { parseLeniently } from '../../request/compaction/lenient-json.ts'
import type { RequestMessage } from '../../request/text/provider-message.ts'

interface JsonQuestion<T> {
  model: Model
  system: string
  text: string
  /** Returns the parsed value, or the problem in words for the model. */
  read(value: unknown, text: string): { value: T } | { problem: string }
  /** Called with each reply and its problem before the model is asked again. */
  onAnswer?: (answer: ModelAnswer, problem: string | undefined) => Promise<void>
  onPart?: (part: ModelPart) => void
  signal?: AbortSignal
  priority?: ModelPriority
}

type JsonAnswer<T> = { ok: true; value: T } | { ok: false; reason: string; failure?: ModelFailure }

export async function askForJson<T>(question: JsonQuestion<T>): Promise<JsonAnswer<T>> {
  const { model, system, text, signal, priority = 'normal' } = question
  const messages: RequestMessage[] = [{ role: 'user', content: [{ type: 'text', text }] }]
  for (let attempt = 1; ; attempt++) {
    const request = { system, messages, priority, ...(signal && { signal }) }
    const answer = await answerOf(model, request, question.onPart)
    if (!answer.ok) {
      const { failure } = answer
      await question.onAnswer?.(answer, failure.message)
      return { ok: false, reason: `${failure.kind}: ${failure.message}`, failure }
    }
    const result = parseReply(answer.text, question)
    const problem = 'problem' in result ? result.problem : undefined
    await question.onAnswer?.(answer, problem)
    if ('value' in result) return { ok: true, value: result.value }
    if (attempt > 1) return { ok: false, reason: `its answer cannot be used: ${result.problem}` }
    messages.push(
      { role: 'assistant', content: [{ type: 'text', text: answer.text || '(nothing)' }] },
      { role: 'user', content: [{ type: 'text', text: `That answer cannot be used: ${result.problem} ${retryText}` }] },
    )
  }
}

const retryText = 'Answer again, with the JSON alone.'

/** Takes the first valid one of several values in a reply. */
function parseReply<T>(text: string, { read }: JsonQuestion<T>): { value: T } | { problem: string } {
  return read(
    parseLeniently(text, value => 'value' in read(value, text)),
    text,
  )
}
