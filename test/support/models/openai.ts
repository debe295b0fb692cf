/** OpenAI's chat completions on the wire, as hosted and local servers speak them: the chunks of a scene, and refusals. */
import type { Refusal, Scene } from './scene.ts'
import { type Headers, type Reply, refuses, sends, sendsAndCuts, sendsAndStalls } from './server.ts'

export function plays(scene: Scene): Reply {
  const pieces = deltas(scene).map(delta => chunk({ choices: [{ index: 0, delta, finish_reason: null }] }))
  if (scene.ending === 'cut') return sendsAndCuts(...pieces)
  if (scene.ending === 'stall') return sendsAndStalls(...pieces)
  return sends(...pieces, ends(scene), 'data: [DONE]\n\n')
}

export function refusesWith({ kind, retryAfterSeconds }: Refusal): Reply {
  const [status, code, message] = {
    overloaded: [503, 'service_unavailable', 'The engine is currently overloaded'],
    'rate-limited': [429, 'rate_limit_exceeded', 'Rate limit reached for requests'],
    'context-too-long': [400, 'context_length_exceeded', 'This model has a maximum of 8192 tokens'],
    refused: [400, 'content_filter', 'The response was filtered'],
    unauthorised: [401, 'invalid_api_key', 'Incorrect API key provided'],
    'bad-request': [400, 'invalid_value', 'Invalid value: messages'],
  }[kind] as [number, string, string]
  const headers: Headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  return refuses(status, { error: { message, type: 'invalid_request_error', param: null, code } }, headers)
}

export function chunk(data: Record<string, unknown>): string {
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'test', ...data })}\n\n`
}

export function ends({ stop = 'stop', usage }: Scene): string {
  const finish_reason = { stop: 'stop', length: 'length', 'tool-calls': 'tool_calls' }[stop]
  const { input = 10, output = 5, cacheRead = 0 } = usage ?? {}
  return (
    chunk({ choices: [{ index: 0, delta: {}, finish_reason }] }) +
    chunk({
      choices: [],
      usage: {
        prompt_tokens: input + cacheRead,
        completion_tokens: output,
        total_tokens: input + cacheRead + output,
        prompt_tokens_details: { cached_tokens: cacheRead },
      },
    })
  )
}

function deltas({ reasoning, text, calls = [] }: Scene): Record<string, unknown>[] {
  return [
    { role: 'assistant', content: '' },
    ...(reasoning ? [{ reasoning_content: reasoning.text }] : []),
    ...(text?.match(/\S+\s*/g) ?? []).map(content => ({ content })),
    ...calls.flatMap(({ id, name, arguments: json }, index) => {
      const half = Math.ceil(json.length / 2)
      return [
        { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
        { tool_calls: [{ index, function: { arguments: json.slice(0, half) } }] },
        { tool_calls: [{ index, function: { arguments: json.slice(half) } }] },
      ]
    }),
  ]
}
