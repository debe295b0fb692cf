/**
 * A request's messages without what providers refuse: blocks of white space, lone surrogates, ids that come twice, inputs
 * that are no objects, names outside their alphabets. The log keeps what was said.
 */
import type { RequestMessage, RequestPart } from '../text/provider-message.ts'
import { wireToolName } from './wire-names.ts'

type CallPart = Extract<RequestPart, { type: 'tool-call' }>
type ResultPart = Extract<RequestPart, { type: 'tool-result' }>

/** A result knows the name of its call here, and its text is never empty. */
export type CleanPart =
  | Exclude<RequestPart, { type: 'tool-call' | 'tool-result' }>
  | (Omit<CallPart, 'input'> & { input: Record<string, unknown> })
  | (ResultPart & { name: string })

export interface CleanMessage {
  role: RequestMessage['role']
  content: CleanPart[]
}

const nothing = '(nothing)'

/** @param callId an id of a call as the provider takes it; the same for the same each time */
export function cleanMessages(messages: readonly RequestMessage[], callId: (id: string) => string): CleanMessage[] {
  const calls = callNames(callId)
  const clean: CleanMessage[] = []
  for (const { role, content } of messages) {
    const parts = content.flatMap(part => cleanPart(part, calls))
    if (parts.length === 0) continue
    const previous = clean.at(-1)
    if (previous?.role === role) previous.content.push(...parts)
    else clean.push({ role, content: parts })
  }
  for (const message of clean) if (message.role === 'user') message.content.sort(resultsFirst)
  if (clean[0]?.role !== 'user') clean.unshift({ role: 'user', content: [{ type: 'text', text: nothing }] })
  return clean
}

export function isBlank(text: string): boolean {
  return !/[^\s\u0000-\u001f\u0085\u200b\u2060]/.test(text)
}

/** A value as JSON that every parser takes: no lone surrogates in its texts, no keys that are no text. */
export function cleanJson(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(item => cleanJson(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), cleanJson(item)]))
}

function cleanPart(part: RequestPart, calls: CallNames): CleanPart[] {
  switch (part.type) {
    case 'text':
      return isBlank(part.text) ? [] : [{ ...part, text: part.text.toWellFormed() }]
    case 'reasoning':
      return [{ ...part, text: part.text.toWellFormed() }]
    case 'image':
      return [part]
    case 'tool-call':
      return [{ ...part, ...calls.begin(part), input: objectOf(cleanJson(part.input)) }]
    case 'tool-result':
      return [{ ...part, ...calls.answer(part), text: isBlank(part.text) ? nothing : part.text.toWellFormed() }]
    default:
      return part satisfies never
  }
}

interface CallNames {
  begin(call: CallPart): { callId: string; name: string }
  answer(result: ResultPart): { callId: string; name: string }
}

/** Some providers use an id again in a later turn; others refuse a request in which one comes twice. */
function callNames(callId: (id: string) => string): CallNames {
  const used = new Set<string>()
  const newest = new Map<string, { callId: string; name: string }>()
  return {
    begin(call) {
      let id = callId(call.callId)
      for (let number = 2; used.has(id); number++) id = callId(`${call.callId}_${number}`)
      used.add(id)
      const names = { callId: id, name: wireToolName(call.name) }
      newest.set(call.callId, names)
      return names
    },
    answer(result) {
      return (
        newest.get(result.callId) ?? { callId: callId(result.callId), name: wireToolName(result.name ?? 'unknown') }
      )
    },
  }
}

function objectOf(input: unknown): Record<string, unknown> {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as Record<string, unknown>
  return input === undefined || input === null ? {} : { input }
}

/** Providers want results right behind their calls, before words. The sort is stable. */
function resultsFirst(first: CleanPart, second: CleanPart): number {
  return Number(second.type === 'tool-result') - Number(first.type === 'tool-result')
}
