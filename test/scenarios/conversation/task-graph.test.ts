/** Features, the graph of their tasks, and what becomes of each task. */
import { DependenciesOpen, IllegalState, MoveRefused, NotFound, PlanRefused } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import type { TaskState } from '../../../src/log/events/work/work.ts'
import { freshColloquy } from '../../support/colloquy.ts'

const login = {
  add: [
    { taskId: 'schema', title: 'Tables', description: 'Users and their password hashes.' },
    { taskId: 'api', title: 'Endpoints', dependencies: ['schema'] },
    { taskId: 'form', title: 'Login form', dependencies: ['api'], description: 'Name, password, one button.' },
    { taskId: 'docs', title: 'Documentation' },
  ],
}

async function plannedFeature() {
  const store = await freshColloquy()
  const { work } = store.colloquy
  await work.addFeature({ featureId: 'login', name: 'Login page', goal: 'People can log in', spec: '# Login' })
  await work.planTasks('login', login)
  return Object.assign(store, { work })
}

/** Takes a task all the way. */
async function mergeTask(work: Awaited<ReturnType<typeof plannedFeature>>['work'], taskId: string) {
  const way: TaskState[] = ['in_dev', 'dev_complete', 'in_qa', 'qa_complete', 'ready_for_merge', 'merged']
  for (const state of way) await work.moveTask('login', taskId, state)
}

describe('a feature', () => {
  it('a feature is described once and changed field by field; its conversation carries its name', async () => {
    const { work, colloquy } = await plannedFeature()
    const feature = await work.describeFeature('login', { name: 'Login and logout', baseBranch: 'main' })
    expect(feature).toMatchObject({
      featureId: 'login',
      name: 'Login and logout',
      goal: 'People can log in',
      spec: '# Login',
      baseBranch: 'main',
      state: 'planning',
      tasks: 4,
    })
    expect(await work.getFeature('login')).toEqual(feature)
    const conversation = await colloquy.conversations.getConversation(feature.conversationId)
    expect(conversation.title).toBe('Login and logout')
    await expect(work.addFeature({ featureId: 'login', name: 'Again' })).rejects.toThrow(IllegalState)
    await expect(work.getFeature('logout')).rejects.toThrow(NotFound)
  })

  it('a feature is listed by priority, then by age, a page at a time and by state', async () => {
    const { colloquy } = await freshColloquy()
    const { work } = colloquy
    for (const [featureId, priority] of [
      ['a', 2],
      ['b', 0],
      ['c', 2],
      ['d', 1],
    ] as const) {
      await work.addFeature({ featureId, name: featureId, priority })
    }
    await work.moveFeature('c', 'in_progress')
    const first = await work.listFeatures({ limit: 3 })
    expect(first.items.map(feature => feature.featureId)).toEqual(['b', 'd', 'a'])
    const rest = await work.listFeatures({ limit: 3, cursor: first.next! })
    expect(rest.items.map(feature => feature.featureId)).toEqual(['c'])
    expect(rest.next).toBeUndefined()
    const begun = await work.listFeatures({ states: ['in_progress'] })
    expect(begun.items.map(feature => feature.featureId)).toEqual(['c'])
  })

  it('a feature has no task ready whose conversation was archived', async () => {
    const { colloquy } = await freshColloquy()
    const { work, conversations } = colloquy
    await work.planTasks('login', { add: ['one', 'two'].map(taskId => ({ taskId, title: taskId })) })
    const { conversationId } = await work.moveTask('login', 'one', 'in_dev')
    const ready = async () => (await work.ready()).map(({ title }) => title).sort()
    expect(await ready()).toEqual(['one', 'two'])
    await conversations.archive(conversationId!)
    expect(await ready()).toEqual(['two'])
  })

  it('a feature takes over a conversation that existed before it was a work item', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession({ type: 'feature', featureId: 'login', agentType: 'pm' })
    await expect(colloquy.work.getFeature('login')).rejects.toThrow(NotFound)
    const graph = await colloquy.work.planTasks('login', { add: [{ taskId: 'one', title: 'One' }] })
    expect(graph).toMatchObject({ name: 'Feature login', ready: ['one'] })
    expect((await colloquy.work.getFeature('login')).conversationId).toBe(session.conversationId)
  })
})

describe('the task graph', () => {
  it('the task graph is shown in layers, says which tasks may begin and sums itself up', async () => {
    const { work } = await plannedFeature()
    const graph = await work.graph('login')
    expect(graph.layers).toEqual([['schema', 'docs'], ['api'], ['form']])
    expect(graph.ready).toEqual(['schema', 'docs'])
    expect(graph.tasks.find(task => task.taskId === 'api')).toMatchObject({
      state: 'planning',
      dependencies: ['schema'],
      dependents: ['form'],
      waitsFor: ['schema'],
      isReady: false,
    })
    expect(graph.summary).toBe('4 tasks: 4 planning. Ready: schema, docs. api waits for schema; form waits for api.')
  })

  it('the task graph refuses a cycle and shows it; nothing of the change is kept', async () => {
    const { work } = await plannedFeature()
    const before = await work.graph('login')
    const change = {
      add: [{ taskId: 'extra', title: 'Extra' }],
      change: [{ taskId: 'schema', dependencies: ['form'] }],
    }
    const refused = await work.planTasks('login', change).catch(error => error)
    expect(refused).toBeInstanceOf(PlanRefused)
    expect(refused.cycle).toEqual(['schema', 'form', 'api', 'schema'])
    expect(refused.message).toContain('schema → form → api → schema')
    expect(await work.graph('login')).toEqual(before)
  })

  it('the task graph names everything that is wrong with a change at once', async () => {
    const { work } = await plannedFeature()
    const refused = await work
      .planTasks('login', {
        add: [{ taskId: 'api', title: 'Again' }],
        change: [{ taskId: 'nowhere', title: 'x' }],
        remove: ['gone'],
      })
      .catch(error => error)
    expect(refused.problems).toHaveLength(3)
    const unknown = work.planTasks('login', { add: [{ taskId: 'x', title: 'x', dependencies: ['y'] }] })
    await expect(unknown).rejects.toThrow('Task x depends on y, which is not a task of this feature.')
    const orphaned = work.planTasks('login', { remove: ['api'] })
    await expect(orphaned).rejects.toThrow('Task form depends on api, which is removed; change form too.')
  })

  it('the task graph changes in one write, and a description that is not touched stays', async () => {
    const { work, colloquy } = await plannedFeature()
    const { conversationId, version } = await work.getFeature('login')
    await work.planTasks('login', {
      remove: ['api'],
      change: [{ taskId: 'form', title: 'The form', dependencies: ['schema'] }],
      reason: 'the endpoints are there already',
    })
    const task = await work.getTask('login', 'form')
    expect(task).toMatchObject({ title: 'The form', description: login.add[2]!.description, dependencies: ['schema'] })
    expect((await colloquy.conversations.getConversation(conversationId)).version).toBe(version + 1)
    await work.planTasks('login', { change: [{ taskId: 'form', title: 'The form' }] })
    expect((await colloquy.conversations.getConversation(conversationId)).version).toBe(version + 1)
  })

  it('the task graph keeps a task that is being worked on', async () => {
    const { work } = await plannedFeature()
    await work.moveTask('login', 'docs', 'in_dev')
    await expect(work.planTasks('login', { remove: ['docs'] })).rejects.toThrow('Task docs is in state in_dev')
  })

  it('two concurrent changes of the task graph are made one after the other: no cycle comes of it', async () => {
    const { work } = await plannedFeature()
    await work.planTasks('login', { add: ['x', 'y'].map(taskId => ({ taskId, title: taskId })) })
    const both = await Promise.allSettled([
      work.planTasks('login', { change: [{ taskId: 'x', dependencies: ['y'] }] }),
      work.planTasks('login', { change: [{ taskId: 'y', dependencies: ['x'] }] }),
    ])
    expect(both.map(one => one.status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('the task graph is planned once under an idempotency key', async () => {
    const { work } = await plannedFeature()
    const more = { add: [{ taskId: 'more', title: 'More' }] }
    await work.planTasks('login', more, { idempotencyKey: 'plan-2' })
    const graph = await work.planTasks('login', more, { idempotencyKey: 'plan-2' })
    expect(graph.tasks).toHaveLength(5)
  })
})

describe('a task', () => {
  it('a task goes from planning to merged, and what waited for it may begin then', async () => {
    const { work, colloquy } = await plannedFeature()
    await mergeTask(work, 'schema')
    const graph = await work.graph('login')
    expect(graph.ready).toEqual(['api', 'docs'])
    expect(graph.tasks[0]).toMatchObject({ state: 'merged', visits: { in_dev: 1, in_qa: 1, merged: 1 } })
    const { clean } = await colloquy.verify()
    expect(clean).toBe(true)
  })

  it('a task does not begin before its dependencies are merged, unless the caller overrides that', async () => {
    const { work } = await plannedFeature()
    const early = await work.moveTask('login', 'api', 'in_dev').catch(error => error)
    expect(early).toBeInstanceOf(DependenciesOpen)
    expect(early.open).toEqual([{ id: 'schema', state: 'planning' }])
    const task = await work.moveTask('login', 'api', 'in_dev', { ignoresDependencies: true })
    expect(task.state).toBe('in_dev')
  })

  it('a task that makes an illegal move names the legal ones', async () => {
    const { work } = await plannedFeature()
    const refused = await work.moveTask('login', 'docs', 'merged').catch(error => error)
    expect(refused).toBeInstanceOf(MoveRefused)
    expect(refused).toMatchObject({ from: 'planning', to: 'merged', legal: ['in_dev', 'failed', 'blocked'] })
    expect(refused.message).toContain('Legal are: in_dev, failed, blocked.')
    await expect(work.moveTask('login', 'docs', 'elsewhere' as TaskState)).rejects.toThrow('there is no such state')
    await expect(work.moveTask('login', 'nothing', 'in_dev')).rejects.toThrow(NotFound)
  })

  it('a task comes back from QA with what is to be done better', async () => {
    const { work } = await plannedFeature()
    for (const state of ['in_dev', 'dev_complete', 'in_qa'] as const) await work.moveTask('login', 'docs', state)
    const task = await work.moveTask('login', 'docs', 'in_dev', { reason: 'The example does not run.' })
    expect(task).toMatchObject({
      state: 'in_dev',
      visits: { in_dev: 2, in_qa: 1 },
      move: { from: 'in_qa', reason: 'The example does not run.' },
    })
  })

  it('a task goes back from blocked to where it was, and cannot jump ahead by it', async () => {
    const { work } = await plannedFeature()
    await work.moveTask('login', 'docs', 'in_dev')
    await work.moveTask('login', 'docs', 'blocked', { reason: 'no access to the wiki' })
    const refused = await work.moveTask('login', 'docs', 'qa_complete').catch(error => error)
    expect(refused.legal).toEqual(['planning', 'in_dev', 'failed'])
    for (const state of ['in_dev', 'dev_complete', 'in_qa', 'failed', 'blocked'] as const) {
      await work.moveTask('login', 'docs', state)
    }
    expect(await work.moveTask('login', 'docs', 'in_qa')).toMatchObject({ state: 'in_qa' })
  })

  it('a task is claimed by one of two callers that expect it in the same state', async () => {
    const { work } = await plannedFeature()
    await work.moveTask('login', 'docs', 'in_dev')
    const both = await Promise.allSettled([
      work.moveTask('login', 'docs', 'dev_complete', { from: 'in_dev' }),
      work.moveTask('login', 'docs', 'dev_complete', { from: 'in_dev' }),
    ])
    expect(both.map(one => one.status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('a task has a session per state and agent, linked to it', async () => {
    const { work } = await plannedFeature()
    const item = { type: 'task', featureId: 'login', taskId: 'docs' } as const
    await work.moveTask('login', 'docs', 'in_dev')
    const dev = await work.sessionOf(item, 'dev')
    expect(dev).toMatchObject({ taskState: 'in_dev', agentName: 'dev' })
    expect((await work.sessionOf(item, 'dev')).id).toBe(dev.id)
    await work.moveTask('login', 'docs', 'dev_complete')
    await work.moveTask('login', 'docs', 'in_qa')
    const qa = await work.sessionOf(item, 'qa')
    expect((await work.getTask('login', 'docs')).sessions).toMatchObject([
      { id: qa.id, taskState: 'in_qa' },
      { id: dev.id, taskState: 'in_dev' },
    ])
  })

  it('a task keeps its outcome, its attempts and its worktree', async () => {
    const { work, reopen } = await plannedFeature()
    const item = { type: 'task', featureId: 'login', taskId: 'docs' } as const
    await work.recordWorktree(item, { path: '.colloquy/worktrees/login', branch: 'colloquy/login' })
    await work.recordAttempt(item, { outcome: 'failed', reason: 'no network', notBefore: '2026-11-15T11:00:00Z' })
    await work.recordAttempt(item, { outcome: 'failed', reason: 'no network' })
    await work.report(item, { summary: 'Written', data: { pages: 3 } })
    const reopened = await reopen()
    expect(await reopened.work.getTask('login', 'docs')).toMatchObject({
      worktree: { path: '.colloquy/worktrees/login', branch: 'colloquy/login' },
      attempts: { count: 2, failed: 2, last: { reason: 'no network' } },
      result: { summary: 'Written', data: { pages: 3 } },
      state: 'planning',
    })
    await reopened.work.forgetWorktree(item, 'merged')
    expect((await reopened.work.stateOf(item)).work?.worktree).toBeUndefined()
  })

  it('a move of a task is refused to a caller that lost the lease', async () => {
    const { work } = await plannedFeature()
    const lost = { fence: { name: 'work docs', generation: 1 } }
    await expect(work.moveTask('login', 'docs', 'in_dev', {}, lost)).rejects.toThrow(/lease/i)
    expect((await work.getTask('login', 'docs')).state).toBe('planning')
  })
})

describe('updates', () => {
  it('updates report every move with the item it is about', async () => {
    const { colloquy, work } = await plannedFeature()
    const updates = colloquy.subscribe({ from: 'start', name: 'work:updated' })
    await work.moveTask('login', 'docs', 'in_dev', { reason: 'begun' })
    const seen = []
    for await (const update of updates) {
      seen.push(update)
      if ('action' in update && update.action === 'moved') break
    }
    expect(seen).toMatchObject([
      { action: 'described', item: { type: 'feature', featureId: 'login' } },
      { action: 'planned', item: { type: 'feature', featureId: 'login' } },
      { action: 'moved', from: 'planning', to: 'in_dev', reason: 'begun', item: { type: 'task', taskId: 'docs' } },
    ])
  })
})
