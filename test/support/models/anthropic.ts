/** Anthropic's Messages API on the wire: the events of a scene, and its refusals. */
import type { Refusal, Scene } from './scene.ts'
import { type Headers, type Reply, refuses, sends, sendsAndCuts, sendsAndStalls } from './server.ts'

export function event(type: string, data: Record<string, unknown> = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
}

export function plays(scene: Scene): Reply {
  const pieces = [begins(scene), ...blocks(scene)]
  if (scene.ending === 'cut') return sendsAndCuts(...pieces)
  if (scene.ending === 'stall') return sendsAndStalls(...pieces)
  return sends(...pieces, ends(scene))
}

export function refusesWith({ kind, retryAfterSeconds }: Refusal): Reply {
  const [status, type, message] = {
    overloaded: [529, 'overloaded_error', 'Overloaded'],
    'rate-limited': [429, 'rate_limit_error', 'This request would exceed the rate limit of your organization'],
    'context-too-long': [400, 'invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum'],
    refused: [400, 'invalid_request_error', 'Output blocked by content filtering policy'],
    unauthorised: [401, 'authentication_error', 'invalid x-api-key'],
    'bad-request': [400, 'invalid_request_error', 'messages: roles must alternate'],
  }[kind] as [number, string, string]
  const headers: Headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  return refuses(status, { type: 'error', error: { type, message } }, headers)
}

export function begins({ usage }: Scene = {}): string {
  return (
    event('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-test',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: usage?.input ?? 10,
          cache_read_input_tokens: usage?.cacheRead ?? 0,
          cache_creation_input_tokens: usage?.cacheWrite ?? 0,
          output_tokens: 1,
        },
      },
    }) + event('ping')
  )
}

export function ends({ stop = 'stop', usage }: Scene): string {
  const stop_reason = { stop: 'end_turn', length: 'max_tokens', 'tool-calls': 'tool_use' }[stop]
  return (
    event('message_delta', {
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: usage?.output ?? 5 },
    }) + event('message_stop')
  )
}

function blocks({ reasoning, text, calls = [] }: Scene): string[] {
  const blocks: ((index: number) => string)[] = []
  if (reasoning) {
    blocks.push(index =>
      block(
        index,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: reasoning.text },
        ...(reasoning.signature ? [{ type: 'signature_delta', signature: reasoning.signature }] : []),
      ),
    )
  }
  if (text !== undefined) {
    const deltas = words(text).map(word => ({ type: 'text_delta', text: word }))
    blocks.push(index => block(index, { type: 'text', text: '' }, ...deltas))
  }
  for (const call of calls) {
    const { id, name, arguments: json } = call
    const half = Math.ceil(json.length / 2)
    blocks.push(index =>
      block(
        index,
        { type: 'tool_use', id, name, input: {} },
        { type: 'input_json_delta', partial_json: json.slice(0, half) },
        { type: 'input_json_delta', partial_json: json.slice(half) },
      ),
    )
  }
  return blocks.map((make, index) => make(index))
}

export function block(index: number, content_block: unknown, ...deltas: unknown[]): string {
  return [
    event('content_block_start', { index, content_block }),
    ...deltas.map(delta => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  ].join('')
}

function words(text: string): string[] {
  return text.match(/\S+\s*/g) ?? []
}
