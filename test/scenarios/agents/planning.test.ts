/** The project manager plans by tools, and what it plans reaches every agent on the feature. */
import type { AgentRequest, Colloquy } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

type Call = [name: string, input: Record<string, unknown>]

/** Returns the outputs of tools that a model calls one after the other. */
async function outputsOf(colloquy: Colloquy, id: string, ...calls: Call[]): Promise<string[]> {
  const model = scriptedModel([...calls.map(([name, input]) => ({ calls: [{ name, input }] })), 'Planned.'])
  const result = await colloquy.agents.run(id, { message: 'Plan it', model })
  expect(result.outcome).toBe('done')
  const messages = await colloquy.sessions.getAllMessages(id)
  return messages.flatMap(({ parts }) =>
    parts.flatMap(part => (part.type === 'tool-result' ? [String(part.output)] : [])),
  )
}

async function featureWithPm() {
  const store = await freshColloquy()
  const { work } = store.colloquy
  await work.addFeature({ featureId: 'login', name: 'Login page', goal: 'People can log in', spec: 'One form.' })
  const pm = await work.sessionOf({ type: 'feature', featureId: 'login' }, 'pm')
  return Object.assign(store, { work, pm })
}

const tasks = [
  { id: 'api', title: 'Endpoints', description: 'POST /login' },
  { id: 'form', title: 'The form', depends_on: ['api'] },
]

describe('the project manager', () => {
  it('the project manager plans tasks, changes and removes them, and sees the graph', async () => {
    const { colloquy, work, pm } = await featureWithPm()
    const outputs = await outputsOf(
      colloquy,
      pm.id,
      ['plan_tasks', { tasks }],
      [
        'plan_tasks',
        {
          tasks: [
            { id: 'form', title: 'Login form' },
            { id: 'docs', title: 'Docs' },
          ],
          reason: 'asked for',
        },
      ],
      ['plan_tasks', { remove: ['docs'] }],
      ['show_graph', {}],
    )
    expect(outputs[0]).toContain('2 tasks: 2 planning. Ready: api. form waits for api.')
    expect(outputs[1]).toContain('- form [planning] Login form (depends on api)')
    expect(outputs[3]).toBe(
      [
        'Feature login: Login page',
        '2 tasks: 2 planning. Ready: api. form waits for api.',
        '- api [planning, ready] Endpoints',
        '- form [planning] Login form (depends on api)',
      ].join('\n'),
    )
    expect(await work.getTask('login', 'api')).toMatchObject({ description: 'POST /login', isReady: true })
  })

  it('the project manager gets an error about an invalid plan in words it can act on', async () => {
    const { colloquy, work, pm } = await featureWithPm()
    const outputs = await outputsOf(
      colloquy,
      pm.id,
      ['plan_tasks', { tasks: [{ ...tasks[0], depends_on: ['form'] }, tasks[1]] }],
      ['plan_tasks', { tasks: [{ id: 'x', title: 'X', depends_on: ['y'] }] }],
      ['plan_tasks', { tasks: [{ id: 'x' }] }],
      ['plan_tasks', { tasks: 'all of them' }],
      ['plan_tasks', { feature: 'logout', tasks }],
    )
    expect(outputs[0]).toContain('each task waits for the next: api → form → api')
    expect(outputs[1]).toContain('Task x depends on y, which is not a task of this feature.')
    expect(outputs[2]).toContain('Task x is new and needs a title.')
    expect(outputs[3]).toContain('The arguments are invalid: tasks')
    expect(outputs[4]).toContain('This conversation is about feature login')
    expect((await work.graph('login')).tasks).toEqual([])
  })

  it('the project manager plans nothing twice when it repeats a call', async () => {
    const { colloquy, work, pm } = await featureWithPm()
    await outputsOf(colloquy, pm.id, ['plan_tasks', { tasks }])
    await outputsOf(colloquy, pm.id, ['plan_tasks', { tasks }])
    const { conversationId } = await work.getFeature('login')
    const events = await colloquy.conversations.getEvents(conversationId)
    expect(events.filter(one => one.event.type === 'tasks.planned')).toHaveLength(1)
  })
})

describe('the context of a session', () => {
  const textOf = ({ system, messages }: AgentRequest) =>
    `${system}\n${messages.map(message => JSON.stringify(message)).join('\n')}`

  async function devOn(taskId: string) {
    const store = await featureWithPm()
    await store.work.planTasks('login', {
      add: [
        { taskId: 'api', title: 'Endpoints', description: 'POST /login' },
        { taskId: 'form', title: 'The form', dependencies: ['api'] },
      ],
    })
    const item = { type: 'task', featureId: 'login', taskId } as const
    const session = await store.work.sessionOf(item, 'dev')
    return Object.assign(store, { item, session })
  }

  it('the context of a session has the task, its feature and the graph without a caller passing them', async () => {
    const { colloquy, session } = await devOn('api')
    await colloquy.sessions.buildRequest(session.id, 'Begin')
    expect(await colloquy.sessions.getContext(session.id)).toEqual({
      project: {},
      feature: {
        id: 'login',
        name: 'Login page',
        goal: 'People can log in',
        spec: 'One form.',
        tasks: [
          { id: 'api', title: 'Endpoints', state: 'planning' },
          { id: 'form', title: 'The form', state: 'planning' },
        ],
      },
      task: {
        id: 'api',
        title: 'Endpoints',
        description: 'POST /login',
        state: 'planning',
        dependents: [{ id: 'form', title: 'The form', state: 'planning' }],
      },
      dagSummary: '2 tasks: 2 planning. Ready: api. form waits for api.',
    })
  })

  it('the context of a session changes with the graph, and is recorded only then', async () => {
    const { colloquy, work, session } = await devOn('api')
    const contexts = async () =>
      (await colloquy.conversations.getEvents(session.conversationId)).filter(
        one => one.event.type === 'context.gathered',
      ).length
    await colloquy.sessions.buildRequest(session.id, 'Begin')
    await colloquy.sessions.buildRequest(session.id, 'Begin')
    expect(await contexts()).toBe(1)
    await work.planTasks('login', { add: [{ taskId: 'docs', title: 'Docs', dependencies: ['api'] }] })
    await work.moveTask('login', 'api', 'in_dev')
    const request = await colloquy.sessions.buildRequest(session.id, 'Go on')
    expect(textOf(request)).toContain('Task api is in state in_dev.')
    expect(textOf(request)).toContain('form waits for api; docs waits for api')
    expect(await contexts()).toBe(2)
  })

  it('[P8] a changed state leaves the request before the history as it was', async () => {
    const { colloquy, work, session } = await devOn('api')
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'Begin' })
    await colloquy.sessions.addMessage(session.id, { role: 'assistant', content: 'Begun' })
    const before = await colloquy.sessions.buildRequest(session.id, 'Go on')
    await work.moveTask('login', 'api', 'in_dev')
    const after = await colloquy.sessions.buildRequest(session.id, 'Go on')
    expect(after.system).toBe(before.system)
    expect(after.messages.slice(0, 2)).toEqual(before.messages.slice(0, 2))
    expect(textOf(after)).not.toBe(textOf(before))
  })

  it('the context of a session on a bead says what the bead is and what it waited for', async () => {
    const { colloquy } = await freshColloquy()
    const { work } = colloquy
    await work.addBead({ beadId: 'b-1', title: 'Parser' })
    await work.addBead({ beadId: 'b-2', title: 'Retry', description: 'Ask once more', dependencies: ['b-1'] })
    const session = await work.sessionOf({ type: 'bead', beadId: 'b-2' }, 'dev')
    await colloquy.sessions.buildRequest(session.id, 'Begin')
    expect((await colloquy.sessions.getContext(session.id))?.task).toEqual({
      id: 'b-2',
      title: 'Retry',
      description: 'Ask once more',
      state: 'open',
      dependencies: [{ id: 'b-1', title: 'Parser', state: 'open' }],
    })
  })

  it('the context of a session without a work item is what the caller says', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.sessions.getOrCreateSession({ type: 'feature', featureId: 'x', agentType: 'pm' })
    await colloquy.sessions.updateContext(id, { feature: { id: 'x', name: 'Mine' } })
    await colloquy.sessions.buildRequest(id, 'Begin')
    expect((await colloquy.sessions.getContext(id))?.feature).toEqual({ id: 'x', name: 'Mine' })
  })
})
