/** Requests in the form of each SDK and answers back, with the real SDKs against a server that speaks their protocols. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAnthropic } from '@ai-sdk/anthropic'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { generateText, jsonSchema, stepCountIs } from 'ai'
import { type AgentRequest, type Message, requestFor } from 'colloquy'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { ToolDefinition } from '../../../src/request/dialects/request-form.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import { providerServer, type Reply } from '../../support/models/server.ts'
import { ruleBreaks } from '../../support/provider-rules.ts'

const weather: ToolDefinition = {
  name: 'get.weather',
  description: 'Tells the weather of a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const tools = [weather]
const wireName = requestFor({ system: '', messages: [] }, 'anthropic', { tools }).tools![0]!.name

/** A conversation in two calls: the model asks for a tool, gets its result, and answers. */
async function conversation<Response>(call: {
  dialect: Parameters<typeof requestFor>[1]
  ask(request: AgentRequest): Promise<Response>
}): Promise<{ messages: Message[]; last: AgentRequest }> {
  const { colloquy } = await freshColloquy()
  const { sessions } = colloquy
  const { id } = await sessions.getOrCreateSession({ type: 'thread', threadId: 'weather', agentType: 'helper' })
  await sessions.addMessage(id, { role: 'user', content: 'How is the weather in Paris?' })
  const { dialect } = call
  const names = { tools: [weather.name] }
  const first = await call.ask(await sessions.buildRequest(id, 'How is the weather in Paris?'))
  const [asked] = await sessions.addResponse(id, dialect, first as never, names)
  const calls = asked!.parts.flatMap(part => (part.type === 'tool-call' ? [part] : []))
  const result = await sessions.addMessage(id, {
    role: 'user',
    author: 'tools',
    parts: calls.map(({ callId, name }) => ({ type: 'tool-result', callId, name, output: 'sunny' })),
    internal: true,
  })
  const last = await sessions.buildRequest(id, { messageId: result.id })
  await sessions.addResponse(id, dialect, (await call.ask(last)) as never, names)
  return { messages: await sessions.getAllMessages(id), last }
}

function json(body: unknown): Reply {
  return response => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }
}

/** The weather was asked for, found and told, and what the provider counted is kept. */
function expectToolLoop({ messages }: { messages: Message[] }, usage: object): void {
  const [question, call, result, answer] = messages
  expect(question).toMatchObject({ role: 'user', content: 'How is the weather in Paris?' })
  expect(call!.parts.find(part => part.type === 'tool-call')).toMatchObject({
    name: 'get.weather',
    input: { city: 'Paris' },
  })
  expect(result!.parts).toMatchObject([{ type: 'tool-result', output: 'sunny' }])
  expect(answer).toMatchObject({ role: 'assistant', content: 'It is sunny.', usage })
  expect(messages).toHaveLength(4)
}

describe('a request in the form of an SDK, and its answer back', () => {
  it('works with the Anthropic SDK, with thinking and cache marks', async () => {
    const usage = { input_tokens: 20, output_tokens: 9, cache_read_input_tokens: 100, cache_creation_input_tokens: 0 }
    const head = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-4-8',
      stop_sequence: null,
      usage,
    }
    const thinking = { type: 'thinking', thinking: 'I need the tool.', signature: 'c2lnbmVk' }
    const server = await providerServer(
      json({
        ...head,
        stop_reason: 'tool_use',
        content: [thinking, { type: 'tool_use', id: 'toolu_1', name: wireName, input: { city: 'Paris' } }],
      }),
      json({ ...head, stop_reason: 'end_turn', content: [{ type: 'text', text: 'It is sunny.' }] }),
    )
    const client = new Anthropic({ apiKey: 'none', baseURL: server.url.replace('/v1', '') })
    const told = await conversation({
      dialect: 'anthropic',
      ask: request => {
        const form = requestFor(request, 'anthropic', { tools, cache: true })
        expect(ruleBreaks('anthropic', form)).toEqual([])
        return client.messages.create({ model: 'claude-opus-4-8', max_tokens: 500, ...form })
      },
    })
    expectToolLoop(told, { input: 20, output: 9, cacheRead: 100 })
    expect(told.messages[3]!.metadata).toMatchObject({ model: 'claude-opus-4-8', stopReason: 'end_turn' })
    const [, second] = server.asked
    expect(second!.body.messages[1].content[0]).toEqual(thinking)
    expect(JSON.stringify(second!.body).match(/cache_control/g)!.length).toBeGreaterThan(1)
    expect(second!.body.tools[0].name).toBe(wireName)
  })

  it('works with chat completions of the OpenAI SDK', async () => {
    const usage = {
      prompt_tokens: 50,
      completion_tokens: 7,
      total_tokens: 57,
      prompt_tokens_details: { cached_tokens: 30 },
    }
    const head = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-5.5', usage }
    const call = { id: 'call_1', type: 'function', function: { name: wireName, arguments: '{"city":"Paris"}' } }
    const choice = (finish_reason: string, message: object) => ({
      ...head,
      choices: [{ index: 0, finish_reason, logprobs: null, message: { role: 'assistant', refusal: null, ...message } }],
    })
    const server = await providerServer(
      json(choice('tool_calls', { content: null, tool_calls: [call] })),
      json(choice('stop', { content: 'It is sunny.' })),
    )
    const client = new OpenAI({ apiKey: 'none', baseURL: server.url })
    const told = await conversation({
      dialect: 'openai-chat',
      ask: request => {
        const form = requestFor(request, 'openai-chat', { tools })
        expect(ruleBreaks('openai-chat', form)).toEqual([])
        return client.chat.completions.create({ model: 'gpt-5.5', ...form })
      },
    })
    expectToolLoop(told, { input: 20, output: 7, cacheRead: 30 })
    expect(server.asked[1]!.body.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call_1' })
  })

  it('works with responses of the OpenAI SDK, and hands its reasoning back', async () => {
    const usage = {
      input_tokens: 50,
      input_tokens_details: { cached_tokens: 30 },
      output_tokens: 17,
      output_tokens_details: { reasoning_tokens: 10 },
      total_tokens: 67,
    }
    const head = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5.5', status: 'completed', usage }
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' }
    const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: wireName, arguments: '{"city":"Paris"}' }
    const content = [{ type: 'output_text', text: 'It is sunny.', annotations: [] }]
    const server = await providerServer(
      json({ ...head, output: [reasoning, call] }),
      json({ ...head, output: [{ type: 'message', id: 'm_1', role: 'assistant', status: 'completed', content }] }),
    )
    const client = new OpenAI({ apiKey: 'none', baseURL: server.url })
    const told = await conversation({
      dialect: 'openai-responses',
      ask: request => {
        const form = requestFor(request, 'openai-responses', { tools })
        expect(ruleBreaks('openai-responses', form)).toEqual([])
        return client.responses.create({ model: 'gpt-5.5', store: false, ...form })
      },
    })
    expectToolLoop(told, { input: 20, output: 17, cacheRead: 30, reasoning: 10 })
    expect(server.asked[1]!.body.input).toContainEqual(reasoning)
  })

  it('works with the Gemini SDK, and hands its signatures back', async () => {
    const usageMetadata = { promptTokenCount: 50, candidatesTokenCount: 7, thoughtsTokenCount: 10 }
    const answer = (parts: object[]) => ({
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
      modelVersion: 'gemini-3-pro',
      responseId: 'r1',
      usageMetadata,
    })
    const functionCall = { name: wireName, args: { city: 'Paris' } }
    const server = await providerServer(
      json(answer([{ functionCall, thoughtSignature: 'c2ln' }])),
      json(answer([{ text: 'It is sunny.' }])),
    )
    const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: server.url } })
    const told = await conversation({
      dialect: 'gemini',
      ask: request => {
        const form = requestFor(request, 'gemini', { tools })
        expect(ruleBreaks('gemini', form)).toEqual([])
        return client.models.generateContent({ model: 'gemini-3-pro', ...form })
      },
    })
    expectToolLoop(told, { input: 50, output: 17, reasoning: 10 })
    const { contents } = server.asked[1]!.body
    expect(contents[1].parts).toEqual([{ functionCall, thoughtSignature: 'c2ln' }])
    expect(contents[2].parts[0]).toEqual({ functionResponse: { name: wireName, response: { output: 'sunny' } } })
  })

  it('works with the AI SDK, also where it ran the tools itself in several steps', async () => {
    const usage = { input_tokens: 20, output_tokens: 9 }
    const head = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-4-8',
      stop_sequence: null,
      usage,
    }
    const call = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Paris' } }
    const server = await providerServer(
      json({ ...head, stop_reason: 'tool_use', content: [call] }),
      json({ ...head, stop_reason: 'end_turn', content: [{ type: 'text', text: 'It is sunny.' }] }),
    )
    const model = createAnthropic({ apiKey: 'none', baseURL: server.url })('claude-opus-4-8')
    const { colloquy } = await freshColloquy()
    const { sessions } = colloquy
    const { id } = await sessions.getOrCreateSession({ type: 'thread', threadId: 'weather', agentType: 'helper' })
    const request = await sessions.buildRequest(id, 'How is the weather in Paris?')
    const form = requestFor(request, 'ai-sdk')
    expect(ruleBreaks('ai-sdk', form)).toEqual([])
    const result = await generateText({
      model,
      ...form,
      tools: { weather: { inputSchema: jsonSchema(weather.inputSchema), execute: () => 'sunny' } },
      stopWhen: stepCountIs(3),
    })
    const recorded = await sessions.addResponse(id, 'ai-sdk', result)
    expect(recorded.map(({ role, content, usage: counted }) => ({ role, content, counted }))).toEqual([
      { role: 'assistant', content: '', counted: { input: 20, output: 9 } },
      { role: 'user', content: '', counted: undefined },
      { role: 'assistant', content: 'It is sunny.', counted: { input: 20, output: 9 } },
    ])
    const next = await sessions.buildRequest(id, 'And tomorrow?')
    expect(ruleBreaks('ai-sdk', requestFor(next, 'ai-sdk'))).toEqual([])
    await generateText({ model, ...requestFor(next, 'ai-sdk') })
    expect(server.asked[2]!.body.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use' }] },
      { role: 'user', content: [{ type: 'tool_result' }] },
      { role: 'assistant' },
      { role: 'user' },
    ])
  })

  it('the answer of an SDK is recorded once under one key, and refused with nothing recorded when it is not what the SDK returns', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions } = colloquy
    const { id } = await sessions.getOrCreateSession({ type: 'thread', threadId: 'once', agentType: 'helper' })
    const response = { content: [{ type: 'text', text: 'Done.' }] }
    const [first] = await sessions.addResponse(id, 'anthropic', response, { idempotencyKey: 'answer 1' })
    const [again] = await sessions.addResponse(id, 'anthropic', response, { idempotencyKey: 'answer 1' })
    expect(again!.id).toBe(first!.id)
    await expect(sessions.addResponse(id, 'openai-chat', response as never)).rejects.toMatchObject({
      code: 'input/invalid',
      message: expect.stringContaining('openai-chat'),
    })
    await expect(sessions.addResponse(id, 'nothing' as 'gemini', {})).rejects.toThrow('must be one of anthropic')
    await expect(sessions.addResponse(id, 'gemini', { candidates: [] })).rejects.toThrow('no text and no tool call')
    expect(await sessions.getAllMessages(id)).toHaveLength(1)
  })
})

const recordings = join(import.meta.dirname, '../../../../shared/data/provider-recordings')

describe.skipIf(!existsSync(recordings))('recorded answers (skipped without ../shared/data)', () => {
  async function recorded(file: string) {
    const { interactions } = JSON.parse(readFileSync(join(recordings, file), 'utf8'))
    const { request, response } = interactions[0]
    const server = await providerServer(reply => {
      reply.writeHead(response.status, response.headers)
      reply.end(response.body)
    })
    const { colloquy } = await freshColloquy()
    const { sessions } = colloquy
    const { id } = await sessions.getOrCreateSession({ type: 'thread', threadId: 'recorded', agentType: 'helper' })
    return { server, sessions, id, model: JSON.parse(request.body).model as string }
  }

  it('recorded answers are stored as the Anthropic SDK puts a stream together', async () => {
    const { server, sessions, id, model } = await recorded('anthropic-messages/streams-tool-call.json')
    const client = new Anthropic({ apiKey: 'none', baseURL: server.url.replace('/v1', '') })
    const form = requestFor(await sessions.buildRequest(id, 'Go on'), 'anthropic')
    const response = await client.messages.stream({ model, max_tokens: 100, ...form }).finalMessage()
    const [message] = await sessions.addResponse(id, 'anthropic', response)
    expect(message!.parts).toMatchObject([{ type: 'tool-call', name: 'get_weather' }])
    expect(message!.usage!.output).toBe(response.usage.output_tokens)
  })

  it('recorded answers are stored as the OpenAI SDK puts a stream of responses together', async () => {
    const { server, sessions, id, model } = await recorded('openai-responses/gpt-5-5-streams-tool-call.json')
    const client = new OpenAI({ apiKey: 'none', baseURL: server.url })
    const form = requestFor(await sessions.buildRequest(id, 'Go on'), 'openai-responses')
    const response = await client.responses.stream({ model, ...form }).finalResponse()
    const [message] = await sessions.addResponse(id, 'openai-responses', response)
    expect(message!.parts.at(-1)).toMatchObject({ type: 'tool-call', name: 'get_weather' })
    expect(message!.metadata).toMatchObject({ stopReason: 'completed' })
  })

  it('recorded answers are stored as the OpenAI SDK puts a stream of chat completions together', async () => {
    const { server, sessions, id, model } = await recorded('openai-chat/streams-text.json')
    const client = new OpenAI({ apiKey: 'none', baseURL: server.url })
    const form = requestFor(await sessions.buildRequest(id, 'Go on'), 'openai-chat')
    const response = await client.chat.completions.stream({ model, ...form }).finalChatCompletion()
    const [message] = await sessions.addResponse(id, 'openai-chat', response)
    expect(message!.content).toBe(response.choices[0]!.message.content)
  })
})
