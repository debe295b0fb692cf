/** Usage reported by a provider makes the next estimate better, and never smaller than our own count. */
import type { Colloquy, Session } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

const feature = { type: 'feature', agentType: 'dev', featureId: 'login' } as const
const words = (count: number) => 'some words about the form '.repeat(count / 5)

/** A provider that counts `ratio` times our counts and adds `preamble` of its own. */
function provider({ ratio, preamble }: { ratio: number; preamble: number }) {
  const texts = (value: unknown): string[] =>
    typeof value === 'string' ? [value] : typeof value === 'object' && value ? Object.values(value).flatMap(texts) : []
  return (request: { system: string; messages: unknown }) => {
    const words = texts([request.system, request.messages]).join(' ').split(/\s+/).length
    return Math.round(preamble + ratio * words * 1.2)
  }
}

async function turn(
  colloquy: Colloquy,
  dev: Session,
  text: string,
  count: ReturnType<typeof provider>,
): Promise<{ foreseen: number; real: number; measured: number }> {
  const { sessions } = colloquy
  await sessions.addMessage(dev.id, { role: 'user', content: text })
  const request = await sessions.buildRequest(dev.id, text)
  const real = count(request)
  await sessions.addMessage(dev.id, {
    role: 'assistant',
    content: words(40),
    usage: { input: 10, cacheRead: real - 30, cacheWrite: 20, output: Math.round(48 * 1.2) },
  })
  return { foreseen: request.calibratedTokens, real, measured: request.totalTokens }
}

describe('calibration', () => {
  it('calibration predicts what the provider will count after its first answers, whatever it adds on its own', async () => {
    const { colloquy } = await freshColloquy({ tokens: 'exact', requests: { model: 'house:model' } })
    const dev = await colloquy.sessions.getOrCreateSession(feature)
    const count = provider({ ratio: 1.3, preamble: 5000 })
    const turns = []
    for (let at = 0; at < 12; at++) turns.push(await turn(colloquy, dev, `${at} ${words(300)}`, count))
    // Before the first answer it can only be our own count.
    expect(turns[0]!.foreseen).toBeLessThan(turns[0]!.real - 4000)
    for (const { foreseen, real } of turns.slice(4)) {
      expect(Math.abs(foreseen - real) / real).toBeLessThan(0.03)
    }
    const metrics = await colloquy.sessions.getMetrics(dev.id)
    expect(metrics.calibrated).toBeGreaterThan(metrics.used)
    expect(metrics.lastRequest?.calibrated).toBe(turns.at(-1)!.foreseen)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('calibration goes on from the log in another process', async () => {
    const opening = await freshColloquy({ requests: { model: 'house:model' } })
    const dev = await opening.colloquy.sessions.getOrCreateSession(feature)
    const count = provider({ ratio: 1.3, preamble: 5000 })
    for (let at = 0; at < 4; at++) await turn(opening.colloquy, dev, `${at} ${words(100)}`, count)
    const before = await opening.colloquy.sessions.previewRequest(dev.id, 'Next?')
    const again = await opening.reopen()
    const after = await again.sessions.previewRequest(dev.id, 'Next?')
    expect(after.calibratedTokens).toBe(before.calibratedTokens)
    expect(after.calibratedTokens).toBeGreaterThan(after.totalTokens)
    expect(after.ledger).toMatchObject({ calibrated: after.calibratedTokens, free: 100_000 - after.calibratedTokens })
    expect(after.ledger.notes.join()).toContain('the provider counts about')
  })

  it('[P5] calibration holds the larger of both counts against the budget: compacts earlier, and leaves out more', async () => {
    const compacted: number[] = []
    for (const ratio of [1, 2]) {
      const { colloquy } = await freshColloquy({ requests: { budget: 8000, model: 'house:model', recall: false } })
      const dev = await colloquy.sessions.getOrCreateSession(feature)
      const count = provider({ ratio, preamble: 1000 })
      let at = 0
      while (!(await colloquy.sessions.getCheckpoint(dev.id)) && at < 200) {
        const { foreseen, measured } = await turn(colloquy, dev, `${at++} ${words(50)}`, count)
        expect(Math.max(foreseen, measured)).toBeLessThanOrEqual(8000)
      }
      compacted.push(at)
    }
    expect(compacted[1]!).toBeLessThan(compacted[0]!)
  })

  it('calibration never makes a request smaller than our own count says', async () => {
    const { colloquy } = await freshColloquy({ requests: { budget: 4000, model: 'house:model', recall: false } })
    const dev = await colloquy.sessions.getOrCreateSession(feature)
    const count = provider({ ratio: 0.5, preamble: 0 })
    for (let at = 0; at < 60; at++) {
      const { measured } = await turn(colloquy, dev, `${at} ${words(50)}`, count)
      expect(measured).toBeLessThanOrEqual(4000)
    }
  })

  it('calibration keeps models apart', async () => {
    const { colloquy } = await freshColloquy({ requests: { model: 'house:model' } })
    const dev = await colloquy.sessions.getOrCreateSession(feature)
    const count = provider({ ratio: 1.3, preamble: 9000 })
    for (let at = 0; at < 3; at++) await turn(colloquy, dev, `${at} ${words(50)}`, count)
    await colloquy.sessions.setRequestSettings(dev.id, { model: 'other:model' })
    const request = await colloquy.sessions.previewRequest(dev.id, 'Next?')
    expect(request.calibratedTokens).toBeLessThan(request.totalTokens)
  })
})

describe('the model table', () => {
  it('the model table bounds the budget by window, output and input limits, and says what it assumed', async () => {
    const { colloquy } = await freshColloquy({
      requests: {
        budget: 1_000_000,
        models: {
          'house:small': { contextWindow: 16_000, outputLimit: 4000 },
          'house:narrow': { contextWindow: 64_000, outputLimit: 4000, inputLimit: 20_000 },
        },
      },
    })
    const dev = await colloquy.sessions.getOrCreateSession(feature)
    const { sessions } = colloquy
    const budgetOf = async (model: string | null) => {
      await sessions.setRequestSettings(dev.id, { model })
      const { budget, ledger } = await sessions.previewRequest(dev.id, 'Hello')
      return { budget, known: ledger.model.known, notes: ledger.notes.join() }
    }
    expect(await budgetOf('house:small')).toEqual({ budget: 12_000, known: true, notes: '' })
    expect(await budgetOf('house:narrow')).toEqual({ budget: 20_000 - 1024, known: true, notes: '' })
    expect(await budgetOf('openai:gpt-5')).toMatchObject({ budget: 272_000 - 1024, known: true })
    expect(await budgetOf('nobody:knows')).toEqual({
      budget: 128_000 - 4096,
      known: false,
      notes: 'nobody:knows is in no table of models: a window of 128,000 tokens is assumed',
    })
    expect((await budgetOf(null)).notes).toContain('no model is named')
  })
})

describe('settings of a session', () => {
  it('settings of a session are recorded when they change, override the project’s, and yield to the request’s', async () => {
    const { colloquy } = await freshColloquy({ requests: { budget: 9000 } })
    const dev = await colloquy.sessions.getOrCreateSession(feature)
    const { sessions } = colloquy
    const strategy = { name: 'recent', messages: 3 } as const
    await sessions.setRequestSettings(dev.id, { strategy, budget: 5000 })
    await sessions.setRequestSettings(dev.id, { strategy })
    const own = await sessions.buildRequest(dev.id, 'Hello')
    expect(own).toMatchObject({ strategy: 'recent', budget: 5000 })
    expect(own.ledger.set).toEqual({ strategy: 'session', budget: 'session' })
    const asked = await sessions.previewRequest(dev.id, 'Hello', { budget: 4000, strategy: { name: 'sliding_window' } })
    expect(asked).toMatchObject({ strategy: 'sliding_window', budget: 4000 })
    expect(asked.ledger.set).toEqual({ strategy: 'request', budget: 'request' })
    const back = await sessions.setRequestSettings(dev.id, { strategy: null, budget: null })
    expect(back.requests).toBeUndefined()
    expect((await sessions.previewRequest(dev.id, 'Hello')).ledger.set).toEqual({
      strategy: 'project',
      budget: 'project',
    })
    const events = await colloquy.conversations.getEvents(dev.conversationId)
    expect(events.filter(({ event }) => event.type === 'session.configured')).toHaveLength(2)
    await expect(sessions.setRequestSettings(dev.id, { budget: -1 })).rejects.toMatchObject({ code: 'input/invalid' })
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })
})

describe('the latch', () => {
  it('[P9] a model that fails once changes nothing; after it fails again the offline summariser is used', async () => {
    const model = scriptedModel(
      [{ type: 'failure', kind: 'overloaded', message: 'busy', retryable: true }],
      'test:down',
    )
    const { colloquy } = await freshColloquy({ model, requests: { budget: 4000, recall: false } })
    const dev = await colloquy.sessions.getOrCreateSession(feature)
    const { sessions } = colloquy
    const talk = async (turns: number) => {
      for (let at = 0; at < turns; at++) {
        await sessions.addMessage(dev.id, { role: 'user', content: `Question ${at} ${words(60)}` })
        await sessions.addMessage(dev.id, { role: 'assistant', content: `We decided on ${at}. ${words(60)}` })
      }
    }
    await talk(40)
    await sessions.buildRequest(dev.id, 'One?')
    expect(await sessions.getSession(dev.id)).toMatchObject({ failed: { times: 1 } })
    expect(await sessions.getMetrics(dev.id)).toMatchObject({ latched: false })
    await sessions.buildRequest(dev.id, 'Two?')
    expect(await sessions.getMetrics(dev.id)).toMatchObject({ latched: true })
    // Nothing new was said, so nothing is tried again.
    const version = (await colloquy.conversations.getConversation(dev.conversationId)).version
    await sessions.buildRequest(dev.id, 'Three?')
    expect((await colloquy.conversations.getConversation(dev.conversationId)).version).toBe(version + 1)
    await talk(10)
    const request = await sessions.buildRequest(dev.id, 'Four?')
    expect(request).toMatchObject({ checkpoint: 1, omitted: 0 })
    expect(await sessions.getCheckpoint(dev.id)).toMatchObject({ author: 'offline' })
    expect(await sessions.getMetrics(dev.id)).toMatchObject({ latched: false })
  })
})
