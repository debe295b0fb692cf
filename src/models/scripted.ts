/** A model that answers from a script: for tests, demos, and machines without a key. */
import type { Model, ModelPart, ModelRequest } from './model.ts'

/** What to say: a text, parts, or a function that decides from the request; a list is used up in order. */
export type ScriptedAnswer =
  | string
  | readonly ModelPart[]
  | ((request: ModelRequest) => string | readonly ModelPart[] | Promise<string | readonly ModelPart[]>)

export function scriptedModel(answers: ScriptedAnswer | readonly ScriptedAnswer[], name = 'scripted'): Model {
  const list = Array.isArray(answers) && !isParts(answers) ? (answers as readonly ScriptedAnswer[]) : undefined
  let next = 0
  return {
    name,
    async *stream(request) {
      const answer = list ? list[Math.min(next++, list.length - 1)] : (answers as ScriptedAnswer)
      const said = typeof answer === 'function' ? await answer(request) : (answer ?? '')
      if (request.signal?.aborted) {
        yield { type: 'failure', kind: 'cancelled', message: 'the run was cancelled', retryable: false }
        return
      }
      yield* typeof said === 'string' ? spoken(said) : said
    },
  }
}

function isParts(value: readonly unknown[]): value is readonly ModelPart[] {
  return value.length > 0 && value.every(part => typeof part === 'object' && part !== null && 'type' in part)
}

function* spoken(text: string): Generator<ModelPart> {
  yield { type: 'text-start', id: '0' }
  for (let at = 0; at < text.length; at += 40) yield { type: 'text-delta', id: '0', text: text.slice(at, at + 40) }
  yield { type: 'text-end', id: '0' }
  yield { type: 'finish', stopReason: 'stop' }
}
