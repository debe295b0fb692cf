/** A model that answers from a script: for tests, demos, and machines without a key. */
import { setImmediate } from 'node:timers/promises'
import { cancelled, failed } from '../failure.ts'
import type { Model, ModelPart, ModelRequest } from '../model.ts'
import type { ScriptedTurn } from './turn.ts'

/** A scripted answer: a text, a turn, or exact parts. A function decides from the request. */
export type Scripted = string | ScriptedTurn | readonly ModelPart[]
export type ScriptedAnswer = Scripted | ((request: ModelRequest) => Scripted | Promise<Scripted>)

/**
 * @param answers one answer for every call, or a list used in order, whose last answer repeats
 */
export function scriptedModel(answers: ScriptedAnswer | readonly ScriptedAnswer[], name = 'scripted'): Model {
  const list = isList(answers) ? answers : [answers]
  let next = 0
  return {
    name,
    takesTools: true,
    async *stream(request) {
      yield { type: 'start', model: name }
      const number = ++next
      const answer = list[Math.min(number, list.length) - 1] ?? ''
      try {
        const script = typeof answer === 'function' ? await answer(request) : answer
        for (const part of partsOf(script, number)) {
          // Yields to other tasks, so that it can be cancelled in the middle like a real model.
          if (part.type.endsWith('-delta')) await setImmediate()
          if (request.signal?.aborted) {
            yield cancelled()
            return
          }
          if (part.type === 'start') continue
          yield part
          if (part.type === 'finish' || part.type === 'failure') return
        }
        yield failed('network', 'The script ended in the middle of its answer.')
      } catch (error) {
        yield failed('failed', `The script failed: ${error instanceof Error ? error.message : String(error)}`)
      }
    },
  }
}

function isList(answers: ScriptedAnswer | readonly ScriptedAnswer[]): answers is readonly ScriptedAnswer[] {
  return Array.isArray(answers) && !isParts(answers)
}

function isParts(value: readonly unknown[]): value is readonly ModelPart[] {
  return value.length > 0 && value.every(part => typeof part === 'object' && part !== null && 'type' in part)
}

function partsOf(script: Scripted, number: number): Iterable<ModelPart> {
  if (typeof script === 'string') return turnParts({ text: script }, number)
  return Array.isArray(script) ? (script as readonly ModelPart[]) : turnParts(script as ScriptedTurn, number)
}

/** Yields a turn like a model: reasoning, text, calls, then the finish or the failure. */
function* turnParts(turn: ScriptedTurn, number: number): Generator<ModelPart> {
  const { reasoning, text, calls = [], failure, usage } = turn
  if (reasoning !== undefined) {
    yield { type: 'reasoning-start', id: 'reasoning' }
    for (const word of words(reasoning)) yield { type: 'reasoning-delta', id: 'reasoning', text: word }
    yield { type: 'reasoning-end', id: 'reasoning' }
  }
  if (text !== undefined) {
    yield { type: 'text-start', id: 'text' }
    for (const word of words(text)) yield { type: 'text-delta', id: 'text', text: word }
    if (!failure) yield { type: 'text-end', id: 'text' }
  }
  for (const [index, { name, input = {}, callId, problem }] of calls.entries()) {
    const id = callId ?? `call-${number}-${index + 1}`
    yield { type: 'tool-call-start', id, name }
    yield { type: 'tool-call-delta', id, text: JSON.stringify(input) }
    yield { type: 'tool-call-end', id, name, input, ...(problem !== undefined && { problem }) }
  }
  if (failure) {
    const { kind, message = `The script says: ${kind}.`, ...facts } = failure
    yield failed(kind, message, { ...facts, ...(usage && { usage }) })
  } else {
    const stopReason = turn.stopReason ?? (calls.length > 0 ? 'tool-calls' : 'stop')
    yield { type: 'finish', stopReason, ...(usage && { usage }) }
  }
}

function words(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+$/g) ?? []
}
