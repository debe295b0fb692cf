import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CheckpointItem, checkpointSections, CheckpointItem as ItemSchema } from '../../log/events/checkpoint.ts'
import type { CheckpointDelta } from './delta.ts'
import { isProtected, type MergeInput, mergeDelta } from './merge.ts'

const versions = [11, 12, 13]

function item(id: string, more: Partial<CheckpointItem> = {}): CheckpointItem {
  return { id, section: 'pending', text: `Item ${id}`, sources: [1], since: 1, ...more }
}

function merge(items: CheckpointItem[], delta: CheckpointDelta, more: Partial<MergeInput> = {}) {
  let made = 0
  return mergeDelta({ items, delta, versions, number: 2, newId: () => `new${++made}`, ...more })
}

describe('mergeDelta', () => {
  it('merging a delta adds, resolves, moves and rewrites', () => {
    const result = merge([item('a'), item('b'), item('c')], {
      add: [{ section: 'facts', text: 'Port 8080', sources: [12, 99] }],
      resolve: [{ id: 'a', sources: [11] }],
      move: [{ id: 'b', to: 'completed', sources: [12] }],
      rewrite: [{ id: 'c', text: 'Sharper', sources: [13] }],
    })
    expect(result.items).toEqual([
      item('a', { resolved: { in: 2, sources: [11] } }),
      item('b', { section: 'completed', sources: [1, 12] }),
      item('c', { text: 'Sharper', sources: [1, 13] }),
      { id: 'new1', section: 'facts', text: 'Port 8080', sources: [12], since: 2 },
    ])
    expect(result.changed).toBe(true)
    expect(result.changes.refused).toEqual([])
  })

  it('merging a delta resolves and moves nothing without a message of the range that shows it', () => {
    const items = [item('a'), item('b')]
    const result = merge(items, {
      resolve: [{ id: 'a', sources: [99] }],
      move: [{ id: 'b', to: 'completed', sources: [] }],
    })
    expect(result.items).toEqual(items)
    expect(result.changes.refused).toEqual([
      { what: 'move b', why: 'no message of the summarised range shows it' },
      { what: 'resolve a', why: 'no message of the summarised range shows it' },
    ])
    expect(result.changed).toBe(false)
  })

  it('merging a delta ends a constraint only with a message in which a person lifts it', () => {
    const items = [item('a', { section: 'constraints' }), item('b', { section: 'constraints', pinned: true })]
    const delta = { resolve: items.map(({ id }) => ({ id, sources: [12] })) }
    const input = { items, delta, versions: [11, 12], number: 2, newId: () => 'n' }
    expect(mergeDelta({ ...input, personVersions: [11] }).items).toEqual(items)
    const lifted = mergeDelta({ ...input, personVersions: [11, 12] })
    expect(lifted.changes.resolved.map(({ id }) => id)).toEqual(['a'])
    expect(lifted.changes.refused).toEqual([{ what: 'resolve b', why: 'it is pinned' }])
  })

  it('merging a delta leaves constraints and pinned items alone', () => {
    const items = [item('a', { section: 'constraints' }), item('b', { pinned: true })]
    const result = merge(items, {
      resolve: items.map(({ id }) => ({ id, sources: [11] })),
      move: items.map(({ id }) => ({ id, to: 'facts' as const, sources: [11] })),
      rewrite: items.map(({ id }) => ({ id, text: 'Other', sources: [11] })),
    })
    expect(result.items).toEqual(items)
    expect(result.changes.refused).toHaveLength(6)
  })

  it('merging a delta refuses unknown ids and what was resolved before', () => {
    const items = [item('a', { resolved: { in: 1, sources: [1] } })]
    const { changes } = merge(items, {
      resolve: [
        { id: 'x', sources: [11] },
        { id: 'a', sources: [11] },
      ],
    })
    expect(changes.refused.map(({ why }) => why)).toEqual(['there is no such item', 'it was resolved in checkpoint 1'])
  })

  it('merging a delta takes the last version of the range where an addition names none of it', () => {
    expect(merge([], { add: [{ section: 'facts', text: 'x', sources: [7] }] }).items[0]?.sources).toEqual([13])
  })

  it('merging a delta counts a repetition with the existing item, and calls that no change', () => {
    const result = merge([item('a', { text: 'Use `SQLite`.' })], {
      add: [{ section: 'pending', text: ' use sqlite', sources: [12] }],
    })
    expect(result.items).toEqual([item('a', { text: 'Use `SQLite`.', sources: [1, 12] })])
    expect(result.changed).toBe(false)
    expect(result.changes.repeated).toHaveLength(1)
    expect(merge([item('a')], {}).changed).toBe(false)
  })

  it('merging a delta opens a resolved item again when it is repeated', () => {
    const result = merge([item('a', { resolved: { in: 1, sources: [1] } })], {
      add: [{ section: 'pending', text: 'Item a', sources: [12] }],
    })
    expect(result.items).toEqual([item('a', { sources: [1, 12] })])
    expect(result.changes.reopened).toHaveLength(1)
  })

  it('merging a delta settles an item that is moved to its present section', () => {
    const result = merge([item('a', { text: 'Same' }), item('b', { text: 'Same', section: 'completed' })], {
      move: [{ id: 'a', to: 'completed', sources: [12] }],
    })
    expect(result.items).toEqual([
      item('a', { text: 'Same', resolved: { in: 2, sources: [12] } }),
      item('b', { text: 'Same', section: 'completed', sources: [1, 12] }),
    ])
  })

  it('merging a delta gives unused ids, even from a maker that repeats itself', () => {
    const add = ['x', 'y', 'z'].map(text => ({ section: 'facts' as const, text }))
    const { items } = merge([item('same')], { add }, { newId: () => 'same' })
    expect(new Set(items.map(({ id }) => id)).size).toBe(4)
  })

  it('merging a delta trims the oldest resolved items first, then completed ones, then facts, and nothing else', () => {
    const items = [
      item('goal', { section: 'goal' }),
      item('rule', { section: 'constraints' }),
      item('pin', { section: 'facts', pinned: true }),
      item('todo'),
      item('fact', { section: 'facts' }),
      item('done2', { section: 'completed', sources: [5] }),
      item('done1', { section: 'completed', sources: [4] }),
      item('over2', { resolved: { in: 2, sources: [9] } }),
      item('over1', { resolved: { in: 1, sources: [9] } }),
    ]
    const estimator = { name: 'one each', count: () => 1 }
    const trimmed = (maxTokens: number) => merge(items, {}, { estimator, maxTokens }).trimmed.map(({ id }) => id)
    expect(trimmed(9)).toEqual([])
    expect(trimmed(6)).toEqual(['over1', 'over2', 'done1'])
    expect(trimmed(0)).toEqual(['over1', 'over2', 'done1', 'done2', 'fact'])
    expect(merge(items, {}, { estimator, maxTokens: 0 }).items.map(({ id }) => id)).toEqual([
      'goal',
      'rule',
      'pin',
      'todo',
    ])
  })

  it('[P9] merging loses no constraint and no pinned item, byte for byte, over 50 deltas of any kind', () => {
    const ids = fc.constantFrom('p', 'c', 'i1', 'i2', 'i3', 'i4', 'i5', 'i6', 'i7', 'i8', 'none')
    const section = fc.constantFrom(...checkpointSections)
    const sources = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 3 })
    const text = fc.constantFrom('Never deploy on Friday', 'a', 'A.', 'b', 'Pinned\nline', 'c', 'd')
    const delta: fc.Arbitrary<CheckpointDelta> = fc.record({
      add: fc.array(fc.record({ section, text, sources, pinned: fc.boolean() }), { maxLength: 3 }),
      resolve: fc.array(fc.record({ id: ids, sources }), { maxLength: 3 }),
      move: fc.array(fc.record({ id: ids, to: section, sources }), { maxLength: 3 }),
      rewrite: fc.array(fc.record({ id: ids, text, sources }), { maxLength: 3 }),
    })
    fc.assert(
      fc.property(
        fc.array(delta, { minLength: 50, maxLength: 50 }),
        fc.integer({ min: 0, max: 400 }),
        (deltas, maxTokens) => {
          let made = 0
          let items = [
            item('p', { pinned: true, text: 'Pinned\nline' }),
            item('c', { section: 'constraints', text: 'Never deploy on Friday' }),
          ]
          deltas.forEach((delta, at) => {
            const before = items
            const result = mergeDelta({
              items,
              delta,
              versions: [at + 2, at + 3],
              number: at + 2,
              newId: () => `i${++made}`,
              maxTokens,
            })
            items = result.items
            for (const old of before.filter(isProtected)) {
              const now = items.find(({ id }) => id === old.id)
              expect(now).toMatchObject({ id: old.id, section: old.section, text: old.text, since: old.since })
              expect(now?.resolved).toBeUndefined()
            }
            // Whatever is gone was trimmed and reported, and ids stay unique.
            const gone = before.filter(({ id }) => !items.some(one => one.id === id)).map(({ id }) => id)
            expect(result.trimmed.map(({ id }) => id)).toEqual(expect.arrayContaining(gone))
            expect(new Set(items.map(({ id }) => id)).size).toBe(items.length)
            for (const one of items) {
              ItemSchema.parse(one)
              expect(one.sources).toEqual([...new Set(one.sources)].sort((a, b) => a - b))
            }
          })
        },
      ),
      { numRuns: 20 },
    )
  }, 120_000)
})
