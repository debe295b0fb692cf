/** Opening a model by its name: addresses and keys from settings or the environment, and errors that say what to do. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openColloquy } from 'colloquy'
import { ModelKeyMissing, ModelUnknown } from 'colloquy/errors'
import { answerOf, openModel } from 'colloquy/models'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../../../src/testing/builders.ts'
import { question } from '../../contract/models.ts'
import * as anthropic from '../../support/models/anthropic.ts'
import * as openai from '../../support/models/openai.ts'
import { providerServer } from '../../support/models/server.ts'
import { temporaryFolder } from '../../support/temporary.ts'

describe('a model by its name', () => {
  it.each([
    ['anthropic:claude-opus-4-7', 'ANTHROPIC_API_KEY'],
    ['openai:gpt-5', 'OPENAI_API_KEY'],
    ['openrouter:anthropic/claude-opus-4.7', 'OPENROUTER_API_KEY'],
  ])('%s without a key says that %s must be set', async (name, variable) => {
    const error = await errorOf(() => openModel(name, { environment: {} }))
    expect(error).toBeInstanceOf(ModelKeyMissing)
    expect(error).toMatchObject({ code: 'model/key-missing', variable })
    expect((error as Error).message).toContain(`Set the environment variable ${variable}`)
    expect(await errorOf(() => openModel(name, { environment: { [variable]: '' } }))).toBeInstanceOf(ModelKeyMissing)
  })

  it.each(['gpt-5', 'anthropic:', 'nobody:model', '', 'command:', 'scripted:', 'constructor:x'])(
    '"%s" names no model, and the known names are listed',
    async name => {
      const error = await errorOf(() => openModel(name, { environment: {} }))
      expect(error).toBeInstanceOf(ModelUnknown)
      expect((error as Error).message).toContain('anthropic:MODEL')
      expect((error as Error).message).toContain('scripted:FILE')
    },
  )

  it('a model takes address and key from the environment, with or without the version in the address', async () => {
    const server = await providerServer(anthropic.plays({ text: 'Yes.' }))
    for (const address of [server.url, server.url.replace('/v1', ''), `${server.url}/`]) {
      const environment = { ANTHROPIC_BASE_URL: address, ANTHROPIC_API_KEY: 'from-the-environment' }
      const model = await openModel('anthropic:claude-test', { environment })
      expect(model.name).toBe('anthropic:claude-test')
      expect(await answerOf(model, question)).toMatchObject({ ok: true, text: 'Yes.' })
    }
    expect(server.asked.map(one => one.path)).toEqual(['/v1/messages', '/v1/messages', '/v1/messages'])
    expect(server.asked[0]!.headers['x-api-key']).toBe('from-the-environment')
  })

  it('a model of Anthropic takes a token in place of a key', async () => {
    const server = await providerServer(anthropic.plays({ text: 'Yes.' }))
    const environment = { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_AUTH_TOKEN: 'a-token' }
    await answerOf(await openModel('anthropic:claude-test', { environment }), question)
    expect(server.asked[0]!.headers.authorization).toBe('Bearer a-token')
    expect(server.asked[0]!.headers).not.toHaveProperty('x-api-key')
  })

  it("a model name may hold the address of any compatible server, which the model's own name does not keep", async () => {
    const server = await providerServer(openai.plays({ text: 'Yes.' }))
    const model = await openModel(`openai-compatible:org/model:8b@${server.url}`, { environment: {} })
    expect(model.name).toBe('openai-compatible:org/model:8b')
    expect(await answerOf(model, question)).toMatchObject({ ok: true })
    expect(server.asked[0]!.body.model).toBe('org/model:8b')
  })

  it('a compatible server without an address is refused', async () => {
    const error = await errorOf(() => openModel('openai-compatible:qwen3', { environment: {} }))
    expect((error as Error).message).toContain('OPENAI_COMPATIBLE_BASE_URL')
    expect(await errorOf(() => openModel('ollama:x', { baseUrl: 'not an address' }))).toBeInstanceOf(ModelUnknown)
  })

  it('a model reports what a call cost, cache reads and writes at their own price, and nothing where the price is unknown', async () => {
    const usage = { input: 1000, output: 200, cacheRead: 10_000, cacheWrite: 2000 }
    const server = await providerServer(anthropic.plays({ text: 'Yes.', usage }))
    const settings = { baseUrl: server.url, apiKey: 'k' }
    const cost = async (name: string, prices = {}) => {
      const answer = await answerOf(await openModel(name, { ...settings, prices }), question)
      return answer.ok ? answer.usage?.cost : undefined
    }
    // 1000 × 3 + 200 × 15 + 10,000 × 0.3 + 2000 × 3.75 millionths
    expect(await cost('anthropic:claude-sonnet-4-5-20250929')).toBeCloseTo(0.0165, 10)
    expect(await cost('anthropic:claude-of-tomorrow')).toBeUndefined()
    const prices = { 'claude-of-tomorrow': { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 } }
    expect(await cost('anthropic:claude-of-tomorrow', prices)).toBeCloseTo(0.0049, 10)
  })

  it('a model opens with the store by its name, and writes the summaries of compactions', async () => {
    const script = join(temporaryFolder(), 'summary.json')
    writeFileSync(
      script,
      JSON.stringify(JSON.stringify({ add: [{ section: 'facts', text: 'All is well', sources: [3] }] })),
    )
    const colloquy = await openColloquy({
      store: 'sqlite::memory:',
      project: 'shop',
      tokens: 'fast',
      model: `scripted:${script}`,
      requests: { budget: 4000 },
    })
    const session = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: 'release' })
    for (let turn = 0; turn < 40; turn++) {
      await colloquy.sessions.addMessage(session.id, {
        role: 'user',
        content: `Question ${turn} ${'words '.repeat(60)}`,
      })
      await colloquy.sessions.addMessage(session.id, { role: 'assistant', content: `Answer ${turn}` })
    }
    expect(await colloquy.sessions.forceCompact(session.id)).toMatchObject({ outcome: 'taken' })
    const checkpoint = await colloquy.sessions.getCheckpoint(session.id)
    expect(checkpoint).toMatchObject({ author: `scripted:${script}`, items: [{ text: 'All is well' }] })
    await colloquy.close()
    const missing = await errorOf(() => openColloquy({ store: 'sqlite::memory:', model: 'nobody:model' }))
    expect(missing).toBeInstanceOf(ModelUnknown)
  })
})

describe('a compaction by a hosted model', () => {
  it('[P9] a compaction by a hosted model waits out an overload, records what it cost, and marks nothing for the cache', async () => {
    const delta = JSON.stringify({ add: [{ section: 'facts', text: 'All is well', sources: [3] }] })
    const server = await providerServer(
      anthropic.refusesWith({ kind: 'overloaded' }),
      anthropic.plays({ text: delta, usage: { input: 2000, output: 100 } }),
    )
    const model = await openModel('anthropic:claude-haiku-4-5', {
      baseUrl: server.url,
      apiKey: 'test-key',
      retries: { firstWaitMs: 1 },
    })
    const requests = { budget: 4000 }
    const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop', tokens: 'fast', model, requests })
    const session = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: 'release' })
    for (let turn = 0; turn < 40; turn++) {
      await colloquy.sessions.addMessage(session.id, {
        role: 'user',
        content: `Question ${turn} ${'words '.repeat(60)}`,
      })
    }
    expect(await colloquy.sessions.forceCompact(session.id)).toMatchObject({ outcome: 'taken' })
    const events = await colloquy.conversations.getEvents(session.conversationId)
    const taken = events.map(one => one.event).find(event => event.type === 'checkpoint.taken')
    expect(taken).toMatchObject({ cost: 0.0025, checkpoint: { author: 'anthropic:claude-haiku-4-5' } })
    expect(server.asked).toHaveLength(2)
    expect(JSON.stringify(server.asked[1]!.body)).not.toContain('cache_control')
    await colloquy.close()
  })
})

describe('a script from a file', () => {
  const scripted = (name: string, content: string) => {
    const file = join(temporaryFolder(), name)
    writeFileSync(file, content)
    return openModel(`scripted:${file}`)
  }

  it('a script from a file gives its answers one after the other, then repeats the last one', async () => {
    const model = await scripted(
      'demo.jsonl',
      [
        '"First."',
        '{"reasoning": "Hm.", "text": "Second.", "calls": [{"name": "read", "input": {"path": "a.ts"}}]}',
        '',
        '{"text": "Half", "failure": {"kind": "rate-limited", "retryAfterMs": 5}, "usage": {"input": 1, "output": 1}}',
      ].join('\n'),
    )
    const answers = []
    for (let call = 0; call < 4; call++) answers.push(await answerOf(model, question))
    expect(answers.map(one => one.text)).toEqual(['First.', 'Second.', 'Half', 'Half'])
    expect(answers[1]!.content.at(-1)).toMatchObject({ type: 'tool-call', callId: 'call-2-1', input: { path: 'a.ts' } })
    expect(answers[3]).toMatchObject({ ok: false, failure: { kind: 'rate-limited', retryable: true, retryAfterMs: 5 } })
  })

  it('a script from a file is one text where it is no JSON', async () => {
    const model = await scripted('demo.md', '# Hello\n\nfrom a file\n')
    expect((await answerOf(model, question)).text).toBe('# Hello\n\nfrom a file\n')
  })

  it.each([
    ['demo.json', '{"text": 1}', 'the answer, text'],
    ['demo.json', '[{"texd": "no"}]', 'answer 1'],
    ['demo.jsonl', '"fine"\n{broken', 'line 2 is not JSON'],
  ])('%s with %s says where it is wrong', async (name, content, place) => {
    const error = await errorOf(() => scripted(name, content))
    expect(error).toBeInstanceOf(ModelUnknown)
    expect((error as Error).message).toContain(place)
  })

  it('a script whose file does not exist says so', async () => {
    expect(await errorOf(() => openModel('scripted:/nowhere/at-all.json'))).toMatchObject({ code: 'model/unknown' })
  })
})
