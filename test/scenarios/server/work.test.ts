/** Features, task graphs, tasks and beads over real HTTP. */
import { describe, expect, it } from 'vitest'
import { freshServer } from '../../support/server.ts'

const add = [
  { taskId: 'api', title: 'Endpoints', description: 'POST /login' },
  { taskId: 'form', title: 'The form', dependencies: ['api'] },
]

describe('work over HTTP', () => {
  it('work over HTTP plans a feature, moves its tasks and says how they stand', async () => {
    const { client } = await freshServer()
    const { work } = client
    const feature = await work.addFeature({ body: { featureId: 'login', name: 'Login page', goal: 'Log in' } })
    expect(feature).toMatchObject({ state: 'planning', tasks: 0, goal: 'Log in' })
    const featureId = 'login'
    const graph = await work.plan({ featureId, body: { add } })
    expect(graph).toMatchObject({ ready: ['api'], layers: [['api'], ['form']] })
    const task = { featureId, taskId: 'api' }
    await work.moveFeature({ featureId, body: { to: 'in_progress' } })
    expect(await work.moveTask({ ...task, body: { to: 'in_dev', reason: 'begun' } })).toMatchObject({
      state: 'in_dev',
      description: 'POST /login',
      move: { from: 'planning', reason: 'begun' },
    })
    const item = { type: 'task', ...task } as const
    const session = await work.session({ body: { item, agentType: 'dev' } })
    expect(session).toMatchObject({ taskState: 'in_dev', agentType: 'dev' })
    await work.recordWorktree({ body: { item, path: '.colloquy/worktrees/login', branch: 'colloquy/login' } })
    await work.recordAttempt({ body: { item, outcome: 'failed', reason: 'lint' } })
    await work.report({ body: { item, summary: 'Half of it' } })
    expect(await work.task(task)).toMatchObject({
      result: { summary: 'Half of it' },
      attempts: { count: 1, failed: 1 },
      worktree: { branch: 'colloquy/login' },
      sessions: [{ id: session.id }],
    })
    await work.forgetWorktree({ body: { item } })
    expect(await work.state({ query: item })).toMatchObject({ version: expect.any(Number), work: { state: 'in_dev' } })
    expect((await work.tasks({ featureId, query: { states: 'planning' } })).items).toMatchObject([{ taskId: 'form' }])
    expect((await work.ready()).items).toMatchObject([{ item, agent: 'dev', state: 'in_dev' }])
    const described = await work.describeFeature({ featureId, body: { spec: '# Spec' } })
    expect(await work.feature({ featureId })).toEqual(described)
    expect((await work.features({ query: { states: 'in_progress,planning' } })).items).toHaveLength(1)
    expect((await work.graph({ featureId })).summary).toBe('2 tasks: 1 in_dev, 1 planning. form waits for api.')
  })

  it('work over HTTP says what is wrong as a problem with its facts', async () => {
    const { client } = await freshServer()
    const { work } = client
    await work.addFeature({ body: { featureId: 'login', name: 'Login page' } })
    const featureId = 'login'
    const circle = [
      { taskId: 'a', title: 'A', dependencies: ['b'] },
      { taskId: 'b', title: 'B', dependencies: ['a'] },
    ]
    await expect(work.plan({ featureId, body: { add: circle } })).rejects.toMatchObject({
      status: 422,
      code: 'work/plan-refused',
      facts: { cycle: ['a', 'b', 'a'] },
    })
    await work.plan({ featureId, body: { add } })
    await expect(work.moveTask({ featureId, taskId: 'api', body: { to: 'merged' } })).rejects.toMatchObject({
      status: 409,
      code: 'work/move-refused',
      facts: { legal: ['in_dev', 'failed', 'blocked'] },
    })
    await expect(work.moveTask({ featureId, taskId: 'form', body: { to: 'in_dev' } })).rejects.toMatchObject({
      code: 'work/dependencies-open',
    })
    await expect(work.feature({ featureId: 'nowhere' })).rejects.toMatchObject({ status: 404 })
    await expect(work.state({ query: { type: 'task' } })).rejects.toMatchObject({ status: 400 })
    const wrongVersion = { expectedVersion: 1 }
    await expect(work.plan({ featureId, body: { remove: ['form'] } }, wrongVersion)).rejects.toMatchObject({
      code: 'log/version-conflict',
    })
  })

  it('work over HTTP keeps beads', async () => {
    const { client } = await freshServer()
    const { work } = client
    await work.addBead({ body: { beadId: 'b-1', title: 'Parser' } })
    await work.addBead({ body: { beadId: 'b-2', title: 'Retry', dependencies: ['b-1'], priority: 0 } })
    expect((await work.beads()).items.map(bead => bead.beadId)).toEqual(['b-2', 'b-1'])
    expect(await work.bead({ beadId: 'b-2' })).toMatchObject({ waitsFor: [{ id: 'b-1', state: 'open' }] })
    await work.describeBead({ beadId: 'b-1', body: { description: 'Lenient', labels: ['models'] } })
    await work.moveBead({ beadId: 'b-1', body: { to: 'done', reason: 'was there already' } })
    expect((await work.ready({ query: { kinds: 'bead', limit: 1 } })).items).toMatchObject([{ title: 'Retry' }])
  })

  it('work over HTTP reports changes as live events', async () => {
    const { client } = await freshServer()
    const live = client.live({ types: ['work:updated'], from: 'start' })
    await client.work.addFeature({ body: { featureId: 'login', name: 'Login page' } })
    await client.work.plan({ featureId: 'login', body: { add } })
    await client.work.moveTask({ featureId: 'login', taskId: 'api', body: { to: 'in_dev' } })
    const seen = []
    for await (const event of live) {
      seen.push(event)
      if (seen.length === 3) break
    }
    expect(seen).toMatchObject([
      { name: 'work:updated', action: 'described', item: { type: 'feature', featureId: 'login' } },
      { action: 'planned' },
      { action: 'moved', item: { type: 'task', taskId: 'api' }, event: { from: 'planning', to: 'in_dev' } },
    ])
  })
})
