/** When a session is compacted, what stays, what is told, and what leads back to the messages. */
import type { Colloquy, OpenOptions, Session, Update } from 'colloquy'
import { NotFound } from 'colloquy/errors'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'
import { repositoryWith } from '../../support/repository.ts'

const feature = { type: 'feature', agentType: 'dev', featureId: 'login' } as const

async function session(options: OpenOptions = {}): Promise<{ colloquy: Colloquy; dev: Session }> {
  const { colloquy } = await freshColloquy(options)
  return { colloquy, dev: await colloquy.sessions.getOrCreateSession(feature) }
}

async function talk({ sessions }: Colloquy, id: string, turns: number, words = 6): Promise<void> {
  for (let turn = 1; turn <= turns; turn++) {
    const about = `about part${turn} of src/module-${turn}.ts `.repeat(words)
    await sessions.addMessage(id, { role: 'user', content: `Question ${turn} ${about}` })
    await sessions.addMessage(id, { role: 'assistant', content: `We decided to use tool${turn}. ${about}` })
  }
}

async function updatesUntil(updates: AsyncIterable<Update>, last: Update['name']): Promise<Update[]> {
  const seen: Update[] = []
  for await (const update of updates) {
    seen.push(update)
    if (update.name === last) break
  }
  return seen
}

describe('compaction', () => {
  it('compaction runs after every N messages where that is configured, however small they are', async () => {
    const { colloquy, dev } = await session({ requests: { everyMessages: 30 } })
    await talk(colloquy, dev.id, 10)
    await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(await colloquy.sessions.getCheckpoint(dev.id)).toBeUndefined()
    await talk(colloquy, dev.id, 10)
    const updates = colloquy.subscribe({ sessionId: dev.id })
    await colloquy.sessions.buildRequest(dev.id, 'Next?')
    const [started] = await updatesUntil(updates, 'session:compaction-start')
    expect(started).toMatchObject({ compaction: { reason: 'every-n' } })
  })

  it('compaction runs in the background from 75 % on with a model, and the request does not wait for it', async () => {
    let answer: (text: string) => void = () => undefined
    const model = scriptedModel(() => new Promise<string>(resolve => (answer = resolve)), 'test:model')
    const { colloquy, dev } = await session({ model, requests: { budget: 4000, recall: false } })
    while ((await colloquy.sessions.getMetrics(dev.id)).used < 3200) await talk(colloquy, dev.id, 1)
    const updates = colloquy.subscribe({ sessionId: dev.id })
    const request = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(request.checkpoint).toBeUndefined()
    const [, started] = await updatesUntil(updates, 'session:compaction-start')
    expect(started).toMatchObject({ compaction: { reason: 'background', author: 'test:model' } })
    answer('{"add":[{"section":"facts","text":"there were questions","sources":[3]}]}')
    await updatesUntil(
      colloquy.subscribe({ sessionId: dev.id, from: started!.position }),
      'session:compaction-complete',
    )
    expect(await colloquy.sessions.getCheckpoint(dev.id)).toMatchObject({ author: 'test:model' })
  })

  it('compaction asks a model with a small window in pieces', async () => {
    let calls = 0
    const model = scriptedModel(() => {
      calls++
      return `{"add":[{"section":"facts","text":"piece ${calls}","sources":[3]}]}`
    }, 'test:tiny')
    const models = { 'test:tiny': { contextWindow: 2000, outputLimit: 500 } }
    const { colloquy, dev } = await session({ model, requests: { budget: 8000, recall: false, models } })
    await talk(colloquy, dev.id, 60)
    await colloquy.sessions.buildRequest(dev.id, 'Next?')
    expect(calls).toBeGreaterThan(2)
    expect((await colloquy.sessions.getCheckpoint(dev.id))!.items).toHaveLength(calls)
  })

  it('compaction reports start, completion with all its metrics, and failure with what it cost', async () => {
    const answers = ['{"add":[{"section":"facts","text":"a fact","sources":[3]}]}', 'Sorry.']
    let now = Date.parse('2026-11-16T10:00:00Z')
    const model = scriptedModel(() => {
      now += 1500
      const text = answers.shift() ?? ''
      const usage = { input: 100, output: 10, cost: 0.25 }
      return [
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', text },
        { type: 'text-end', id: '0' },
        { type: 'finish', stopReason: 'stop', usage },
      ]
    }, 'test:model')
    const { colloquy, dev } = await session({ model, clock: () => now++, requests: { budget: 4000 } })
    await talk(colloquy, dev.id, 30)
    const updates = colloquy.subscribe({ sessionId: dev.id })
    await colloquy.sessions.forceCompact(dev.id)
    const [started, completed] = await updatesUntil(updates, 'session:compaction-complete')
    const checkpoint = (await colloquy.sessions.getCheckpoint(dev.id))!
    expect(started).toMatchObject({
      name: 'session:compaction-start',
      compaction: { reason: 'forced', base: 0, messages: checkpoint.messages, author: 'test:model' },
    })
    const { tokensBefore } = (started as Extract<Update, { action: 'started' }>).compaction
    expect(completed).toMatchObject({
      compaction: {
        messages: checkpoint.messages,
        tokensBefore,
        tokensAfter: checkpoint.tokens.checkpoint,
        checkpoint: { number: 1 },
        cost: 0.25,
      },
      reclaimed: tokensBefore - checkpoint.tokens.checkpoint,
    })
    expect((completed as Extract<Update, { action: 'completed' }>).compaction.durationMs).toBeGreaterThanOrEqual(1500)
    await talk(colloquy, dev.id, 30)
    const later = colloquy.subscribe({ sessionId: dev.id })
    await colloquy.sessions.forceCompact(dev.id)
    const failed = (await updatesUntil(later, 'session:compaction-error')).at(-1)
    expect(failed).toMatchObject({
      compaction: { reason: expect.stringContaining('could not be read'), cost: 0.25, durationMs: expect.any(Number) },
    })
  })

  it('a forced compaction keeps as many messages as the caller says', async () => {
    const { colloquy, dev } = await session({ requests: { budget: 20_000 } })
    await talk(colloquy, dev.id, 40)
    await colloquy.sessions.forceCompact(dev.id, { keep: { messages: 10 } })
    const { upTo } = (await colloquy.sessions.getCheckpoint(dev.id))!
    const all = await colloquy.sessions.getAllMessages(dev.id)
    expect(all.filter(message => message.version > upTo)).toHaveLength(10)
    const wrong = colloquy.sessions.forceCompact(dev.id, { keep: { messages: -1 } })
    await expect(wrong).rejects.toMatchObject({ code: 'input/invalid' })
  })

  it('compaction lifts a constraint only when a person does', async () => {
    const { colloquy, dev } = await session({ requests: { budget: 20_000 } })
    const { sessions } = colloquy
    const constraint = async () =>
      (await sessions.getCheckpoint(dev.id))!.items.find(
        ({ section, text }) => section === 'constraints' && text.startsWith('Never deploy on Friday'),
      )
    await sessions.addMessage(dev.id, { role: 'user', content: 'Never deploy on Friday afternoon.' })
    await talk(colloquy, dev.id, 20)
    await sessions.forceCompact(dev.id)
    await sessions.addMessage(dev.id, {
      role: 'assistant',
      content: 'We may now deploy on Friday afternoon, never mind.',
    })
    await talk(colloquy, dev.id, 20)
    await sessions.forceCompact(dev.id)
    expect(await constraint()).toMatchObject({ section: 'constraints' })
    expect(await constraint()).not.toHaveProperty('resolved')
    const lifting = await sessions.addMessage(dev.id, {
      role: 'user',
      content: 'You may now deploy on Friday afternoon; never mind what I said.',
    })
    await talk(colloquy, dev.id, 20)
    await sessions.forceCompact(dev.id)
    expect(await constraint()).toMatchObject({ resolved: { in: 3, sources: [lifting.version] } })
  })
})

describe('what leads back', () => {
  it('expanding finds an item that only an older checkpoint has', async () => {
    let at = 0
    const model = scriptedModel(() => {
      at++
      // So many facts that the cap trims the first ones.
      const add = Array.from({ length: 12 }, (_, index) => ({
        section: 'facts',
        text: `fact ${at}.${index} ${'and what belongs to it '.repeat(6)}`,
        sources: [at * 100 - 90],
      }))
      return JSON.stringify({ add })
    }, 'test:model')
    const { colloquy, dev } = await session({ model, requests: { budget: 4000 } })
    for (let round = 0; round < 3; round++) {
      await talk(colloquy, dev.id, 50)
      await colloquy.sessions.forceCompact(dev.id)
    }
    const history = await colloquy.sessions.getCheckpointHistory(dev.id)
    const gone = history.at(-1)!.items.find(({ id }) => !history[0]!.items.some(item => item.id === id))!
    expect(await colloquy.sessions.getCheckpointItem(dev.id, gone.id)).toMatchObject({ item: { id: gone.id } })
    expect((await colloquy.sessions.expand(dev.id, gone.id)).map(({ version }) => version)).toEqual(gone.sources)
    const unknown = colloquy.sessions.expand(dev.id, 'nobody')
    await expect(unknown).rejects.toThrow(NotFound)
    await expect(unknown).rejects.toMatchObject({ facts: { what: 'item', id: 'nobody' } })
    const diff = colloquy.sessions.diffCheckpoints(dev.id, 1, 99)
    await expect(diff).rejects.toMatchObject({ facts: { what: 'checkpoint', id: '99' } })
  })

  it('recall quotes the messages next to a hit, and never what is kept', async () => {
    const { colloquy, dev } = await session({ requests: { budget: 5000, strategy: { name: 'sliding_window' } } })
    const { sessions } = colloquy
    await sessions.addMessage(dev.id, { role: 'user', content: 'Which code opens the xylophone?' })
    await sessions.addMessage(dev.id, { role: 'assistant', content: 'It is 4711.' })
    await talk(colloquy, dev.id, 60)
    const request = await sessions.buildRequest(dev.id, 'How was that with the xylophone?')
    const quoted = request.ledger.entries.filter(
      ({ what, fate, versions }) => what === 'recall' && fate === 'kept' && versions,
    )
    expect(quoted.map(({ why }) => why)).toContain('beside 3')
    expect(request.systemPrompt).toContain('It is 4711.')
    const kept = new Set(
      request.ledger.entries.flatMap(entry => (entry.what === 'message' ? (entry.versions ?? []) : [])),
    )
    expect(quoted.flatMap(({ versions }) => versions!).filter(version => kept.has(version))).toEqual([])
  })
})

describe('sliding_window', () => {
  it('sliding_window keeps the first system message, then the notice, then the newest', async () => {
    const { colloquy, dev } = await session({
      requests: { budget: 3000, recall: false, strategy: { name: 'sliding_window' } },
    })
    await colloquy.sessions.addMessage(dev.id, { role: 'system', content: 'You answer in rhymes.' })
    await talk(colloquy, dev.id, 60)
    const { systemPrompt, omitted } = await colloquy.sessions.buildRequest(dev.id, 'Next?')
    const places = ['You answer in rhymes.', `${omitted} older messages are left out`, 'tool60'].map(text =>
      systemPrompt.indexOf(text),
    )
    expect(Math.min(...places)).toBeGreaterThan(0)
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(
      omitted +
        (await colloquy.sessions.previewRequest(dev.id, 'Next?')).ledger.entries.filter(
          ({ what }) => what === 'message',
        ).length,
    ).toBe(122)
  })
})

describe('context', () => {
  it('context is gathered again by the limits it was gathered by', async () => {
    const root = repositoryWith({ 'a/b/c/d.txt': '', 'CLAUDE.md': 'Use tabs.' })
    const { colloquy, dev } = await session()
    const limits = { structure: { depth: 1 } }
    const context = await colloquy.sessions.updateContext(dev.id, { root, limits })
    await colloquy.sessions.buildRequest(dev.id, 'Hello')
    expect(await colloquy.sessions.getContext(dev.id)).toEqual(context)
    const events = await colloquy.conversations.getEvents(dev.conversationId)
    expect(events.filter(({ event }) => event.type === 'context.gathered')).toHaveLength(1)
  })
})
