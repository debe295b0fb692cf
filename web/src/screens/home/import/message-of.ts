/** Converts one entry of a file to a message, or says why it is none. Pure. */
import type { Part } from 'colloquy/client'
import { type Fields, isFields, textIn } from './entries.ts'
import { callOf, partsOf, resultOf } from './parts-of.ts'

export interface ReadMessage {
  role: 'user' | 'assistant' | 'system'
  parts: Part[]
  author?: string
  internal?: boolean
  metadata?: { originalTimestamp: string }
}

const roles: Readonly<Record<string, ReadMessage['role']>> = {
  user: 'user',
  human: 'user',
  harness_to_task: 'user',
  outgoing: 'user',
  assistant: 'assistant',
  ai: 'assistant',
  model: 'assistant',
  task_to_harness: 'assistant',
  incoming: 'assistant',
  system: 'system',
  developer: 'system',
  tool: 'user',
  toolResult: 'user',
}

/** Returns the message, or the problem; 'other' for records that are not messages. */
export function messageOf(entry: Fields): ReadMessage | { problem: string } | 'other' {
  const inner = innerOf(entry)
  if (inner === undefined) return 'other'
  const said = textIn(inner, 'role', 'direction') ?? textIn(inner, 'type')
  const parts = contentOf(inner)
  const only = parts.length > 0 && parts.every(part => part.type === 'tool-result')
  const role = inner.type === 'function_call' ? 'assistant' : only ? 'user' : roles[said ?? '']
  if (role === undefined) return textIn(entry, 'type') === undefined ? { problem: 'it has no role' } : 'other'
  if (parts.length === 0) return { problem: 'it says nothing' }
  const author = only ? 'tools' : authorOf(inner, entry)
  const at = timeOf(inner, entry)
  return {
    role,
    parts,
    ...(author !== undefined && { author }),
    ...(entry.isCompactSummary === true && { internal: true }),
    ...(at !== undefined && { metadata: { originalTimestamp: at } }),
  }
}

/** Finds the message in an entry: the entry itself, or the object a format wraps it in. */
function innerOf(entry: Fields): Fields | undefined {
  const { type } = entry
  if (type === 'response_item') {
    const item = isFields(entry.payload) ? entry.payload : {}
    return ['message', 'function_call', 'function_call_output'].includes(String(item.type)) ? item : undefined
  }
  if (type === 'event_msg' || type === 'session_meta' || type === 'turn_context' || type === 'compacted')
    return undefined
  if (isFields(entry.message)) return entry.message
  // opencode stores the author next to the parts.
  if (isFields(entry.info) && Array.isArray(entry.parts)) return { ...entry.info, content: entry.parts }
  return entry
}

function contentOf(inner: Fields): Part[] {
  if (inner.type === 'function_call') return callOf(inner)
  if (inner.type === 'function_call_output' || inner.role === 'tool' || inner.role === 'toolResult') {
    return textIn(inner, 'call_id', 'tool_call_id', 'toolCallId') === undefined
      ? partsOf(inner.content)
      : [resultOf(inner)]
  }
  const parts = partsOf(inner.content ?? inner.parts ?? inner.text)
  const calls = Array.isArray(inner.tool_calls) ? inner.tool_calls.filter(isFields).flatMap(callOf) : []
  return [...parts, ...calls]
}

function authorOf(inner: Fields, entry: Fields): string | undefined {
  const metadata = isFields(inner.metadata) ? inner.metadata : {}
  return (
    textIn(inner, 'author') ?? textIn(entry, 'author') ?? textIn(metadata, 'agentType') ?? textIn(inner, 'agentName')
  )
}

/** Reads the original time: as text, or in seconds or milliseconds. */
function timeOf(inner: Fields, entry: Fields): string | undefined {
  const metadata = isFields(inner.metadata) ? inner.metadata : {}
  const said = metadata.originalTimestamp ?? entry.timestamp ?? inner.timestamp ?? entry.at ?? inner.created_at
  if (typeof said !== 'string' && typeof said !== 'number') return undefined
  const time = new Date(typeof said === 'number' && said < 1e11 ? said * 1000 : said)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}
