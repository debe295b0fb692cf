/** A provider's own count, over its protocol, against a server that speaks it. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ProviderTokensOptions, providerTokens } from 'colloquy/models'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fastEstimator } from '../../../src/request/text/tokens.ts'
import { freshColloquy } from '../../support/colloquy.ts'

type Asked = { url: string; headers: IncomingMessage['headers']; body: Record<string, unknown> }

/** Answers with what `reply` makes of the request: a status and a body, or nothing at all. */
async function provider(reply: (asked: Asked) => { status?: number; body: unknown } | 'silence') {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const one = { url: request.url ?? '', headers: request.headers, body: JSON.parse(text) as Record<string, unknown> }
    asked.push(one)
    const said = reply(one)
    if (said === 'silence') return
    response.writeHead(said.status ?? 200, { 'content-type': 'application/json' })
    response.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function session(tokens: ProviderTokensOptions) {
  const { colloquy } = await freshColloquy({ tokens: providerTokens(tokens) })
  const dev = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'dev', threadId: 't' })
  return { sessions: colloquy.sessions, id: dev.id }
}

const claude = { provider: 'anthropic', model: 'claude-opus-4-5', apiKey: 'not-a-key' } as const

describe('a provider’s own count', () => {
  it("a provider’s own count is requested once, when a message is written, and stored with the counter's name", async () => {
    const { asked, baseUrl } = await provider(({ body }) => ({
      body: { input_tokens: 7 + (body.messages as [{ content: string }])[0].content.length },
    }))
    const { sessions, id } = await session({ ...claude, baseUrl })
    const message = await sessions.addMessage(id, { role: 'user', content: 'Plan the login page' })
    await sessions.buildRequest(id, 'Plan the login page')
    await sessions.getMetrics(id)
    expect(message.tokens).toEqual({ count: 26, by: 'anthropic:claude-opus-4-5' })
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({
      url: '/v1/messages/count_tokens',
      headers: { 'x-api-key': 'not-a-key', 'anthropic-version': '2023-06-01' },
      body: { model: 'claude-opus-4-5', messages: [{ role: 'user', content: 'Plan the login page' }] },
    })
    expect((await sessions.getSession(id)).stats.tokens).toBe(26)
  })

  it.each([
    ['openai', '/v1/responses/input_tokens', { input_tokens: 11 }, { authorization: 'Bearer not-a-key' }],
    ['google', '/v1beta/models/m-1:countTokens', { totalTokens: 11 }, { 'x-goog-api-key': 'not-a-key' }],
  ] as const)('a provider’s own count speaks the protocol of %s', async (name, url, body, headers) => {
    const { asked, baseUrl } = await provider(() => ({ body }))
    const { sessions, id } = await session({ provider: name, model: 'm-1', apiKey: 'not-a-key', baseUrl })
    const message = await sessions.addMessage(id, { role: 'user', content: 'Hello there' })
    expect(message.tokens).toEqual({ count: 11, by: `${name}:m-1` })
    expect(asked[0]).toMatchObject({ url, headers })
    expect(JSON.stringify(asked[0]!.body)).toContain('Hello there')
  })

  it.each([
    ['is overloaded', () => ({ status: 529, body: { type: 'error' } })],
    ['answers something else', () => ({ body: '<html>' })],
    ['answers another shape', () => ({ body: { tokens: 'many' } })],
    ['does not answer', () => 'silence' as const],
  ])(
    'when a provider %s the message is written all the same, counted here, and no provider is asked for a while',
    async (_, reply) => {
      const { asked, baseUrl } = await provider(reply)
      const { sessions, id } = await session({ ...claude, baseUrl, timeoutMs: 200 })
      const content = 'Plan the login page'
      const first = await sessions.addMessage(id, { role: 'user', content })
      const second = await sessions.addMessage(id, { role: 'user', content })
      const own = { count: fastEstimator.count(content), by: 'fast' }
      expect([first.tokens, second.tokens]).toEqual([own, own])
      expect(asked).toHaveLength(1)
    },
  )

  it('a provider’s own count is requested again after the pause', async () => {
    let fails = true
    const { asked, baseUrl } = await provider(() => (fails ? { status: 500, body: {} } : { body: { input_tokens: 3 } }))
    const { sessions, id } = await session({ ...claude, baseUrl, pauseMs: 0 })
    await sessions.addMessage(id, { role: 'user', content: 'one' })
    fails = false
    const message = await sessions.addMessage(id, { role: 'user', content: 'two' })
    expect(message.tokens.by).toBe('anthropic:claude-opus-4-5')
    expect(asked).toHaveLength(2)
  })
})
