/** Beads: work items with a priority and dependencies on each other, and what is ready to be taken up. */
import { DependenciesOpen, MoveRefused, PlanRefused } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import { freshColloquy, hour } from '../../support/colloquy.ts'

const ids = (items: readonly { item: object }[]) => items.map(({ item }) => Object.values(item).slice(1).join('/'))

async function chain() {
  const store = await freshColloquy()
  const { work } = store.colloquy
  await work.addBead({ beadId: 'b-1', title: 'Parse failed', description: 'Not JSON at all', priority: 1 })
  await work.addBead({ beadId: 'b-2', title: 'Retry', dependencies: ['b-1'], priority: 0 })
  await work.addBead({ beadId: 'b-3', title: 'Report', labels: ['ui'], kind: 'bug' })
  return Object.assign(store, { work })
}

describe('a bead', () => {
  it('a bead is described, listed by priority and age, and found again', async () => {
    const { work } = await chain()
    expect(await work.getBead('b-1')).toMatchObject({
      beadId: 'b-1',
      title: 'Parse failed',
      description: 'Not JSON at all',
      priority: 1,
      state: 'open',
      waitsFor: [],
    })
    const listed = await work.listBeads()
    expect(listed.items.map(bead => bead.beadId)).toEqual(['b-2', 'b-1', 'b-3'])
    await work.describeBead('b-3', { priority: 0 })
    const again = await work.listBeads({ states: ['open'] })
    expect(again.items.map(bead => bead.beadId)).toEqual(['b-2', 'b-3', 'b-1'])
  })

  it('a bead begins only when the beads it depends on are done', async () => {
    const { work } = await chain()
    await expect(work.moveBead('b-2', 'in_progress')).rejects.toThrow(DependenciesOpen)
    expect((await work.getBead('b-2')).waitsFor).toEqual([{ id: 'b-1', title: 'Parse failed', state: 'open' }])
    await work.moveBead('b-1', 'in_progress')
    await work.moveBead('b-1', 'done')
    expect(await work.moveBead('b-2', 'in_progress')).toMatchObject({ state: 'in_progress', waitsFor: [] })
  })

  it('a bead cannot depend on itself, not through other beads either, nor on a bead that does not exist', async () => {
    const { work } = await chain()
    const refused = await work.describeBead('b-1', { dependencies: ['b-2'] }).catch(error => error)
    expect(refused).toBeInstanceOf(PlanRefused)
    expect(refused.cycle).toEqual(['b-1', 'b-2', 'b-1'])
    await expect(work.addBead({ beadId: 'x', title: 'x', dependencies: ['x'] })).rejects.toThrow('x → x')
    await expect(work.addBead({ beadId: 'x', title: 'x', dependencies: ['y'] })).rejects.toThrow('no bead here')
  })

  it('a parked bead has a reason and is taken up again only by an explicit move', async () => {
    const { work } = await chain()
    const item = { type: 'bead', beadId: 'b-3' } as const
    for (let i = 0; i < 3; i++) await work.recordAttempt(item, { outcome: 'failed', reason: 'no model' })
    await work.moveBead('b-3', 'parked', { reason: 'failed three times: no model' })
    await expect(work.moveBead('b-3', 'in_progress')).rejects.toThrow(MoveRefused)
    expect(ids(await work.ready())).toEqual(['b-1'])
    const bead = await work.moveBead('b-3', 'open')
    expect(bead.attempts).toMatchObject({ count: 3, failed: 0 })
    expect(ids(await work.ready())).toEqual(['b-1', 'b-3'])
  })
})

describe('what is ready', () => {
  it('ready work comes by priority, then by age, and never before its dependencies', async () => {
    const { work } = await chain()
    expect(ids(await work.ready())).toEqual(['b-1', 'b-3'])
    await work.moveBead('b-1', 'done')
    expect(ids(await work.ready())).toEqual(['b-2', 'b-3'])
    expect(ids(await work.ready({ limit: 1 }))).toEqual(['b-2'])
  })

  it('ready work leaves out what is not to be tried yet', async () => {
    const { work, now, pass } = await chain()
    const notBefore = new Date(now() + hour).toISOString()
    await work.recordAttempt({ type: 'bead', beadId: 'b-1' }, { outcome: 'failed', notBefore })
    expect(ids(await work.ready())).toEqual(['b-3'])
    pass(2 * hour)
    expect(ids(await work.ready())).toEqual(['b-1', 'b-3'])
  })

  it('ready work has tasks next to beads, each with the agent its state calls for', async () => {
    const { work } = await chain()
    await work.addFeature({ featureId: 'f', name: 'F', priority: 1 })
    await work.planTasks('f', {
      add: [
        { taskId: 'a', title: 'A' },
        { taskId: 'b', title: 'B', dependencies: ['a'] },
        { taskId: 'c', title: 'C', priority: 0, agent: 'designer' },
      ],
    })
    await work.moveTask('f', 'a', 'in_dev')
    await work.moveTask('f', 'a', 'dev_complete')
    expect((await work.ready()).map(one => [...ids([one]), one.state, one.agent])).toEqual([
      ['f/c', 'planning', 'designer'],
      ['f/a', 'dev_complete', 'qa'],
      ['b-1', 'open', 'dev'],
      ['b-3', 'open', 'dev'],
    ])
    expect(ids(await work.ready({ kinds: ['task'], states: ['planning'] }))).toEqual(['f/c'])
    await work.moveFeature('f', 'stopped')
    expect(ids(await work.ready({ kinds: ['task'] }))).toEqual([])
    expect(ids(await work.ready({ featureId: 'f' }))).toEqual([])
  })

  it('ready work leaves out a bead whose conversation is closed', async () => {
    const { work, colloquy } = await chain()
    const { conversationId } = await work.getBead('b-1')
    await colloquy.conversations.complete(conversationId)
    expect(ids(await work.ready())).toEqual(['b-3'])
  })
})
