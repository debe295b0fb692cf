/** Requests through the front door: inside the budget, nothing lost, every decision seen. */

import { type Colloquy, type Message, type OpenOptions, openColloquy, type Session } from 'colloquy'
import { BudgetTooSmall } from 'colloquy/errors'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { loadExactEstimator } from '../../../src/request/text/exact-tokens.ts'
import { freshColloquy } from '../../support/colloquy.ts'

const feature = { type: 'feature', agentType: 'dev', featureId: 'login' } as const

async function session(options: OpenOptions = {}): Promise<{ colloquy: Colloquy; session: Session }> {
  const { colloquy } = await freshColloquy({ tokens: 'exact', ...options })
  return { colloquy, session: await colloquy.sessions.getOrCreateSession(feature) }
}

/** A conversation with `turns` questions and answers, each of about 60 tokens. */
async function talk(colloquy: Colloquy, sessionId: string, turns: number, from = 1): Promise<void> {
  for (let turn = from; turn < from + turns; turn++) {
    const words = `about part${turn} of src/module-${turn}.ts `.repeat(6)
    await colloquy.sessions.addMessage(sessionId, { role: 'user', content: `Question ${turn} ${words}` })
    await colloquy.sessions.addMessage(sessionId, { role: 'assistant', content: `Answer ${turn} ${words}` })
  }
}

const small = { requests: { budget: 4000, recall: false } }

describe('buildRequest', () => {
  it('buildRequest puts description, context, history and message together, in both renderings', async () => {
    const { colloquy, session: dev } = await session()
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: 'Build the form' })
    await colloquy.sessions.addMessage(dev.id, { role: 'assistant', content: 'It is built.' })
    const request = await colloquy.sessions.buildRequest(dev.id, 'And the tests?')
    expect(request.userPrompt).toBe('And the tests?')
    expect(request.systemPrompt).toContain('Build the form')
    expect(request.messages.map(message => message.role)).toEqual(['user', 'assistant', 'user'])
    expect(request.messages.at(-1)?.content.at(-1)).toEqual({ type: 'text', text: 'And the tests?' })
    expect(request.totalTokens).toBeLessThanOrEqual(request.budget)
    expect(request.ledger.entries.map(entry => entry.what)).toEqual(['description', 'message', 'message', 'message'])
  })

  it('[P5] buildRequest gives a request no larger than its ledger says, whatever ids calls have and however long names are', async () => {
    const { colloquy, session: dev } = await session({ requests: { budget: 50_000, recall: false } })
    const { count } = await loadExactEstimator()
    for (let turn = 0; turn < 30; turn++) {
      const callId = `toolu_01A09q90qw90lq9178${turn}35lq9`
      const call = { type: 'tool-call', callId, name: 'read', input: {} } as const
      const result = { type: 'tool-result', callId, output: 'ok' } as const
      await colloquy.sessions.addMessage(dev.id, { role: 'assistant', parts: [call] })
      await colloquy.sessions.addMessage(dev.id, { role: 'user', author: 'tools', parts: [result] })
      await colloquy.sessions.addMessage(dev.id, { role: 'user', author: '~`!?'.repeat(12), content: 'x' })
    }
    const { systemPrompt, userPrompt, totalTokens } = await colloquy.sessions.previewRequest(dev.id, 'Go on')
    expect(count(systemPrompt) + count(userPrompt)).toBeLessThanOrEqual(totalTokens)
  })

  it('[P7] buildRequest has a message that was stored before exactly once', async () => {
    const { colloquy, session: dev } = await session()
    const stored = await colloquy.sessions.addMessage(dev.id, { role: 'user', content: 'the only question' })
    const byText = await colloquy.sessions.buildRequest(dev.id, 'the only question')
    const byId = await colloquy.sessions.buildRequest(dev.id, { messageId: stored.id })
    for (const request of [byText, byId]) {
      expect((request.system + JSON.stringify(request.messages)).split('the only question')).toHaveLength(2)
      expect((request.systemPrompt + request.userPrompt).split('the only question')).toHaveLength(2)
    }
  })

  it('[P8] buildRequest says how much is left out, without the pinned messages, however much was read', async () => {
    const strategy = { name: 'sliding_window' } as const
    const { colloquy, session: dev } = await session({ requests: { strategy, budget: 3_000, recall: false } })
    const pinned = await colloquy.sessions.addMessage(dev.id, {
      role: 'user',
      content: 'Keep this. '.repeat(20),
      pinned: true,
    })
    const said = []
    for (let at = 0; at < 200; at++)
      said.push(await colloquy.sessions.addMessage(dev.id, { role: 'user', content: `Line ${at}` }))
    const { entries } = (await colloquy.sessions.previewRequest(dev.id, 'Go on')).ledger
    const kept = new Set(entries.flatMap(({ fate, versions = [] }) => (fate === 'left-out' ? [] : versions)))
    expect(kept.has(pinned.version)).toBe(true)
    const left = said.filter(message => !kept.has(message.version))
    expect(entries.find(({ fate }) => fate === 'left-out')).toMatchObject({
      tokens: left.reduce((sum, { tokens }) => sum + tokens.count, 0),
      range: { messages: left.length },
    })
  })

  it('[P8] buildRequest gives the same bytes for the same inputs, and previewing changes nothing', async () => {
    const { colloquy, session: dev } = await session()
    await talk(colloquy, dev.id, 5)
    const version = (await colloquy.conversations.getConversation(dev.conversationId)).version
    const first = await colloquy.sessions.previewRequest(dev.id, 'Next?')
    const second = await colloquy.sessions.previewRequest(dev.id, 'Next?')
    expect({ ...second, explain: second.explain() }).toEqual({ ...first, explain: first.explain() })
    expect((await colloquy.conversations.getConversation(dev.conversationId)).version).toBe(version)
  })

  it('buildRequest records a manifest of what was sent', async () => {
    const { colloquy, session: dev } = await session()
    await talk(colloquy, dev.id, 2)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    const events = await colloquy.conversations.getEvents(dev.conversationId)
    expect(events.at(-1)?.event).toMatchObject({
      type: 'request.built',
      sessionId: dev.id,
      strategy: 'checkpoint',
      kept: { messages: 4 },
      omitted: 0,
      tokens: request.totalTokens,
      budget: request.budget,
    })
  })

  it('[P5] buildRequest names the fixed part that is too large for the budget, and calls no model', async () => {
    const { colloquy, session: dev } = await session({ requests: { budget: 50 } })
    await expect(colloquy.sessions.buildRequest(dev.id, 'hello')).rejects.toThrow(BudgetTooSmall)
  })

  it("buildRequest keeps to a description of the caller's, recorded when it changes", async () => {
    const { colloquy, session: dev } = await session()
    const description = {
      agentType: 'dev',
      role: 'You only speak Latin.',
      instructions: ['Be brief'],
      allowedTools: [],
    }
    await colloquy.sessions.setAgentDescription(dev.id, description)
    await colloquy.sessions.setAgentDescription(dev.id, description)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Salve')
    expect(request.systemPrompt).toContain('You only speak Latin.')
    const events = await colloquy.conversations.getEvents(dev.conversationId)
    expect(events.filter(one => one.event.type === 'session.described')).toHaveLength(1)
  })

  it('buildRequest quotes older messages that have the words of the new one', async () => {
    const { colloquy, session: dev } = await session({
      requests: { budget: 3000, strategy: { name: 'sliding_window' } },
    })
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: 'The launch code of the xylophone is 4711' })
    await talk(colloquy, dev.id, 60)
    const request = await colloquy.sessions.buildRequest(dev.id, 'What was the xylophone about?')
    expect(request.omitted).toBeGreaterThan(0)
    expect(request.systemPrompt).toContain('4711')
    expect(request.ledger.entries.some(entry => entry.what === 'recall' && entry.fate === 'kept')).toBe(true)
  })
})

describe('strategies', () => {
  it('sliding_window keeps the newest messages and says how many it left out', async () => {
    const { colloquy, session: dev } = await session({
      requests: { budget: 2500, recall: false, strategy: { name: 'sliding_window' } },
    })
    await talk(colloquy, dev.id, 40)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(request.omitted).toBeGreaterThan(0)
    expect(request.systemPrompt).toContain(`${request.omitted} older messages are left out`)
    expect(request.systemPrompt).toContain('Answer 40')
    expect(await colloquy.sessions.getCheckpoint(dev.id)).toBeUndefined()
  })

  it('recent sends the last messages a person would read', async () => {
    const { colloquy, session: dev } = await session({
      requests: { strategy: { name: 'recent', messages: 2 }, recall: false },
    })
    await talk(colloquy, dev.id, 5)
    await colloquy.sessions.addMessage(dev.id, { role: 'assistant', content: 'private thought', internal: true })
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    const kept = request.ledger.entries.filter(entry => entry.why === 'recent').length
    expect(kept).toBe(2)
    expect(request.systemPrompt).not.toContain('private thought')
  })

  it('summarization keeps the last messages word for word and the rest as a summary', async () => {
    const strategy = { name: 'summarization', keepRecentMessages: 4 } as const
    const { colloquy, session: dev } = await session({ requests: { budget: 4000, recall: false, strategy } })
    await talk(colloquy, dev.id, 40)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(request.checkpoint).toBe(1)
    expect(request.systemPrompt).toContain('Answer 40')
    expect(request.totalTokens).toBeLessThanOrEqual(request.budget)
  })
})

describe('compaction', () => {
  it('[P9] compaction runs by itself past the trigger, and the request fits again with nothing left out', async () => {
    const { colloquy, session: dev } = await session(small)
    await talk(colloquy, dev.id, 60)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(request).toMatchObject({ checkpoint: 1, omitted: 0 })
    expect(request.totalTokens).toBeLessThanOrEqual(request.budget * 0.9)
    const checkpoint = await colloquy.sessions.getCheckpoint(dev.id)
    expect(checkpoint).toMatchObject({ number: 1, base: 0, author: 'offline' })
    expect((await colloquy.sessions.getSession(dev.id)).compactions).toBe(1)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('[P6] compaction covers every message exactly once: in the checkpoint or kept', async () => {
    const { colloquy, session: dev } = await session(small)
    await talk(colloquy, dev.id, 60)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    const checkpoint = (await colloquy.sessions.getCheckpoint(dev.id))!
    const all = (await colloquy.sessions.getAllMessages(dev.id)).map(message => message.version)
    const kept = request.ledger.entries.flatMap(entry => (entry.what === 'message' ? (entry.versions ?? []) : []))
    expect(all.filter(version => version <= checkpoint.upTo)).toHaveLength(checkpoint.messages)
    expect(kept.sort((a, b) => a - b)).toEqual(all.filter(version => version > checkpoint.upTo))
  })

  it('compactions form a chain: many in a row, with messages in between, and pinned text stays as it is', async () => {
    const { colloquy, session: dev } = await session(small)
    const pinned = 'NEVER touch the   production\tdatabase.'
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: pinned, pinned: true })
    for (let round = 0; round < 8; round++) {
      await talk(colloquy, dev.id, 30, round * 30 + 1)
      const request = await colloquy.sessions.buildRequest(dev.id, `Round ${round}?`)
      expect(request.totalTokens).toBeLessThanOrEqual(request.budget)
      expect(request.systemPrompt).toContain(pinned)
      expect(request.omitted).toBe(0)
    }
    const history = await colloquy.sessions.getCheckpointHistory(dev.id)
    expect(history.length).toBeGreaterThanOrEqual(5)
    expect(history.map(checkpoint => checkpoint.base)).toEqual(history.map(checkpoint => checkpoint.number - 1))
    expect(await colloquy.conversations.stats(dev.conversationId)).toMatchObject({ messages: 481 })
  }, 60_000)

  it('compaction lets a model write the delta, and leads from an item to the messages behind it', async () => {
    const model = scriptedModel(request => {
      const versions = [...JSON.stringify(request.messages).matchAll(/\b(\d+) user\b/g)].map(match => Number(match[1]))
      const source = versions[0] ?? 3
      return JSON.stringify({ add: [{ section: 'decisions', text: 'We use JWT for sessions', sources: [source] }] })
    }, 'test:model')
    const { colloquy, session: dev } = await session({ ...small, model })
    await talk(colloquy, dev.id, 60)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(request.systemPrompt).toContain('We use JWT for sessions')
    const checkpoint = (await colloquy.sessions.getCheckpoint(dev.id))!
    expect(checkpoint.author).toBe('test:model')
    const behind: Message[] = await colloquy.sessions.expand(dev.id, checkpoint.items[0]!.id)
    expect(behind.length).toBeGreaterThan(0)
  })

  it.each([
    ['fails', scriptedModel([{ type: 'failure', kind: 'overloaded', message: 'busy', retryable: true }])],
    ['answers prose', scriptedModel('I am sorry, I cannot do that.')],
    ['answers nothing', scriptedModel('')],
    ['answers an empty delta', scriptedModel('{}')],
  ])('[P9] a model that %s changes nothing, and the request still fits', async (_, model) => {
    const { colloquy, session: dev } = await session({ ...small, model })
    await talk(colloquy, dev.id, 60)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(await colloquy.sessions.getCheckpoint(dev.id)).toBeUndefined()
    expect(request.totalTokens).toBeLessThanOrEqual(request.budget)
    expect(request.omitted).toBeGreaterThan(0)
    const events = await colloquy.conversations.getEvents(dev.conversationId, { from: 120 })
    const types = events.map(one => one.event.type)
    expect(types).toContain('compaction.started')
    expect(types).toContain('compaction.failed')
    expect(await colloquy.sessions.getAllMessages(dev.id)).toHaveLength(120)
  })

  it('[P9] messages that arrive while a model summarises stay behind the checkpoint', async () => {
    let colloquy: Colloquy | undefined
    let id = ''
    const model = scriptedModel(async () => {
      await colloquy!.sessions.addMessage(id, { role: 'user', content: 'I came in the meantime' })
      return '{"add":[{"section":"facts","text":"there were many questions","sources":[3]}]}'
    })
    const made = await session({ ...small, model })
    colloquy = made.colloquy
    id = made.session.id
    await talk(colloquy, id, 60)
    const request = await colloquy.sessions.buildRequest(id, 'Next?')
    expect(request.systemPrompt).toContain('I came in the meantime')
  })

  it('of two compactions that start at once one makes a checkpoint', async () => {
    const { colloquy, session: dev } = await session(small)
    await talk(colloquy, dev.id, 60)
    await Promise.all([
      colloquy.sessions.buildRequest(dev.id, 'A?'),
      colloquy.sessions.buildRequest(dev.id, 'B?'),
      colloquy.sessions.forceCompact(dev.id),
    ])
    const history = await colloquy.sessions.getCheckpointHistory(dev.id)
    expect(new Set(history.map(checkpoint => checkpoint.number)).size).toBe(history.length)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('[P9] two programs that compact one session while a third appends make one checkpoint per base and lose nothing', async () => {
    const first = await freshColloquy({ tokens: 'fast', clock: Date.now, ...small })
    const dev = await first.colloquy.sessions.getOrCreateSession(feature)
    const others = await Promise.all(
      [1, 2].map(() =>
        openColloquy({ store: first.store, project: 'shop', tokens: 'fast', sweepEveryMs: null, ...small }),
      ),
    )
    const [second, third] = others as [Colloquy, Colloquy]
    for (let race = 0; race < 10; race++) {
      await talk(first.colloquy, dev.id, 20, race * 20 + 1)
      await Promise.all([
        first.colloquy.sessions.buildRequest(dev.id, `A ${race}?`),
        second.sessions.buildRequest(dev.id, `B ${race}?`),
        third.sessions.addMessage(dev.id, { role: 'user', content: `in between ${race}` }),
      ])
    }
    const events = await first.colloquy.conversations.getEvents(dev.conversationId, { limit: 5000 })
    const bases = events.flatMap(({ event }) => (event.type === 'checkpoint.taken' ? [event.checkpoint.base] : []))
    expect(bases.length).toBeGreaterThan(2)
    expect(new Set(bases).size).toBe(bases.length)
    expect(await first.colloquy.conversations.stats(dev.conversationId)).toMatchObject({ messages: 410 })
    expect(await first.colloquy.verify()).toMatchObject({ clean: true })
    await Promise.all(others.map(one => one.close()))
  }, 60_000)

  it('[P11] a compaction that outlived its lease records nothing over its successor', async () => {
    let now = Date.parse('2026-11-15T10:00:00Z')
    const { store, colloquy: other } = await freshColloquy({ tokens: 'fast', clock: () => now++, ...small })
    const dev = await other.sessions.getOrCreateSession(feature)
    await talk(other, dev.id, 60)
    const model = scriptedModel(async () => {
      now += 10 * 60_000
      expect(await other.sessions.forceCompact(dev.id)).toMatchObject({ outcome: 'taken' })
      return '{"add":[{"section":"facts","text":"written too late","sources":[3]}]}'
    }, 'test:slow')
    const slow = await openColloquy({
      store,
      project: 'shop',
      tokens: 'fast',
      sweepEveryMs: null,
      clock: () => now++,
      model,
      ...small,
    })
    await slow.sessions.buildRequest(dev.id, 'Next?')
    const history = await other.sessions.getCheckpointHistory(dev.id)
    expect(history.map(checkpoint => checkpoint.author)).not.toContain('test:slow')
    expect(await other.verify()).toMatchObject({ clean: true })
    await slow.close()
  })

  it('compaction reports to subscribers under the documented names', async () => {
    const { colloquy, session: dev } = await session(small)
    await talk(colloquy, dev.id, 60)
    const updates = colloquy.subscribe({ sessionId: dev.id })
    await colloquy.sessions.buildRequest(dev.id, 'Next?')
    const names: string[] = []
    for await (const update of updates) {
      names.push(update.name)
      if (update.name === 'session:compaction-complete') {
        expect(update.compaction.tokensAfter).toBeLessThan(update.compaction.tokensBefore)
        break
      }
    }
    expect(names).toEqual(['session:compaction-start', 'session:compaction-complete'])
  })

  it('compaction reports totals, savings, and how far the next one is', async () => {
    const { colloquy, session: dev } = await session(small)
    const before = await colloquy.sessions.getMetrics(dev.id)
    await talk(colloquy, dev.id, 60)
    await colloquy.sessions.buildRequest(dev.id, 'Next?')
    const after = await colloquy.sessions.getMetrics(dev.id)
    expect(before).toMatchObject({ messages: 0, compactions: 0, tokensSaved: 0, budget: 4000 })
    expect(after).toMatchObject({ messages: 120, compactions: 1, latched: false })
    expect(after.tokensSaved).toBeGreaterThan(0)
    expect(after.lastRequest?.tokens).toBeGreaterThan(0)
    expect(after.untilTrigger).toBeGreaterThan(0)
  })

  it('compaction starts afresh after a reset', async () => {
    const { colloquy, session: dev } = await session(small)
    await talk(colloquy, dev.id, 60)
    await colloquy.sessions.buildRequest(dev.id, 'Next?')
    await colloquy.sessions.resetSession(dev.id)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Hello again')
    expect(request.checkpoint).toBeUndefined()
    expect(request.systemPrompt).not.toContain('Question')
  })
})
