import { type Colloquy, isOfType, type LiveUpdate, type Model, openColloquy, type RequestMessage, tool } from 'colloquy'
import { AlreadyAnswered, IllegalState, ModelMissing } from 'colloquy/errors'
import { type Scripted, scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { freshColloquy } from '../../support/colloquy.ts'
import { problemsOf } from '../../support/requests.ts'

const lookUp = (name: string, callId?: string): Scripted => ({
  text: `Looking at ${name}.`,
  calls: [{ name: 'look_up', input: { name }, ...(callId !== undefined && { callId }) }],
  usage: { input: 100, output: 10 },
})

const book = tool({
  name: 'look_up',
  description: 'Looks a word up.',
  input: z.strictObject({ name: z.string() }),
  run: async ({ name }) => `${name} is in the book.`,
})

async function withSession(options: Parameters<typeof freshColloquy>[0] = {}) {
  const place = await freshColloquy(options)
  const { id } = await place.colloquy.sessions.getOrCreateSession({
    type: 'feature',
    agentType: 'pm',
    featureId: 'login',
  })
  return { ...place, place, colloquy: place.colloquy, id }
}

async function runsIn(colloquy: Colloquy, sessionId: string) {
  const { conversationId } = await colloquy.sessions.getSession(sessionId)
  const events = await colloquy.conversations.getEvents(conversationId)
  return {
    events,
    started: events.filter(one => isOfType(one, 'run.started')).map(one => one.event),
    ended: events.filter(one => isOfType(one, 'run.ended')).map(one => one.event),
  }
}

describe('a run', () => {
  it('a run stores the message first, answers it, and records how it went', async () => {
    const { colloquy, id } = await withSession()
    let stored = 0
    const model = scriptedModel(async () => {
      stored = (await colloquy.sessions.getAllMessages(id)).length
      const usage = { input: 900, output: 30, cost: 0.01, total: 930 }
      return { reasoning: 'Small.', text: 'Three tasks.', usage }
    })
    const result = await colloquy.agents.run(id, { message: 'Plan the login page', model })
    expect(stored).toBe(1)
    expect(result).toMatchObject({ outcome: 'done', text: 'Three tasks.', steps: 1, toolCalls: 0 })
    const [asked, answer] = await colloquy.sessions.getAllMessages(id)
    expect(answer).toMatchObject({
      role: 'assistant',
      author: 'pm',
      replyTo: asked!.id,
      usage: { input: 900, output: 30, cost: 0.01 },
      metadata: { model: 'scripted', run: result.runId },
      parts: [
        { type: 'reasoning', text: 'Small.' },
        { type: 'text', text: 'Three tasks.' },
      ],
    })
    const { started, ended } = await runsIn(colloquy, id)
    expect(started).toMatchObject([{ runId: result.runId, agent: 'pm', model: 'scripted', trigger: asked!.version }])
    expect(ended).toMatchObject([
      { outcome: 'done', steps: 1, toolCalls: 0, usage: { input: 900, output: 30, cost: 0.01 }, answer: answer!.id },
    ])
  })

  it('[P7] a run executes tools at the same time, keeps calls and results together, and goes on until there are none', async () => {
    const { colloquy, id } = await withSession()
    const requests: RequestMessage[][] = []
    const model = scriptedModel(({ messages, tools }) => {
      requests.push([...messages])
      expect(tools?.some(one => one.name === 'look_up')).toBe(true)
      if (requests.length === 1)
        return {
          text: 'Looking.',
          calls: [
            { name: 'look_up', input: { name: 'a' } },
            { name: 'look_up', input: { name: 'b' } },
          ],
        }
      if (requests.length === 2) return { calls: [{ name: 'look_up', input: { name: 'c' } }] }
      return 'All three are in the book.'
    })
    const result = await colloquy.agents.run(id, { message: 'Are a, b and c there?', model, tools: [book] })
    expect(result).toMatchObject({ outcome: 'done', text: 'All three are in the book.', steps: 3, toolCalls: 3 })
    expect(requests.flatMap(problemsOf)).toEqual([])
    const last = requests[2]!
    expect(last[0]).toMatchObject({ role: 'user', content: [{ type: 'text', text: 'Are a, b and c there?' }] })
    expect(JSON.stringify(last)).toContain('b is in the book.')
    const visible = await colloquy.sessions.getUserFacingMessages(id)
    expect(visible.map(one => one.content)).toEqual(['Are a, b and c there?', 'Looking.', 'All three are in the book.'])
  })

  it('[P8] each request of a run begins with the one before', async () => {
    const { colloquy, id } = await withSession()
    const requests: string[] = []
    const model = scriptedModel(({ system, messages }) => {
      requests.push(JSON.stringify([system, ...messages.slice(0, -1)]).slice(0, -1))
      return requests.length < 4 ? lookUp(String(requests.length)) : 'Done.'
    })
    await colloquy.agents.run(id, { message: 'Go', model, tools: [book] })
    for (const [index, request] of requests.entries()) {
      if (index > 0) expect(request.startsWith(requests[index - 1]!)).toBe(true)
    }
  })

  it('a run answers broken arguments and unknown tools with an error, and the model may try again', async () => {
    const { colloquy, id } = await withSession()
    const model = scriptedModel([
      {
        calls: [
          { name: 'look_up', input: { nam: 1 } },
          { name: 'fly' },
          { name: 'look_up', input: {}, problem: 'half a JSON' },
        ],
      },
      'I see.',
    ])
    await colloquy.agents.run(id, { message: 'Go', model, tools: [book] })
    const results = (await colloquy.sessions.getAllMessages(id)).flatMap(({ parts }) =>
      parts.filter(part => part.type === 'tool-result'),
    )
    expect(results.map(part => part.isError)).toEqual([true, true, true])
    const texts = results.map(part => part.output).join('\n')
    expect(texts).toContain('The arguments are invalid: name')
    expect(texts).toContain('There is no tool "fly"')
    expect(texts).toContain('half a JSON')
  })

  it('a run adds messages that came meanwhile at the next step, and answers them once', async () => {
    const { colloquy, id } = await withSession()
    const requests: string[] = []
    const model = scriptedModel(async ({ messages }) => {
      requests.push(JSON.stringify(messages))
      if (requests.length === 1) {
        await colloquy.sessions.addMessage(id, { role: 'user', content: 'Also the sign-up page, please' })
        return lookUp('login')
      }
      return `Answer ${requests.length}`
    })
    const result = await colloquy.agents.run(id, { message: 'Plan the login page', model, tools: [book] })
    expect(result).toMatchObject({ outcome: 'done', steps: 2, text: 'Answer 2' })
    expect(requests[0]).not.toContain('sign-up')
    expect(requests[1]!.split('Also the sign-up page, please')).toHaveLength(2)
  })

  it('a run goes on when a message came while the last text was streamed', async () => {
    const { colloquy, id } = await withSession()
    let asked = 0
    const model = scriptedModel(async () => {
      asked++
      if (asked === 1) await colloquy.sessions.addMessage(id, { role: 'user', content: 'And in blue' })
      return `Answer ${asked}`
    })
    const result = await colloquy.agents.run(id, { message: 'Paint it', model })
    expect(result).toMatchObject({ outcome: 'done', steps: 2, text: 'Answer 2' })
    expect(asked).toBe(2)
  })

  it('[P11] a second run on the same message is refused', async () => {
    const { colloquy, id } = await withSession()
    const { id: messageId } = await colloquy.sessions.addMessage(id, { role: 'user', content: 'Hello' })
    const model = scriptedModel('Hello to you.')
    await colloquy.agents.run(id, { trigger: { messageId }, model })
    await expect(colloquy.agents.run(id, { trigger: { messageId }, model })).rejects.toThrow(AlreadyAnswered)
    await expect(colloquy.agents.run(id, { model })).rejects.toThrow(IllegalState)
  })

  it('two messages at the same time are answered by a run each, once', async () => {
    const { colloquy, id } = await withSession()
    const answered: string[] = []
    const model = scriptedModel(({ messages }) => {
      answered.push(JSON.stringify(messages))
      return `Answer ${answered.length}`
    })
    const results = await Promise.all(
      ['One', 'Two', 'Three'].map(message => colloquy.agents.run(id, { message, model })),
    )
    expect(results.map(one => one.outcome)).toEqual(['done', 'done', 'done'])
    const messages = await colloquy.sessions.getAllMessages(id)
    const answers = messages.filter(one => one.role === 'assistant')
    expect(answers.length).toBe(answered.length)
    expect(answers.length).toBeLessThanOrEqual(3)
    for (const word of ['One', 'Two', 'Three']) expect(answered.join()).toContain(`"${word}"`)
  })

  it('a run that is stopped keeps the text so far, and marks it', async () => {
    const { colloquy, id } = await withSession()
    const stop = new AbortController()
    const model = scriptedModel({ text: 'one two three four five six' })
    const result = await colloquy.agents.run(id, {
      message: 'Count',
      model,
      signal: stop.signal,
      onPart: part => {
        if (part.type === 'text-delta' && part.text.includes('three')) stop.abort()
      },
    })
    expect(result).toMatchObject({ outcome: 'cancelled', text: 'one two three' })
    const last = (await colloquy.sessions.getAllMessages(id)).at(-1)
    expect(last).toMatchObject({ content: 'one two three', metadata: { cutOff: 'cancelled' } })
    expect((await runsIn(colloquy, id)).ended).toMatchObject([{ outcome: 'cancelled' }])
    const again = await colloquy.agents.run(id, { message: 'Go on', model: scriptedModel('four five six') })
    expect(again.outcome).toBe('done')
  })

  it('a run records a failure of the model, keeps its partial answer, and may be retried', async () => {
    const { colloquy, id } = await withSession()
    const model = scriptedModel([{ text: 'I was', failure: { kind: 'network' } }, 'I was here.'])
    const first = await colloquy.agents.run(id, { message: 'Where?', model })
    expect(first).toMatchObject({ outcome: 'failed', text: 'I was', failure: { kind: 'network' } })
    const second = await colloquy.agents.run(id, { model })
    expect(second).toMatchObject({ outcome: 'done', text: 'I was here.' })
    const { started, ended } = await runsIn(colloquy, id)
    expect(ended.map(one => one.outcome)).toEqual(['failed', 'done'])
    expect(started[1]!.resumes).toBe(started[0]!.runId)
  })

  it('a run is superseded by a run that takes its place', async () => {
    const { colloquy, id } = await withSession()
    let isAsked = () => {}
    const asked = new Promise<void>(resolve => {
      isAsked = resolve
    })
    const slow = scriptedModel(() => {
      isAsked()
      return new Promise<string>(() => {})
    })
    const first = colloquy.agents.run(id, { message: 'One', model: slow })
    await asked
    const second = await colloquy.agents.run(id, { message: 'Two', model: scriptedModel('Both.'), supersedes: true })
    expect((await first).outcome).toBe('superseded')
    expect(second).toMatchObject({ outcome: 'done', text: 'Both.' })
  })

  it('a run says that no model is configured, and how to configure one', async () => {
    const { colloquy, id } = await withSession()
    await expect(colloquy.agents.run(id, { message: 'Hello' })).rejects.toThrow(ModelMissing)
    expect(await colloquy.sessions.getAllMessages(id)).toEqual([])
  })

  it('a run stops after the configured number of steps', async () => {
    const { colloquy, id } = await withSession()
    const result = await colloquy.agents.run(id, {
      message: 'Go',
      model: scriptedModel(lookUp('x')),
      tools: [book],
      maxSteps: 3,
    })
    expect(result).toMatchObject({ outcome: 'failed', steps: 3, reason: 'it took more than 3 steps' })
  })

  it('a run compacts once and asks once more when the request was too long, then packs without a model', async () => {
    const { colloquy, id } = await withSession()
    for (let i = 0; i < 40; i++) {
      await colloquy.sessions.addMessage(id, {
        role: 'user',
        content: `We decided that page ${i} uses the colour ${i}. ${'word '.repeat(60)}`,
      })
      await colloquy.sessions.addMessage(id, {
        role: 'assistant',
        content: `Noted for page ${i}. ${'word '.repeat(60)}`,
      })
    }
    const sizes: number[] = []
    const model = scriptedModel(({ system, messages }) => {
      sizes.push(JSON.stringify([system, messages]).length)
      return sizes.length < 3 ? { failure: { kind: 'context-too-long' } } : 'It fits now.'
    })
    const result = await colloquy.agents.run(id, { message: 'Which colour has page 3?', model })
    expect(result).toMatchObject({ outcome: 'done', text: 'It fits now.', steps: 1 })
    expect(sizes).toHaveLength(3)
    expect(sizes[1]).toBeLessThan(sizes[0]!)
    const { events } = await runsIn(colloquy, id)
    expect(events.filter(one => one.event.type === 'checkpoint.taken')).toHaveLength(1)
  })
})

describe('a model that keeps a session of its own', () => {
  it('a model that keeps a session of its own gets its id back on the next run', async () => {
    const { colloquy, id } = await withSession()
    const handed: unknown[] = []
    const model: Model = {
      name: 'outside',
      takesTools: false,
      async *stream({ outsideIds }) {
        handed.push(outsideIds)
        yield { type: 'start', model: 'outside' }
        yield { type: 'text-start', id: 't' }
        yield { type: 'text-delta', id: 't', text: 'Hello.' }
        yield { type: 'text-end', id: 't' }
        yield { type: 'finish', stopReason: 'stop', outsideIds: { claude: 'session-7' } }
      },
    }
    await colloquy.agents.run(id, { message: 'Hello', model })
    expect((await colloquy.sessions.getSession(id)).outsideIds).toEqual({ claude: 'session-7' })
    await colloquy.agents.run(id, { message: 'Again', model })
    expect(handed).toEqual([undefined, { claude: 'session-7' }])
  })
})

describe('what is live', () => {
  it('live parts come as they are streamed, and add no rows: 10,000 words are one message', async () => {
    const { colloquy, id } = await withSession()
    const text = Array.from({ length: 10_000 }, (_, at) => `w${at}`).join(' ')
    const live = colloquy.agents.live({ sessionId: id })
    const seen: LiveUpdate[] = []
    const reading = (async () => {
      for await (const update of live) {
        seen.push(update)
        if (update.part.type === 'run-end') return
      }
    })()
    await colloquy.agents.run(id, { message: 'Talk', model: scriptedModel({ text }) })
    await reading
    const said = seen.map(({ part }) => (part.type === 'text-delta' ? part.text : '')).join('')
    expect(said).toBe(text)
    expect(seen.length).toBeGreaterThan(3)
    const { events } = await runsIn(colloquy, id)
    expect(events.length).toBeLessThan(10)
  })
})

describe('a run that died', () => {
  it('a run that died is found by the sweep when its lease has expired', async () => {
    const { colloquy, id, pass, place } = await withSession()
    let isAsked = () => {}
    const asked = new Promise<void>(resolve => {
      isAsked = resolve
    })
    const model = scriptedModel(() => {
      isAsked()
      return new Promise<string>(() => {})
    })
    const first = colloquy.agents.run(id, { message: 'Hello', model })
    await asked
    pass(10 * 60_000)
    const other = await openColloquy({ store: place.store, project: 'shop', sweepEveryMs: null, clock: place.now })
    onTestFinished(() => other.close())
    expect((await other.maintain()).crashedRuns).toBe(1)
    expect((await runsIn(colloquy, id)).ended).toMatchObject([{ outcome: 'crashed' }])
    await colloquy.agents.cancel(id)
    expect((await first).outcome).not.toBe('done')
  })
})

describe('delegation', () => {
  it('a delegation runs the other agent in a conversation of its own and returns its result', async () => {
    const { colloquy, id } = await withSession()
    const model = scriptedModel(({ system, messages }) => {
      if (system.includes('reviewer and tester'))
        return { calls: [{ name: 'complete', input: { summary: 'It works.' } }] }
      return JSON.stringify(messages).includes('It works.')
        ? 'QA says it works.'
        : { calls: [{ name: 'delegate', input: { to: 'qa', task: 'Check the login page' } }] }
    })
    const result = await colloquy.agents.run(id, { message: 'Is it done?', model })
    expect(result).toMatchObject({ outcome: 'done', text: 'QA says it works.' })
    const { conversationId } = await colloquy.sessions.getSession(id)
    expect(await colloquy.conversations.getDelegations(conversationId)).toMatchObject([
      { to: 'qa', status: 'completed', result: 'It works.' },
    ])
  })
})
