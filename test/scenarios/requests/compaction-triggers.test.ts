/** Automatic compaction: after so many messages, and in the background before a request has to wait. */
import type { Colloquy, OpenOptions, Session } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

const feature = { type: 'feature', agentType: 'helper', featureId: 'login' } as const

async function session(options: OpenOptions): Promise<{ colloquy: Colloquy; dev: Session }> {
  const { colloquy } = await freshColloquy({ clock: Date.now, ...options })
  return { colloquy, dev: await colloquy.sessions.getOrCreateSession(feature) }
}

/** Questions and answers of about 60 tokens each. */
async function talk(colloquy: Colloquy, sessionId: string, turns: number): Promise<void> {
  for (let turn = 1; turn <= turns; turn++) {
    const words = `about part${turn} of src/module-${turn}.ts `.repeat(6)
    await colloquy.sessions.addMessage(sessionId, { role: 'user', content: `Question ${turn} ${words}` })
    await colloquy.sessions.addMessage(sessionId, { role: 'assistant', content: `Answer ${turn} ${words}` })
  }
}

/** Talks until a request would take this share of its budget. */
async function talkUntil(colloquy: Colloquy, sessionId: string, share: number): Promise<void> {
  for (let turn = 0; turn < 200; turn++) {
    const { totalTokens, budget } = await colloquy.sessions.previewRequest(sessionId, 'Next?')
    if (totalTokens > budget * share) return
    await talk(colloquy, sessionId, 1)
  }
}

async function reasonsOf(colloquy: Colloquy, dev: Session): Promise<string[]> {
  const events = await colloquy.conversations.getEvents(dev.conversationId, { limit: 5_000 })
  return events.flatMap(({ event }) => (event.type === 'compaction.started' ? [event.reason] : []))
}

function summaryOf(text: string): string {
  return JSON.stringify({ add: [{ section: 'completed', text, sources: [3] }] })
}

describe('every N messages', () => {
  it('a compaction every N messages runs when so many are new, however small they are, and not again before', async () => {
    const model = scriptedModel(summaryOf('the questions were answered'), 'test:model')
    const { colloquy, dev } = await session({ model, requests: { everyMessages: 10, recall: false } })
    await talk(colloquy, dev.id, 4)
    expect((await colloquy.sessions.buildRequest(dev.id, 'Next?')).checkpoint).toBeUndefined()
    await talk(colloquy, dev.id, 1)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(request).toMatchObject({ checkpoint: 1, omitted: 0 })
    expect(request.systemPrompt).toContain('the questions were answered')
    await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(await reasonsOf(colloquy, dev)).toEqual(['every-n'])
    await talk(colloquy, dev.id, 4)
    await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(await reasonsOf(colloquy, dev)).toEqual(['every-n', 'every-n'])
    expect(await colloquy.sessions.getAllMessages(dev.id)).toHaveLength(18)
  })

  it('a compaction every N messages runs without a model, too', async () => {
    const { colloquy, dev } = await session({ requests: { everyMessages: 10, recall: false } })
    const output = 'one line of what it printed\n'.repeat(60)
    for (let turn = 0; turn < 4; turn++) {
      await talk(colloquy, dev.id, 1)
      await colloquy.sessions.addMessage(dev.id, { role: 'assistant', content: output })
    }
    expect((await colloquy.sessions.buildRequest(dev.id, 'Next?')).checkpoint).toBe(1)
    expect(await colloquy.sessions.getCheckpoint(dev.id)).toMatchObject({ author: 'offline' })
  })

  it('a compaction every N messages skips a session whose few words a summary would not shorten, and tries again later', async () => {
    const { colloquy, dev } = await session({ requests: { everyMessages: 10, recall: false } })
    await talk(colloquy, dev.id, 5)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(request).toMatchObject({ checkpoint: undefined, omitted: 0 })
    expect(await colloquy.sessions.getMetrics(dev.id)).toMatchObject({ latched: false })
  })
})

describe('in the background', () => {
  it('a background compaction starts past three quarters of the budget, blocks no caller, and later messages stay', async () => {
    let answer = (_: string) => {}
    const answered = new Promise<string>(resolve => {
      answer = resolve
    })
    const model = scriptedModel(() => answered, 'test:slow')
    const { colloquy, dev } = await session({ model, requests: { budget: 4_000, recall: false } })
    await talkUntil(colloquy, dev.id, 0.76)
    const updates = colloquy.subscribe({ sessionId: dev.id })
    // It resolves while the model has not answered.
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(request.checkpoint).toBeUndefined()
    expect(request.omitted).toBe(0)
    const meanwhile = await colloquy.sessions.addMessage(dev.id, { role: 'user', content: 'said meanwhile' })
    for await (const update of updates) if (update.name === 'session:compaction-start') break
    expect(await reasonsOf(colloquy, dev)).toEqual(['background'])
    answer(summaryOf('done in the background'))
    const more = colloquy.subscribe({ sessionId: dev.id, from: 'start' })
    for await (const update of more) if (update.name === 'session:compaction-complete') break
    const next = await colloquy.sessions.previewRequest(dev.id, 'And now?')
    expect(next.checkpoint).toBe(1)
    expect(next.systemPrompt).toContain('done in the background')
    const kept = next.ledger.entries.flatMap(entry => (entry.what === 'message' ? (entry.versions ?? []) : []))
    expect(kept).toContain(meanwhile.version)
    expect(next.totalTokens).toBeLessThan(request.totalTokens)
  })

  it('a background compaction does not start below that, nor without a model', async () => {
    const model = scriptedModel(summaryOf('never asked'), 'test:model')
    const below = await session({ model, requests: { budget: 4_000, recall: false } })
    await talkUntil(below.colloquy, below.dev.id, 0.5)
    await below.colloquy.sessions.buildRequest(below.dev.id, 'Next?')
    expect(await reasonsOf(below.colloquy, below.dev)).toEqual([])
    const offline = await session({ requests: { budget: 4_000, recall: false } })
    await talkUntil(offline.colloquy, offline.dev.id, 0.76)
    await offline.colloquy.sessions.buildRequest(offline.dev.id, 'Next?')
    expect(await reasonsOf(offline.colloquy, offline.dev)).toEqual([])
  })

  it('a second request past the trigger waits for the running compaction instead of starting its own', async () => {
    let answer = (_: string) => {}
    const answered = new Promise<string>(resolve => {
      answer = resolve
    })
    const model = scriptedModel(() => answered, 'test:slow')
    const { colloquy, dev } = await session({ model, requests: { budget: 4_000, recall: false } })
    await talkUntil(colloquy, dev.id, 0.76)
    const updates = colloquy.subscribe({ sessionId: dev.id })
    await colloquy.sessions.buildRequest(dev.id, 'Next?')
    for await (const update of updates) if (update.name === 'session:compaction-start') break
    await talkUntil(colloquy, dev.id, 0.91)
    const waiting = colloquy.sessions.buildRequest(dev.id, 'And now?')
    answer(summaryOf('done in the background'))
    expect((await waiting).checkpoint).toBe(1)
    expect(await reasonsOf(colloquy, dev)).toEqual(['background'])
  })
})
