/** Providers that misbehave, played by real servers on loopback: every trouble comes back as data, and what was said is kept. */
import { answerOf, type Model, openModel } from 'colloquy/models'
import { anthropicModel, openAiCompatibleModel } from 'colloquy/models/ai-sdk'
import { describe, expect, it } from 'vitest'
import { failureOf, partsOf, question } from '../../contract/models.ts'
import * as anthropic from '../../support/models/anthropic.ts'
import * as openai from '../../support/models/openai.ts'
import {
  type ProviderServer,
  providerServer,
  type Reply,
  refuses,
  sends,
  sendsAndCuts,
  sendsAndStalls,
} from '../../support/models/server.ts'

const wires = [
  { provider: 'anthropic', wire: anthropic, beginning: anthropic.begins() },
  { provider: 'openai-compatible', wire: openai, beginning: openai.chunk({ choices: [] }) },
] as const

type Provider = (typeof wires)[number]['provider']

async function against(provider: Provider, ...replies: Reply[]): Promise<{ model: Model; server: ProviderServer }> {
  const server = await providerServer(...replies)
  const options = { model: 'test', apiKey: 'test-key', baseUrl: server.url, silenceMs: 10_000 }
  const model = provider === 'anthropic' ? anthropicModel(options) : openAiCompatibleModel(options)
  return { model, server }
}

async function failureAgainst(provider: Provider, ...replies: Reply[]) {
  const { model } = await against(provider, ...replies)
  return failureOf(await answerOf(model, question))
}

describe.each(wires)('$provider', ({ provider, wire, beginning }) => {
  it('a connection that breaks in the middle may be tried again', async () => {
    const { failure, text } = await failureAgainst(provider, wire.plays({ text: 'Half of ', ending: 'cut' }))
    expect(failure).toMatchObject({ kind: 'network', retryable: true })
    expect(text).toBe('Half of ')
  })

  it('a stream that ends politely but too early is no answer', async () => {
    const { failure } = await failureAgainst(provider, sends(beginning))
    expect(failure.retryable).toBe(true)
    expect(['network', 'bad-response']).toContain(failure.kind)
  })

  it('a connection that breaks at once may be tried again', async () => {
    const { failure } = await failureAgainst(provider, response => response.destroy())
    expect(failure).toMatchObject({ kind: 'network', retryable: true })
  })

  it('a connection that falls silent in the middle is closed, and may be tried again', async () => {
    const server = await providerServer(sendsAndStalls(beginning))
    const model = await openModel(`${provider}:test`, {
      baseUrl: server.url,
      apiKey: 'test-key',
      silenceMs: 200,
      retries: false,
    })
    const { failure } = failureOf(await answerOf(model, question))
    expect(failure).toMatchObject({ kind: 'timed-out', retryable: true })
    expect(failure.message).toContain('0.2 seconds')
    await server.hungUp
  })

  it('a connection that never begins to answer is closed, too', async () => {
    const { url, hungUp } = await providerServer(() => undefined)
    const settings = { baseUrl: url, apiKey: 'test-key', silenceMs: 200, retries: false as const }
    const { failure } = failureOf(await answerOf(await openModel(`${provider}:test`, settings), question))
    expect(failure).toMatchObject({ kind: 'timed-out', retryable: true })
    await hungUp
  })

  it('half a JSON is reported as such', async () => {
    const { failure } = await failureAgainst(provider, sends(beginning, 'data: {"type":"content_block_del\n\n'))
    expect(failure).toMatchObject({ kind: 'bad-response', retryable: true })
  })

  it('a page in place of an answer points at the address', async () => {
    const page: Reply = response => {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end('<html><body>Welcome to the proxy</body></html>')
    }
    const { failure } = await failureAgainst(provider, page)
    expect(failure).toMatchObject({ kind: 'bad-response', retryable: false })
    expect(failure.message).toContain('text/html')
    expect(failure.message).toContain('Welcome to the proxy')
  })

  it('an error page with an error status is the error of that status', async () => {
    const { failure } = await failureAgainst(provider, refuses(502, '<html>Bad Gateway</html>'))
    expect(failure).toMatchObject({ kind: 'overloaded', retryable: true, status: 502 })
  })

  it('a provider that says not to retry is not retried', async () => {
    const { failure } = await failureAgainst(provider, refuses(503, '{}', { 'x-should-retry': 'false' }))
    expect(failure).toMatchObject({ kind: 'overloaded', retryable: false })
  })

  it('an address where no server listens may be tried again', async () => {
    const settings = { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'test-key', retries: false as const }
    const { failure } = failureOf(await answerOf(await openModel(`${provider}:test`, settings), question))
    expect(failure).toMatchObject({ kind: 'network', retryable: true })
  })

  it('a call is tried again when told to wait, and the answer of the last attempt counts', async () => {
    const { url, asked } = await providerServer(
      wire.refusesWith({ kind: 'rate-limited', retryAfterSeconds: 0 }),
      wire.plays({ text: 'Half of ', ending: 'cut' }),
      wire.plays({ text: 'The whole answer.' }),
    )
    const settings = { baseUrl: url, apiKey: 'test-key', retries: { firstWaitMs: 1 } }
    const model = await openModel(`${provider}:test`, settings)
    const parts = await partsOf(model, question)
    expect(asked).toHaveLength(3)
    const waits = parts.flatMap(part => (part.type === 'waiting' ? [part.failure.kind] : []))
    expect(waits).toEqual(['rate-limited', 'network'])
    expect(parts.filter(part => part.type === 'start')).toHaveLength(3)
    expect((await answerOf(model, question)).text).toBe('The whole answer.')
  })

  it('a call is not tried again when the provider wants a longer wait than allowed; the failure says how long', async () => {
    const { url, asked } = await providerServer(wire.refusesWith({ kind: 'rate-limited', retryAfterSeconds: 3600 }))
    const model = await openModel(`${provider}:test`, { baseUrl: url, apiKey: 'test-key' })
    const { failure } = failureOf(await answerOf(model, question))
    expect(failure).toMatchObject({ kind: 'rate-limited', retryAfterMs: 3_600_000 })
    expect(asked).toHaveLength(1)
  })

  it('a call is closed when its reader leaves', async () => {
    const { model, server } = await against(provider, wire.plays({ text: 'It is ', ending: 'stall' }))
    for await (const part of model.stream(question)) if (part.type === 'text-delta') break
    await server.hungUp
  })

  it('a call is closed when it is cancelled before the answer', async () => {
    const controller = new AbortController()
    const { model, server } = await against(provider, () => controller.abort())
    const answer = await answerOf(model, { ...question, signal: controller.signal })
    expect(answer).toMatchObject({ ok: false, failure: { kind: 'cancelled' } })
    await server.hungUp
  })
})

describe('anthropic', () => {
  it('an overload after the beginning is an overload', async () => {
    const trouble = anthropic.event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })
    const later = sends(anthropic.begins(), anthropic.block(0, { type: 'text', text: 'Hm' }), trouble)
    expect((await failureAgainst('anthropic', later)).failure).toMatchObject({ kind: 'overloaded', retryable: true })
    expect((await failureAgainst('anthropic', sends(trouble))).failure).toMatchObject({ kind: 'overloaded' })
  })

  it('a refusal by the model is a refusal, and its usage is reported', async () => {
    const end = anthropic.event('message_delta', {
      delta: { stop_reason: 'refusal', stop_sequence: null },
      usage: { output_tokens: 1 },
    })
    const reply = sends(anthropic.begins(), end, anthropic.event('message_stop'))
    const { failure } = await failureAgainst('anthropic', reply)
    expect(failure).toMatchObject({ kind: 'refused', retryable: false, usage: { input: 10, output: 1 } })
  })

  it('an empty account is not worth a retry', async () => {
    const message = 'Your credit balance is too low to access the Anthropic API.'
    const reply = refuses(400, { type: 'error', error: { type: 'invalid_request_error', message } })
    const { failure } = await failureAgainst('anthropic', reply)
    expect(failure).toMatchObject({ kind: 'out-of-credit', retryable: false, message })
  })
})

describe('openai-compatible', () => {
  it('a used-up quota is not a rate limit', async () => {
    const error = { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' }
    const { failure } = await failureAgainst('openai-compatible', refuses(429, { error }))
    expect(failure).toMatchObject({ kind: 'out-of-credit', retryable: false })
  })

  it('an error in the middle of the stream is reported by its code', async () => {
    const reply = sends(
      openai.chunk({ choices: [{ index: 0, delta: { content: 'It is ' } }] }),
      openai.chunk({ error: { code: 502, message: 'Provider returned error' } }),
    )
    const { failure, text } = await failureAgainst('openai-compatible', reply)
    expect(failure).toMatchObject({ kind: 'overloaded', retryable: true, message: 'Provider returned error' })
    expect(text).toBe('It is ')
  })

  it.each([
    [
      'llama.cpp',
      400,
      {
        error: {
          code: 400,
          message: 'the request exceeds the available context size',
          type: 'exceed_context_size_error',
        },
      },
    ],
    ['vLLM', 400, { object: 'error', message: "This model's maximum context length is 4096 tokens.", code: 400 }],
    ['Groq', 413, { error: { message: 'Request too large for model', type: 'tokens', code: 'rate_limit_exceeded' } }],
  ])('%s says in its own way that the request is too long', async (_, status, body) => {
    const { failure } = await failureAgainst('openai-compatible', refuses(status, body))
    expect(failure).toMatchObject({ kind: 'context-too-long', retryable: false })
  })

  it('a call whose arguments were cut off is never returned as whole', async () => {
    const begun = { index: 0, id: 'call_1', type: 'function', function: { name: 'remove', arguments: '{"path":"/tm' } }
    const reply = sendsAndCuts(openai.chunk({ choices: [{ index: 0, delta: { tool_calls: [begun] } }] }))
    const { content } = await failureAgainst('openai-compatible', reply)
    expect(content).toEqual([])
  })
})
