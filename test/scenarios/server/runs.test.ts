/** Runs, questions and what agents say while they say it, over HTTP. */
import type { Model } from 'colloquy'
import { type Client, connect, type LiveEvent, type LiveWords } from 'colloquy/client'
import { openModel } from 'colloquy/models'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { heldModel } from '../../support/held-model.ts'
import { type FreshServer, freshServer } from '../../support/server.ts'

const feature = { type: 'feature', agentType: 'pm', featureId: 'login' } as const

async function withSession(model: Model): Promise<FreshServer & { sessionId: string; conversationId: string }> {
  const place = await freshServer({ open: { agents: { model } } })
  const { id: sessionId, conversationId } = await place.client.sessions.getOrCreate({ body: feature })
  return Object.assign(place, { sessionId, conversationId })
}

/** Reads until an event of this type has come; gives what was said on the way. */
async function until(live: AsyncGenerator<LiveEvent | LiveWords>, type: string) {
  const events: LiveEvent[] = []
  const words: LiveWords[] = []
  for await (const one of live) {
    if ('position' in one) events.push(one)
    else words.push(one)
    if ('position' in one && one.type === type) break
  }
  return { events, words }
}

const textOf = (words: LiveWords[]) =>
  words.flatMap(({ part }) => (part.type === 'text-delta' ? [part.text] : [])).join('')

async function runOf(client: Client, sessionId: string) {
  const { run } = await client.sessions.get({ sessionId })
  return run
}

describe('a run over HTTP', () => {
  it('a run over HTTP answers with its outcome when the caller waits, and its messages carry the caller', async () => {
    const { client, sessionId, conversationId } = await withSession(scriptedModel({ text: 'Three tasks.' }))
    const run = await client.runs.start({ sessionId, query: { wait: true }, body: { message: 'Plan it' } })
    expect(run).toMatchObject({ state: 'ended', outcome: 'done', text: 'Three tasks.', agent: 'pm', steps: 1 })
    const { items } = await client.sessions.messages({ sessionId })
    expect(items.map(({ content }) => content)).toEqual(['Plan it', 'Three tasks.'])
    expect(items[1]).toMatchObject({ id: run.answerId, replyTo: run.messageId })
    const { items: events } = await client.conversations.events({ conversationId })
    const said = events.filter(({ event }) => event.type === 'message.added')
    expect(said.map(({ actor, channel }) => [actor, channel])).toEqual([
      ['owner', 'http'],
      ['pm', 'http'],
    ])
    expect(said[0]!.requestId).toBe(said[1]!.requestId)
  })

  it('a run over HTTP is running when 202 comes, goes on without its client, is listed, and streams its words', async () => {
    const model = heldModel('Three ', 'tasks.')
    const { client, sessionId, conversationId, send } = await withSession(model)
    const live = client.live({ from: 'start', deltas: true, session: sessionId })
    const told = until(live, 'run.ended')
    const started = await send(`/api/v1/projects/shop/sessions/${sessionId}/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ message: 'Plan it' }),
    })
    expect(started.status).toBe(202)
    expect(started.json()).toMatchObject({ state: 'running', agent: 'pm', model: 'held', sessionId, conversationId })
    await model.begun
    expect((await client.runs.list()).items).toMatchObject([
      { runId: started.json().runId, sessionId, conversationId, agent: 'pm', isHere: true, isDead: false },
    ])
    // A client that connects in the middle first gets the text so far.
    const late = client.live({ deltas: true, conversation: conversationId })
    const first: string[] = []
    for await (const one of late) {
      if (one.name !== 'run:live') continue
      const { part } = one as LiveWords
      first.push(part.type === 'text-delta' ? String(part.text) : part.type)
      if (part.type === 'text-delta') break
    }
    expect(first).toEqual(['start', 'text-start', 'Three '])
    model.goOn()
    const { events, words } = await told
    expect(textOf(words)).toBe('Three tasks.')
    expect(words.every(one => one.runId === started.json().runId && one.agent === 'pm')).toBe(true)
    // The words are nowhere in the log: the answer is, once.
    expect(events.filter(({ type }) => type === 'message.added')).toHaveLength(2)
    expect((await client.runs.list()).items).toEqual([])
    expect(await runOf(client, sessionId)).toMatchObject({ id: started.json().runId, outcome: 'done' })
  })

  it('a run over HTTP streams without ids: a client that comes back goes on after the last event', async () => {
    const model = heldModel('Three ', 'tasks.')
    const { client, sessionId, running, token } = await withSession(model)
    const leaving = new AbortController()
    const answer = await fetch(`${running.url}/api/v1/events?deltas=true&project=shop`, {
      headers: { authorization: `Bearer ${token}` },
      signal: leaving.signal,
    })
    const reader = answer.body!.getReader()
    await client.runs.start({ sessionId, body: { message: 'Plan it' } })
    let text = ''
    while (!text.includes('Three ')) text += new TextDecoder().decode((await reader.read()).value)
    leaving.abort()
    const blocks = text.split('\n\n')
    const words = blocks.filter(block => block.startsWith('event: run:live'))
    expect(words.length).toBeGreaterThan(2)
    expect(words.some(block => block.includes('\nid:'))).toBe(false)
    const ids = blocks.flatMap(block => /^id: (.+)$/m.exec(block)?.[1] ?? [])
    model.goOn()
    const { events } = await until(client.live({ from: ids.at(-1)!, deltas: true }), 'run.ended')
    const { items } = await client.conversations.events({ conversationId: events[0]!.conversationId })
    const known = items.find(({ position }) => position === ids.at(-1))!
    expect(events[0]!.version).toBe(known.version + 1)
  })

  it('a run over HTTP is stopped, and its text is kept; retry resumes it', async () => {
    const model = heldModel('Three ', 'tasks.')
    const { client, sessionId, colloquy } = await withSession(model)
    await client.runs.start({ sessionId, body: { message: 'Plan it' } })
    await model.begun
    expect(await client.runs.stop({ sessionId })).toEqual({ stopped: true })
    expect(await client.runs.stop({ sessionId })).toEqual({ stopped: false })
    expect(await runOf(client, sessionId)).toMatchObject({ outcome: 'cancelled' })
    const [, partial] = (await client.sessions.messages({ sessionId })).items
    expect(partial).toMatchObject({ content: 'Three ', metadata: { cutOff: 'cancelled' } })
    model.goOn()
    const again = await client.runs.start({ sessionId, query: { wait: true }, body: { retry: true } })
    expect(again).toMatchObject({ outcome: 'done', text: 'Three tasks.' })
    expect((await colloquy.sessions.getAllMessages(sessionId)).filter(one => one.role === 'user')).toHaveLength(1)
    await expect(client.runs.start({ sessionId, body: { retry: true } })).rejects.toMatchObject({ status: 409 })
    await expect(client.runs.start({ sessionId, body: { retry: true, message: 'x' } })).rejects.toMatchObject({
      code: 'input/invalid',
    })
  })

  it('a run over HTTP is of any agent of a conversation, answers a stored message, and answers it once', async () => {
    const { client, conversationId } = await withSession(scriptedModel('Tested.'))
    const { id: messageId } = await client.conversations.say({
      conversationId,
      body: { role: 'user', content: 'Is it tested?' },
    })
    const body = { agent: 'qa', trigger: { messageId } }
    const run = await client.runs.startAgent({ conversationId, query: { wait: true }, body })
    expect(run).toMatchObject({ agent: 'qa', messageId, text: 'Tested.' })
    await expect(client.runs.startAgent({ conversationId, body })).rejects.toMatchObject({
      code: 'team/already-answered',
      status: 409,
    })
  })

  it('a run over HTTP waits while another run has the session; the same call under the same key is answered once', async () => {
    const model = heldModel('Three ', 'tasks.')
    const { client, sessionId } = await withSession(model)
    const key = { idempotencyKey: 'once' }
    const first = await client.runs.start({ sessionId, body: { message: 'Plan it' } }, key)
    await model.begun
    const again = await client.runs.start({ sessionId, body: { message: 'Plan it' } }, key)
    expect(again).toMatchObject({ state: 'waiting', messageId: first.messageId })
    const second = await client.runs.start({ sessionId, body: { message: 'And the rest' } })
    expect(second.state).toBe('waiting')
    model.goOn()
    await until(client.live({ from: 'start', types: ['run.ended'] }), 'run.ended')
    const last = await client.runs.start({ sessionId, query: { wait: true }, body: { message: 'Done?' } })
    expect(last.outcome).toBe('done')
    const { items } = await client.sessions.messages({ sessionId })
    expect(items.flatMap(({ role, content }) => (role === 'user' ? [content] : []))).toEqual([
      'Plan it',
      'And the rest',
      'Done?',
    ])
  })

  it('a run over HTTP uses models that start programs only where they are configured, or for an admin', async () => {
    const { client, sessionId, book, running, conversationId } = await withSession(scriptedModel('x'))
    const { token } = book.add({ name: 'w', scope: 'write', projects: ['shop'] })
    const writer = connect({ url: running.url, token, project: 'shop' })
    for (const model of ['command:sh -c true', 'scripted:/etc/passwd', 'openai-compatible:x@http://127.0.0.1:1/v1']) {
      const refused = { code: 'access/refused', status: 403 }
      await expect(writer.runs.start({ sessionId, body: { message: 'x', model } })).rejects.toMatchObject(refused)
      const body = { agent: 'dev', message: 'x', model }
      await expect(writer.runs.startAgent({ conversationId, body })).rejects.toMatchObject(refused)
      await expect(writer.sessions.configure({ sessionId, body: { model } })).rejects.toMatchObject(refused)
    }
    expect((await client.sessions.messages({ sessionId })).items).toEqual([])
    await writer.sessions.configure({ sessionId, body: { model: 'ollama:qwen3' } })
  })
})

describe('figures', () => {
  it('metrics report what runs and what waits, in the format of Prometheus', async () => {
    const model = heldModel('Three ', 'tasks.')
    const { client, sessionId } = await withSession(model)
    await openModel('command:cat')
    await client.runs.start({ sessionId, body: { message: 'Plan it' } })
    await model.begun
    const text = String(await client.operations.metrics())
    const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
    expect(lines.filter(line => !/^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [\d.e+-]+$/.test(line))).toEqual([])
    const value = (name: string) => Number(lines.find(line => line.startsWith(`${name} `))?.split(' ')[1])
    expect(value('colloquy_runs_running')).toBe(1)
    expect(value('colloquy_writes_waiting')).toBe(0)
    expect(value('colloquy_writes_waiting_most')).toBeGreaterThan(0)
    expect(value('colloquy_model_calls_waiting{model="command:cat"}')).toBe(0)
    expect(value('colloquy_project_sessions{project="shop"}')).toBe(1)
    for (const name of ['subscribers_unread', 'live_waiting_characters', 'resident_bytes', 'append_seconds_count']) {
      expect(value(`colloquy_${name}`)).toBeGreaterThanOrEqual(0)
    }
    model.goOn()
  })
})

describe('questions over HTTP', () => {
  const ask = (name: string, input: Record<string, unknown>) => scriptedModel([{ calls: [{ name, input }] }, 'Right.'])

  async function openQuestion(place: FreshServer & { sessionId: string }) {
    const live = place.client.live({ from: 'start', types: ['question.asked'] })
    await place.client.runs.start({ sessionId: place.sessionId, body: { message: 'Go' } })
    await until(live, 'question.asked')
    const { items } = await place.client.runs.questions()
    return items[0]!
  }

  it('questions over HTTP are listed, answered once, and the run goes on', async () => {
    const place = await withSession(ask('ask', { question: 'Blue or green?', choices: ['blue', 'green'] }))
    const { client, conversationId, sessionId, book, running } = place
    const question = await openQuestion(place)
    expect(question).toMatchObject({ project: 'shop', kind: 'question', text: 'Blue or green?', agent: 'pm' })
    expect((await client.runs.questions({ query: { conversation: conversationId } })).items).toHaveLength(1)
    expect((await client.runs.allQuestions()).items).toEqual([question])
    const stranger = book.add({ name: 's', scope: 'read', projects: ['elsewhere'] }).token
    expect((await connect({ url: running.url, token: stranger }).runs.allQuestions()).items).toEqual([])
    const call = { questionId: question.id, body: { answer: 'blue', conversationId } }
    const ended = until(client.live({ from: 'start', types: ['run.ended'] }), 'run.ended')
    expect(await client.runs.answer(call, { idempotencyKey: 'a' })).toMatchObject({ answer: 'blue' })
    expect(await client.runs.answer(call, { idempotencyKey: 'a' })).toMatchObject({ answer: 'blue' })
    await expect(client.runs.answer(call)).rejects.toMatchObject({ code: 'state/illegal', status: 409 })
    await ended
    expect((await client.sessions.messages({ sessionId, query: { kind: 'user-facing' } })).items.at(-1)?.content).toBe(
      'Right.',
    )
    expect((await client.runs.questions()).items).toEqual([])
  })

  it('questions over HTTP that ask for permission are answered by an admin alone', async () => {
    const place = await withSession(ask('run_command', { command: 'true' }))
    const { client, sessionId, book, running } = place
    await client.sessions.describe({
      sessionId,
      body: { ...(await client.sessions.description({ sessionId })), allowedTools: ['run_command'] },
    })
    const question = await openQuestion(place)
    expect(question.kind).toBe('approval')
    const { token } = book.add({ name: 'w', scope: 'write', projects: ['shop'] })
    const writer = connect({ url: running.url, token, project: 'shop' })
    const call = { questionId: question.id, body: { answer: 'yes' } }
    await expect(writer.runs.answer(call)).rejects.toMatchObject({ status: 403 })
    const ended = until(client.live({ from: 'start', types: ['run.ended'] }), 'run.ended')
    await client.runs.answer({ ...call, body: { answer: 'no' } })
    await ended
    await expect(writer.runs.answer({ ...call, questionId: 'none' })).rejects.toMatchObject({ status: 409 })
  })
})
