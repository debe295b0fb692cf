/** Real exchanges with providers, replayed by a local server: we send what was sent then, and read what came back. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { answerOf, type Model, type ModelRequest, type ModelTool, openModel } from 'colloquy/models'
import { describe, expect, it } from 'vitest'
import { providerServer } from '../../support/models/server.ts'

const recordings = join(import.meta.dirname, '../../../../shared/data/provider-recordings')
const folders = {
  anthropic: ['anthropic-messages', 'anthropic-messages-cache'],
  'openai-compatible': ['openai-chat', 'openai-compatible-chat', 'cloudflare-ai-gateway', 'cloudflare-workers-ai'],
} as const
type Protocol = keyof typeof folders

interface Exchange {
  request: { url: string; body: string }
  response: { status: number; headers: Record<string, string>; body: string }
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of several providers
type Json = any

const found = Object.entries(folders).flatMap(([protocol, names]) =>
  names
    .filter(folder => existsSync(join(recordings, folder)))
    .flatMap(folder => readdirSync(join(recordings, folder)).map(file => join(folder, file)))
    .map(file => ({ protocol: protocol as Protocol, file })),
)

/** A suite wants a test, also one that is skipped. */
const cases = found.length > 0 ? found : [{ protocol: 'anthropic' as Protocol, file: 'none' }]

describe.skipIf(found.length === 0)('recorded exchanges (skipped without ../shared/data)', () => {
  it.each(cases)('$file', async ({ protocol, file }) => {
    const { interactions } = JSON.parse(readFileSync(join(recordings, file), 'utf8')) as { interactions: Exchange[] }
    const server = await providerServer(
      ...interactions.map(({ response }) => (reply: ServerResponse) => {
        reply.writeHead(response.status, response.headers)
        reply.end(response.body)
      }),
    )
    for (const [index, { request, response }] of interactions.entries()) {
      const recorded: Json = JSON.parse(request.body)
      const model = await modelAt(protocol, recorded.model, server.url)
      const answer = await answerOf(model, protocol === 'anthropic' ? fromAnthropic(recorded) : fromOpenAi(recorded))
      const sent = server.asked[index]!.body
      if (!request.body.includes('"image"') && response.status === 200) {
        expect(plainMessages(protocol, sent)).toEqual(plainMessages(protocol, recorded))
        expect(sent.tools?.length).toBe(recorded.tools?.length)
      }
      if (response.status === 400) {
        expect(answer).toMatchObject({ ok: false, failure: { kind: 'bad-request', retryable: false, status: 400 } })
        continue
      }
      const expected = protocol === 'anthropic' ? readAnthropic(response.body) : readOpenAi(response.body)
      expect(answer).toMatchObject({ ok: true, text: expected.text })
      const calls = answer.content.flatMap(part => (part.type === 'tool-call' ? [part] : []))
      expect(calls.map(({ callId, name, input }) => ({ callId, name, input }))).toEqual(expected.calls)
      if (!answer.ok || expected.usage.input === 0) continue
      expect(answer.usage).toMatchObject(expected.usage)
      expect(answer.stopReason).toBe(expected.calls.length > 0 ? 'tool-calls' : expected.stop)
    }
  })
})

function modelAt(protocol: Protocol, model: string, baseUrl: string): Promise<Model> {
  return openModel(`${protocol}:${model}`, { baseUrl, apiKey: 'test-key', retries: false })
}

function fromAnthropic({ system = [], messages, tools = [], max_tokens }: Json): ModelRequest {
  return {
    system: system.map((part: Json) => part.text).join('\n'),
    messages: messages.map(({ role, content }: Json) => ({ role, content: content.map(anthropicPart) })),
    tools: tools.map(({ name, description, input_schema }: Json): ModelTool => {
      return { name, description, inputSchema: input_schema }
    }),
    maxOutputTokens: max_tokens,
  }
}

function anthropicPart(part: Json): ModelRequest['messages'][number]['content'][number] {
  if (part.type === 'tool_use') return { type: 'tool-call', callId: part.id, name: part.name, input: part.input }
  if (part.type !== 'tool_result') return { type: 'text', text: part.text }
  const text =
    typeof part.content === 'string' ? part.content : part.content.map((one: Json) => one.text ?? '').join('')
  return { type: 'tool-result', callId: part.tool_use_id, text }
}

function fromOpenAi({ messages, tools = [], max_tokens }: Json): ModelRequest {
  const [first, ...rest] = messages
  return {
    system: first.content,
    messages: rest.map((message: Json) => {
      if (message.role === 'tool') {
        const { tool_call_id: callId, content: text } = message
        return { role: 'user', content: [{ type: 'tool-result', callId, text }] }
      }
      const text = message.content ? [{ type: 'text', text: message.content }] : []
      const calls = (message.tool_calls ?? []).map((call: Json) => ({
        type: 'tool-call',
        callId: call.id,
        name: call.function.name,
        input: JSON.parse(call.function.arguments),
      }))
      return { role: message.role, content: [...text, ...calls] }
    }),
    tools: tools.map(({ function: { name, description, parameters } }: Json): ModelTool => {
      return { name, description, inputSchema: parameters }
    }),
    maxOutputTokens: max_tokens,
  }
}

/** Returns the messages in one form, whichever form a client chose. */
function plainMessages(protocol: Protocol, { messages }: Json): Json {
  if (protocol === 'openai-compatible') return messages.map(({ reasoning_content, ...message }: Json) => message)
  const merged: Json[] = []
  for (const { role, content } of messages) {
    const parts = content.map(({ cache_control, ...part }: Json) => part)
    if (merged.at(-1)?.role === role) merged.at(-1).content.push(...parts)
    else merged.push({ role, content: parts })
  }
  return merged
}

interface Read {
  text: string
  calls: { callId: string; name: string; input: unknown }[]
  usage: { input: number; output: number; cacheRead?: number; cacheWrite?: number }
  stop: string
}

function dataIn(body: string): Json[] {
  return body
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice(6)))
}

function readAnthropic(body: string): Read {
  const events = dataIn(body)
  const usage = Object.assign({}, ...events.flatMap(one => [one.message?.usage ?? {}, one.usage ?? {}]))
  const stop = events.find(one => one.type === 'message_delta').delta.stop_reason
  return {
    text: events.map(one => one.delta?.text ?? '').join(''),
    calls: events
      .filter(one => one.content_block?.type === 'tool_use')
      .map(({ index, content_block: { id, name } }) => {
        const json = events.filter(one => one.index === index).map(one => one.delta?.partial_json ?? '')
        return { callId: id, name, input: JSON.parse(json.join('') || '{}') }
      }),
    usage: {
      input: usage.input_tokens,
      output: usage.output_tokens,
      ...(usage.cache_read_input_tokens > 0 && { cacheRead: usage.cache_read_input_tokens }),
      ...(usage.cache_creation_input_tokens > 0 && { cacheWrite: usage.cache_creation_input_tokens }),
    },
    stop: stop === 'max_tokens' ? 'length' : 'stop',
  }
}

function readOpenAi(body: string): Read {
  const chunks = dataIn(body)
  const deltas = chunks.flatMap(chunk => (chunk.choices[0]?.delta ? [chunk.choices[0].delta] : []))
  const pieces = deltas.flatMap(delta => delta.tool_calls ?? [])
  const usage = chunks.findLast(chunk => chunk.usage)?.usage
  const cacheRead = usage.prompt_tokens_details?.cached_tokens ?? 0
  return {
    text: deltas.map(delta => delta.content ?? '').join(''),
    calls: [...new Set(pieces.map(piece => piece.index))].map(index => {
      const own = pieces.filter(piece => piece.index === index)
      const { id, function: called } = own.find(piece => piece.function?.name)
      const json = own.map(piece => piece.function?.arguments ?? '').join('')
      return { callId: id, name: called.name, input: JSON.parse(json) }
    }),
    usage: {
      input: usage.prompt_tokens - cacheRead,
      output: usage.completion_tokens,
      ...(cacheRead > 0 && { cacheRead }),
    },
    stop: chunks.findLast(chunk => chunk.choices[0]?.finish_reason)?.choices[0].finish_reason,
  }
}
