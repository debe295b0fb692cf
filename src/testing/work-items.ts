/** The contract of finding work items by their state: see `src/log/directory.ts`. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConversationEvent } from '../log/events/event.ts'
import type { WorkItem } from '../log/events/work-item.ts'
import type { StoreCalls } from '../log/store.ts'
import { memoryArchives } from './archives.ts'
import { conversationCreated, freshName, messageAdded, origin, proposal } from './builders.ts'
import type { OpenStore } from './store-under-test.ts'

const project = 'shop'

const bead = (beadId: string): WorkItem => ({ type: 'bead', beadId })
const task = (featureId: string, taskId: string): WorkItem => ({ type: 'task', featureId, taskId })

const described = (beadId: string, priority: number): ConversationEvent[] => [
  conversationCreated({ workItem: bead(beadId) }),
  { type: 'work.described', item: bead(beadId), title: beadId, priority },
]
const moved = (item: WorkItem, from: string, to: string): ConversationEvent => ({ type: 'work.moved', item, from, to })

type Query = Parameters<StoreCalls['workItems']>[0]

/** The ids on all pages. */
async function idsIn(store: StoreCalls, query: Omit<Query, 'project'> & { project?: string }): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.workItems({ project, limit: 3, ...query, ...(cursor !== undefined && { cursor }) })
    ids.push(...page.items.map(({ info }) => info.id))
    cursor = page.next
  } while (cursor !== undefined)
  return ids
}

export function describeWorkItems(name: string, open: OpenStore): void {
  describe(`work items on ${name}`, () => {
    describeItemLists(open)
    describeItemHeads(open)
  })
}

function describeItemLists(open: OpenStore): void {
  it('work items come by priority, the oldest first, a page at a time, through any handle', async () => {
    const { store, another, clock } = await open()
    for (const [id, priority] of [
      ['a', 2],
      ['b', 0],
      ['c', 2],
      ['d', 1],
      ['e', 0],
    ] as const) {
      clock.now++
      await store.append(proposal(id, described(id, priority)))
    }
    expect(await idsIn(store, { type: 'bead' })).toEqual(['b', 'e', 'd', 'a', 'c'])
    expect(await idsIn(await another(), { type: 'bead', limit: 1 })).toEqual(['b', 'e', 'd', 'a', 'c'])
  })

  it('work items are found by their present state, and by what their conversation is', async () => {
    const { store } = await open()
    for (const id of ['a', 'b', 'c']) await store.append(proposal(id, described(id, 2)))
    await store.append(proposal('b', moved(bead('b'), 'open', 'done')))
    await store.append(proposal('c', { type: 'conversation.completed' }))
    await store.append(proposal('a', messageAdded('something')))
    expect(await idsIn(store, { type: 'bead', states: ['open'] })).toEqual(['a', 'c'])
    expect(await idsIn(store, { type: 'bead', states: ['done', 'parked'] })).toEqual(['b'])
    expect(await idsIn(store, { type: 'bead', states: [] })).toEqual([])
    expect(await idsIn(store, { type: 'bead', status: ['active'] })).toEqual(['a', 'b'])
    await store.append(proposal('b', moved(bead('b'), 'done', 'open')))
    expect(await idsIn(store, { type: 'bead', states: ['open'], status: ['active'] })).toEqual(['a', 'b'])
  })

  it('work items follow a new priority', async () => {
    const { store } = await open()
    for (const id of ['a', 'b']) await store.append(proposal(id, described(id, 2)))
    await store.append(proposal('b', { type: 'work.described', item: bead('b'), priority: 0 }))
    expect(await idsIn(store, { type: 'bead' })).toEqual(['b', 'a'])
  })

  it('tasks are those of their feature, whatever characters its id has', async () => {
    const { store } = await open()
    const features = ['login', 'log', `it's "odd" – 登录 \\ %`, 'x'.repeat(500)]
    for (const [index, featureId] of features.entries()) {
      for (const taskId of ['one', 'two']) {
        const item = task(featureId, taskId)
        await store.append(
          proposal(`${index}-${taskId}`, [conversationCreated({ workItem: item }), moved(item, 'planning', 'in_dev')]),
        )
      }
    }
    for (const [index, featureId] of features.entries()) {
      expect(await idsIn(store, { type: 'task', featureId })).toEqual([`${index}-one`, `${index}-two`])
    }
    expect(await idsIn(store, { type: 'task', featureId: 'nowhere' })).toEqual([])
    expect(await idsIn(store, { type: 'task' })).toHaveLength(8)
  })
}

function describeItemHeads(open: OpenStore): void {
  it('a conversation about something is no work item until one is made of it', async () => {
    const { store } = await open()
    await store.append(proposal('a', [conversationCreated({ workItem: bead('a') }), messageAdded('hello')]))
    await store.append(proposal('t', conversationCreated()))
    for (const type of ['feature', 'task', 'bead'] as const) expect(await idsIn(store, { type })).toEqual([])
  })

  it('[P12] work items of another project are not listed', async () => {
    const { store } = await open()
    await store.append(proposal('a', described('a', 2)))
    await store.append(proposal('b', described('b', 2), { project: 'bank' }))
    expect(await idsIn(store, { type: 'bead' })).toEqual(['a'])
    expect(await idsIn(store, { type: 'bead', project: 'bank' })).toEqual(['b'])
    expect(await idsIn(store, { type: 'bead', project: 'nowhere' })).toEqual([])
  })

  it('[P4] work items go with a purge and come back as they were', async () => {
    const { store } = await open()
    const to = memoryArchives()
    const item = task('login', 'form')
    await store.append(proposal('a', [...described('a', 1), moved(bead('a'), 'open', 'parked')]))
    await store.append(proposal('f', [conversationCreated({ workItem: item }), moved(item, 'planning', 'in_dev')]))
    for (const conversationId of ['a', 'f']) {
      const { archive } = await store.purge({ project, conversationId, to, origin })
      expect(await store.conversation(project, conversationId)).toBeUndefined()
      await store.restore({ project, lines: to.read(archive), origin })
    }
    expect(await idsIn(store, { type: 'bead', states: ['parked'] })).toEqual(['a'])
    expect(await idsIn(store, { type: 'task', featureId: 'login', states: ['in_dev'] })).toEqual(['f'])
  })

  it('work items in lists equal those in heads, whatever was done', async () => {
    const { store, another, clock } = await open()
    const handles = [store, await another()]
    const step = fc.record({
      bead: fc.nat(5),
      does: fc.oneof(
        fc.record({ priority: fc.nat(9) }),
        fc.record({ to: fc.constantFrom('open', 'in_progress', 'done', 'parked') }),
      ),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async steps => {
        const scope = freshName('project')
        const expectedItems = new Map<string, { priority: number; state: string }>()
        for (const [index, { bead: number, does }] of steps.entries()) {
          const id = `b${number}`
          const at = expectedItems.get(id) ?? { priority: 2, state: 'open' }
          const events: ConversationEvent[] = expectedItems.has(id) ? [] : described(id, 2)
          if ('to' in does) events.push(moved(bead(id), at.state, does.to))
          else events.push({ type: 'work.described', item: bead(id), priority: does.priority })
          clock.now++
          await handles[index % 2]!.append(proposal(id, events, { project: scope }))
          expectedItems.set(id, 'to' in does ? { ...at, state: does.to } : { ...at, priority: does.priority })
        }
        const expectedIds = (states?: string[]) =>
          [...expectedItems]
            .filter(([, { state }]) => !states || states.includes(state))
            .sort(([, a], [, b]) => a.priority - b.priority)
            .map(([id]) => id)
        for (const states of [undefined, ['open'], ['done', 'parked']]) {
          const query = { type: 'bead' as const, project: scope, ...(states && { states }) }
          expect(await idsIn(handles[0]!, query)).toEqual(expectedIds(states))
        }
      }),
      { numRuns: 20 },
    )
  })
}
