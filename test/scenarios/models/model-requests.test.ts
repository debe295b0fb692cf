/** Requests as they arrive at a provider: protocol, cache marks, returned reasoning, keys. */
import { answerOf, type ModelRequest, type ModelSettings, openModel } from 'colloquy/models'
import { describe, expect, it } from 'vitest'
import { question } from '../../contract/models.ts'
import * as anthropic from '../../support/models/anthropic.ts'
import * as openai from '../../support/models/openai.ts'
import { providerServer, type RecordedRequest, sends } from '../../support/models/server.ts'

const tool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

const call = { type: 'tool-call', callId: 'call_1', name: 'get_weather', input: { city: 'Paris' } } as const
const result = { type: 'tool-result', callId: 'call_1', text: '22 degrees' } as const
const textPart = (text: string) => ({ type: 'text', text }) as const

/** A turn in the middle of its tools, after an older turn. */
const working: ModelRequest = {
  system: 'You are brief.',
  tools: [tool],
  maxOutputTokens: 500,
  messages: [
    { role: 'user', content: [textPart('Hello')] },
    {
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'A greeting.', signature: 'sig-0' }, textPart('Hello.')],
    },
    { role: 'user', content: [textPart('What is the weather in Paris?')] },
    {
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'I must look.', signature: 'sig-1' }, textPart('Let me see.'), call],
    },
    { role: 'user', content: [result] },
  ],
}

async function sentTo(name: string, request: ModelRequest, settings: ModelSettings = {}): Promise<RecordedRequest> {
  const wire = name.startsWith('anthropic:') ? anthropic : openai
  const server = await providerServer(wire.plays({ text: 'Yes.' }))
  const model = await openModel(name, { baseUrl: server.url, apiKey: 'key-of-the-test', ...settings })
  expect(await answerOf(model, request)).toMatchObject({ ok: true, text: 'Yes.' })
  return server.asked[0]!
}

describe('to Anthropic', () => {
  it('a request to Anthropic carries the whole turn: system, tools, thinking with its signature, calls and their results', async () => {
    const { path, headers, body } = await sentTo('anthropic:claude-sonnet-4-5', working)
    expect(path).toBe('/v1/messages')
    expect(headers).toMatchObject({ 'x-api-key': 'key-of-the-test', 'anthropic-version': '2023-06-01' })
    expect(body).toMatchObject({ model: 'claude-sonnet-4-5', max_tokens: 500, stream: true })
    expect(body.system).toEqual([{ type: 'text', text: 'You are brief.' }])
    expect(body.tools).toMatchObject([{ name: 'get_weather', input_schema: tool.inputSchema }])
    expect(body.messages).toEqual([
      { role: 'user', content: [textPart('Hello')] },
      {
        role: 'assistant',
        content: [{ type: 'thinking', thinking: 'A greeting.', signature: 'sig-0' }, textPart('Hello.')],
      },
      { role: 'user', content: [textPart('What is the weather in Paris?')] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I must look.', signature: 'sig-1' },
          textPart('Let me see.'),
          { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Paris' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '22 degrees' }] },
    ])
  })

  it('[P8] a request to Anthropic marks the stable prefix and nothing behind it; without a hint it marks nothing', async () => {
    const marks = ({ body }: RecordedRequest) => ({
      system: body.system[0].cache_control?.type,
      messages: body.messages.map((message: { content: { cache_control?: unknown }[] }) =>
        message.content.map(part => part.cache_control !== undefined).at(-1),
      ),
      all: JSON.stringify(body).split('"cache_control"').length - 1,
    })
    const name = 'anthropic:claude-sonnet-4-5'
    expect(marks(await sentTo(name, working)).all).toBe(0)
    expect(marks(await sentTo(name, { ...working, cache: { stableMessages: 4 } }))).toEqual({
      system: 'ephemeral',
      messages: [false, false, true, true, false],
      all: 3,
    })
    expect(marks(await sentTo(name, { ...working, cache: { stableMessages: 5 } }))).toEqual({
      system: 'ephemeral',
      messages: [false, false, true, false, true],
      all: 3,
    })
    expect(marks(await sentTo(name, { ...working, cache: { stableMessages: 0 } }))).toMatchObject({ all: 1 })
  })

  it('a request to Anthropic returns its thinking exactly as it came, hidden or not', async () => {
    const server = await providerServer(
      sends(
        anthropic.begins(),
        anthropic.block(
          0,
          { type: 'thinking', thinking: '', signature: '' },
          { type: 'thinking_delta', thinking: 'Hm.' },
          { type: 'signature_delta', signature: 'c2lnbmVk' },
        ),
        anthropic.block(1, { type: 'redacted_thinking', data: 'aGlkZGVu' }),
        anthropic.block(2, { type: 'text', text: '' }, { type: 'text_delta', text: 'Sunny.' }),
        anthropic.ends({}),
      ),
      anthropic.plays({ text: 'Yes.' }),
    )
    const model = await openModel('anthropic:claude-opus-4-1', { baseUrl: server.url, apiKey: 'k', effort: 'low' })
    const { content } = await answerOf(model, question)
    const next = { role: 'user' as const, content: [textPart('Sure?')] }
    const kept = content.filter(part => part.type !== 'tool-call')
    await answerOf(model, { ...question, messages: [...question.messages, { role: 'assistant', content: kept }, next] })
    expect(server.asked[0]!.body.thinking).toMatchObject({ type: 'enabled', budget_tokens: 2048 })
    expect(server.asked[1]!.body.messages[1].content).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' },
      { type: 'redacted_thinking', data: 'aGlkZGVu' },
      { type: 'text', text: 'Sunny.' },
    ])
  })

  it('a request to Anthropic lets newer models decide how long to think', async () => {
    const { body } = await sentTo('anthropic:claude-opus-4-7', question, { effort: 'high' })
    expect(body.thinking).toMatchObject({ type: 'adaptive' })
    expect(body.output_config).toMatchObject({ effort: 'high' })
  })

  it('a request to Anthropic leaves out reasoning of another model', async () => {
    const messages = [
      ...question.messages,
      { role: 'assistant' as const, content: [{ type: 'reasoning' as const, text: 'Unsigned.' }, textPart('Sunny.')] },
      { role: 'user' as const, content: [textPart('Sure?')] },
    ]
    const { body } = await sentTo('anthropic:claude-sonnet-4-5', { ...question, messages })
    expect(body.messages[1].content).toEqual([textPart('Sunny.')])
  })
})

describe('to a provider of OpenAI’s protocol', () => {
  it('a request in OpenAI’s protocol carries the whole turn, with usage requested', async () => {
    const { path, headers, body } = await sentTo('openai-compatible:qwen3', working)
    expect(path).toBe('/v1/chat/completions')
    expect(headers.authorization).toBe('Bearer key-of-the-test')
    expect(body).toMatchObject({
      model: 'qwen3',
      max_tokens: 500,
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(body.messages).toMatchObject([
      { role: 'system', content: 'You are brief.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: 'What is the weather in Paris?' },
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: [{ id: 'call_1', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '22 degrees' },
    ])
    expect(JSON.stringify(body)).not.toContain('cache_control')
  })

  it('a request in OpenAI’s protocol returns reasoning within the turn it belongs to, unless another model signed it', async () => {
    const unsigned = structuredClone(working) as { messages: ModelRequest['messages'] } & ModelRequest
    for (const { content } of unsigned.messages) {
      for (const part of content) if (part.type === 'reasoning') delete part.signature
    }
    const reasoning = ({ body }: RecordedRequest) =>
      body.messages.map((message: { reasoning_content?: string }) => message.reasoning_content ?? '')
    expect(reasoning(await sentTo('deepseek:deepseek-chat', unsigned))).toEqual(['', '', '', '', 'I must look.', ''])
    expect(reasoning(await sentTo('deepseek:deepseek-chat', working)).join('')).toBe('')
    expect(reasoning(await sentTo('openai:gpt-5', unsigned)).join('')).toBe('')
  })

  it('a request to OpenAI uses the fields of its newer models', async () => {
    const { body } = await sentTo('openai:gpt-5', working, { effort: 'low' })
    expect(body).toMatchObject({ max_completion_tokens: 500, reasoning_effort: 'low' })
    expect(body).not.toHaveProperty('max_tokens')
  })

  it('a request in OpenAI’s protocol sends no key where there is none', async () => {
    const server = await providerServer(openai.plays({ text: 'Yes.' }))
    const model = await openModel('ollama:qwen3', { baseUrl: server.url, environment: {} })
    await answerOf(model, question)
    expect(server.asked[0]!.headers).not.toHaveProperty('authorization')
  })
})

describe('ids of calls', () => {
  const uuid = 'call-019a8f3c-5b7e-7c3a-9f21-3d5e8a7b6c4d'
  const odd = 'functions.get_weather:0'
  const turnWith = (callId: string): ModelRequest => ({
    ...working,
    messages: [
      ...question.messages,
      { role: 'assistant', content: [{ ...call, callId }] },
      { role: 'user', content: [{ ...result, callId }] },
    ],
  })

  it('[P7] ids of calls are sent in the form each provider takes, call and result alike', async () => {
    for (const id of [uuid, odd, 'call_1']) {
      const { messages } = (await sentTo('anthropic:claude-sonnet-4-5', turnWith(id))).body
      const sent = messages[1].content[0].id
      expect(sent).toMatch(/^[a-zA-Z0-9_-]+$/)
      expect(messages[2].content[0].tool_use_id).toBe(sent)
    }
    for (const [name, shape] of [
      ['openai:gpt-5', /^.{1,40}$/],
      ['mistral:mistral-large', /^[a-zA-Z0-9]{9}$/],
    ] as const) {
      for (const id of [uuid, odd, 'call_1']) {
        const { messages } = (await sentTo(name, turnWith(id))).body
        const sent = messages[2].tool_calls[0].id
        expect(sent).toMatch(shape)
        expect(messages[3].tool_call_id).toBe(sent)
      }
    }
  })

  it('[P7] ids of calls stay as they are where they can, and are new where a server restarts them with every answer', async () => {
    const scene = { calls: [{ id: 'call_1', name: 'get_weather', arguments: '{}' }], stop: 'tool-calls' as const }
    const server = await providerServer(openai.plays(scene))
    const model = await openModel('ollama:qwen3', { baseUrl: server.url, environment: {} })
    const ids = async (request: ModelRequest) =>
      (await answerOf(model, request)).content.map(part => part.type === 'tool-call' && part.callId)
    expect(await ids(question)).toEqual(['call_1'])
    expect(await ids(turnWith('call_1'))).toEqual(['call_1-2'])
    expect(server.asked[1]!.body.messages[2].tool_calls[0].id).toBe('call_1')
  })
})
