/** Messages of people start the agents they are for, each once, where the project wants that. */
import { openColloquy } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { expect, it, onTestFinished } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

it('autorun starts the addressed agents, else the default one, and exactly one process answers', async () => {
  const model = scriptedModel(({ system }) => (system.includes('project manager') ? 'The PM is here.' : 'Here.'))
  const agents = { autorun: true, defaultAgent: 'pm', model }
  const { colloquy, store } = await freshColloquy({ agents, clock: Date.now })
  const other = await openColloquy({ store, project: 'shop', agents, sweepEveryMs: null, tokens: 'fast' })
  onTestFinished(() => other.close())
  const updates = colloquy.subscribe()
  const { id } = await colloquy.conversations.createConversation({
    title: 'Login',
    initial: { role: 'user', content: 'Who is there?' },
  })
  await colloquy.conversations.addEvent(id, { role: 'user', content: 'And dev?', addressees: ['dev'] })
  const ended: string[] = []
  for await (const { event } of updates) {
    if (event.event.type === 'run.ended') ended.push(`${event.event.agent} ${event.event.outcome}`)
    if (ended.length === 2) break
  }
  expect(ended.sort()).toEqual(['dev done', 'pm done'])
  const answers = (await colloquy.conversations.getMessages(id)).filter(one => one.role === 'assistant')
  expect(answers.map(one => one.content).sort()).toEqual(['Here.', 'The PM is here.'])
})

it('autorun starts no agent by its own message, whatever the audience', async () => {
  const { colloquy } = await freshColloquy({
    agents: { autorun: true, model: scriptedModel('Here.') },
    clock: Date.now,
  })
  const updates = colloquy.subscribe()
  const { id } = await colloquy.conversations.createConversation({
    title: 'Login',
    initial: { role: 'user', author: 'dev', content: 'Who can test it?', addressees: ['dev', 'qa'] },
  })
  for await (const { event } of updates) if (event.event.type === 'run.ended') break
  const { items } = await colloquy.sessions.listSessions({ conversationId: id })
  expect(items.map(({ agentName }) => agentName)).toEqual(['qa'])
})

it('autorun answers a reply by the default agent again, and a message in a task by the agent of the task', async () => {
  const model = scriptedModel(({ system }) => (system.includes('project manager') ? 'The PM is here.' : 'Dev here.'))
  const { colloquy } = await freshColloquy({ agents: { autorun: true, defaultAgent: 'pm', model }, clock: Date.now })
  const updates = colloquy.subscribe()
  const ended = async (agent: string) => {
    for await (const { event } of { [Symbol.asyncIterator]: () => ({ next: () => updates.next() }) })
      if (event.event.type === 'run.ended') return expect(event.event).toMatchObject({ agent, outcome: 'done' })
  }
  const { id } = await colloquy.conversations.createConversation({
    title: 'Login',
    initial: { role: 'user', content: 'Who is there?' },
  })
  await ended('pm')
  const [, answer] = await colloquy.conversations.getMessages(id)
  await colloquy.conversations.addEvent(id, { role: 'user', content: 'Still?', replyTo: answer!.id })
  await ended('pm')
  const task = await colloquy.sessions.getOrCreateSession({
    type: 'task',
    agentType: 'dev',
    featureId: 'login',
    taskId: 'form',
  })
  await colloquy.sessions.addMessage(task.id, { role: 'user', content: 'Build the form' })
  await ended('dev')
  expect((await colloquy.sessions.getAllMessages(task.id)).map(one => one.content)).toEqual([
    'Build the form',
    'Dev here.',
  ])
  expect(await colloquy.conversations.getMessages(id)).toHaveLength(4)
})
