/**
 * Flows of dagent, Loom and TENEX through the front door: planning, chat, work without a conversation, and priorities.
 */
import { isOfType } from 'colloquy'
import { type ModelRequest, openModel } from 'colloquy/models'
import { scriptedModel } from 'colloquy/models/scripted'
import { expect, it, vi } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'
import * as anthropic from '../../support/models/anthropic.ts'
import { plays } from '../../support/models/openai.ts'
import { providerServer, type Reply } from '../../support/models/server.ts'

type Marked = { cache_control?: unknown }

const pm = { type: 'feature', agentType: 'pm', featureId: 'login' } as const

function listening(...answers: string[]) {
  const requests: ModelRequest[] = []
  const model = scriptedModel(request => {
    requests.push(request)
    return answers[requests.length - 1] ?? 'Yes.'
  })
  return { model, requests }
}

it('planning stores what a person would have said, never the system prompt; chat goes on in messages', async () => {
  const { colloquy } = await freshColloquy()
  const { id, conversationId } = await colloquy.sessions.getOrCreateSession(pm)
  const { model, requests } = listening('Three tasks: form, session, tests.', 'The form.')
  await colloquy.agents.run(id, { message: 'Plan feature: Login\n\nPeople log in by mail.', model })
  await colloquy.agents.run(id, { message: 'What comes first?', model })

  const messages = await colloquy.conversations.getMessages(conversationId)
  expect(messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'Plan feature: Login\n\nPeople log in by mail.'],
    ['assistant', 'Three tasks: form, session, tests.'],
    ['user', 'What comes first?'],
    ['assistant', 'The form.'],
  ])
  const { system } = requests[0]!
  expect(system).toContain('project manager')
  const log = JSON.stringify(await colloquy.conversations.getEvents(conversationId))
  for (const line of system.split('\n').filter(one => one.length > 60)) expect(log).not.toContain(line)
  expect(requests[1]!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
})

it('a stored message is sent alone where conversations are switched off, and its tools know the request', async () => {
  const { colloquy } = await freshColloquy({ agents: { singleShot: true } })
  const { id } = await colloquy.sessions.getOrCreateSession(pm)
  const requests: ModelRequest[] = []
  const model = scriptedModel(request => {
    requests.push(request)
    if (requests.length === 1) return 'Noted.'
    return requests.length === 2 ? { calls: [{ name: 'recall', input: { text: 'owl' } }] } : 'It is grey.'
  })
  await colloquy.agents.run(id, { message: 'The zebra is blue', model })
  await colloquy.sessions.addMessage(id, { role: 'user', content: 'Nobody answered this about the zebra' })
  const asked = await colloquy.sessions.addMessage(id, { role: 'user', content: 'What colour is the owl?' })
  const result = await colloquy.agents.run(id, { trigger: { messageId: asked.id }, model })

  expect(result).toMatchObject({ outcome: 'done', text: 'It is grey.', toolCalls: 1 })
  const sent = requests.slice(1).map(({ system, messages }) => JSON.stringify([system, messages]))
  expect(sent).toHaveLength(2)
  for (const one of sent) {
    expect(one.split('What colour is the owl?')).toHaveLength(2)
    expect(one).not.toContain('zebra')
  }
})

it('the reasoning of a model is in the log, and goes back to it as long as its turn lasts', async () => {
  const calls = [{ id: 'call_1', name: 'recall', arguments: '{"text":"owl"}' }]
  const server = await providerServer(
    plays({ reasoning: { text: 'I must look.' }, calls, stop: 'tool-calls' }),
    plays({ text: 'Grey.' }),
  )
  const { colloquy } = await freshColloquy({ agents: { model: `openai-compatible:tiny@${server.url}` } })
  const { id } = await colloquy.sessions.getOrCreateSession(pm)
  await colloquy.agents.run(id, { message: 'What colour is the owl?' })
  await colloquy.agents.run(id, { message: 'Sure?' })

  const thoughts = server.asked.map(({ body }) =>
    body.messages.flatMap((one: { reasoning_content?: string }) => one.reasoning_content ?? []),
  )
  expect(thoughts).toEqual([[], ['I must look.'], []])
  const [, answer] = await colloquy.sessions.getAllMessages(id)
  expect(answer?.parts[0]).toEqual({ type: 'reasoning', text: 'I must look.' })
})

it('the stable beginning of a request is marked for the provider’s cache, at every step of a run', async () => {
  const calls = [{ id: 'toolu_1', name: 'recall', arguments: '{"text":"owl"}' }]
  const server = await providerServer(
    anthropic.plays({ calls, stop: 'tool-calls' }),
    anthropic.plays({ text: 'Grey.' }),
    anthropic.plays({ text: 'Sure.' }),
  )
  const model = await openModel('anthropic:claude-test', {
    baseUrl: server.url,
    environment: { ANTHROPIC_API_KEY: 'none' },
  })
  const { colloquy } = await freshColloquy()
  const { id } = await colloquy.sessions.getOrCreateSession(pm)
  await colloquy.agents.run(id, { message: 'What colour is the owl?', model })
  await colloquy.agents.run(id, { message: 'Sure?', model })

  const marks = server.asked.map(({ body }) => ({
    system: body.system.some((one: Marked) => one.cache_control !== undefined),
    messages: body.messages.map(({ content }: { content: Marked[] }) => content.some(one => one.cache_control)),
  }))
  expect(marks).toEqual([
    { system: true, messages: [false] },
    { system: true, messages: [true, true, false] },
    { system: true, messages: [false, false, true, true, false] },
  ])
})

it('a person’s chat goes before background work at a model with one place, and costs what the project says', async () => {
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const answer = plays({ text: 'Done.', usage: { input: 1_000_000, output: 0 } })
  const waits: Reply = async (response, asked) => {
    await held
    return answer(response, asked)
  }
  const server = await providerServer(waits, answer)
  const name = `openai-compatible:tiny@${server.url}`
  const { colloquy } = await freshColloquy({
    agents: { model: name, concurrency: { [name]: 1 }, prices: { tiny: { input: 2, output: 8 } } },
  })
  const built = async (threadId: string) => {
    const session = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId })
    const run = (priority: 'person' | 'background') =>
      colloquy.agents.run(session.id, { message: `For ${threadId}`, priority })
    const isAsking = async () => {
      const events = await colloquy.conversations.getEvents(session.conversationId)
      expect(events.some(event => isOfType(event, 'request.built'))).toBe(true)
    }
    return { run, isAsking }
  }
  const [first, background, person] = await Promise.all(['first', 'background', 'person'].map(built))
  const runs = [first!.run('background')]
  await vi.waitFor(() => expect(server.asked).toHaveLength(1), { timeout: 30_000 })
  runs.push(background!.run('background'))
  await vi.waitFor(background!.isAsking, { timeout: 30_000 })
  runs.push(person!.run('person'))
  await vi.waitFor(person!.isAsking, { timeout: 30_000 })
  await vi.waitFor(() => new Promise(setImmediate))
  release()
  const results = await Promise.all(runs)
  expect(results.map(({ outcome, usage }) => [outcome, usage.cost])).toEqual([
    ['done', 2],
    ['done', 2],
    ['done', 2],
  ])
  const order = server.asked.map(({ body }) => /For (\w+)/.exec(JSON.stringify(body.messages))?.[1])
  expect(order).toEqual(['first', 'person', 'background'])
})
