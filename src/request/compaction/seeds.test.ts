import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidInput } from '../../errors.ts'
import { Checkpoint, type CheckpointItem, checkpointSections } from '../../log/events/checkpoint.ts'
import { fromSeed001, fromSeed002, toSeed001, toSeed002 } from './seeds.ts'

const times = { createdAt: '2026-01-17T10:00:00.000Z', updatedAt: '2026-01-17T12:00:00.000Z' }
const ids = () => {
  let made = 0
  return () => `k${++made}`
}
const place = () => ({ from: 1, upTo: 40, newId: ids() })

function checkpoint(items: CheckpointItem[]): Checkpoint {
  return {
    number: 3,
    base: 2,
    from: 1,
    upTo: 40,
    messages: 38,
    author: 'offline',
    items,
    carried: { openCalls: [], filesRead: [], filesChanged: [], userMessages: [] },
    ralphLoop: { currentIteration: 2, passedChecks: ['build'], failedChecks: ['test'] },
    tokens: { checkpoint: 500, lastCompactionInput: 9_000, totalSaved: 11_500 },
  }
}

const one = (section: CheckpointItem['section'], text: string): CheckpointItem => ({
  id: text,
  section,
  text,
  sources: [4],
  since: 1,
})
const all = checkpoint([
  ...checkpointSections.map(section => one(section, `the ${section}`)),
  { ...one('blockers', 'gone'), resolved: { in: 2, sources: [5] } },
])

describe('seed 001', () => {
  it('gets its five lists, and what has none of its own behind a word', () => {
    expect(toSeed001(all, { ...times, oldestMessageTimestamp: times.createdAt })).toEqual({
      version: 3,
      ...times,
      summary: {
        completed: ['the completed'],
        inProgress: ['Goal: the goal', 'the inProgress'],
        pending: ['the pending'],
        blockers: ['the blockers'],
        decisions: ['Constraint: the constraints', 'the decisions', 'Dead end: the deadEnds', 'Fact: the facts'],
      },
      compactionInfo: { messagesCompacted: 38, oldestMessageTimestamp: times.createdAt, compactedAt: times.updatedAt },
      stats: { totalCompactions: 3, totalMessages: 38, totalTokens: 12_000 },
    })
  })

  it('is read, the later shape by weight included', () => {
    const read = fromSeed001({ version: 0, summary: { completed: ['a'], critical: ['b'] } }, place())
    expect(Checkpoint.parse(read).items.map(({ section, text, sources }) => [section, text, sources])).toEqual([
      ['completed', 'a', [40]],
      ['facts', 'b', [40]],
    ])
    expect(read.number).toBe(1)
  })
})

describe('seed 002', () => {
  it('gets its four lists, the Ralph loop and the tokens', () => {
    expect(toSeed002(all, { ...times, sessionId: 's1' })).toEqual({
      sessionId: 's1',
      version: 3,
      ...times,
      summary: {
        completedItems: ['the completed'],
        pendingItems: ['Goal: the goal', 'In progress: the inProgress', 'the pending'],
        decisions: ['Constraint: the constraints', 'the decisions', 'Dead end: the deadEnds', 'Fact: the facts'],
        blockers: ['the blockers'],
      },
      ralphLoop: all.ralphLoop,
      tokens: all.tokens,
    })
  })

  it('is read back with the Ralph loop and the tokens', () => {
    const read = fromSeed002(toSeed002(all, { ...times, sessionId: 's1' }), place())
    expect(Checkpoint.parse(read)).toMatchObject({ number: 3, ralphLoop: all.ralphLoop, tokens: all.tokens })
  })
})

it('keeps every open item through either seed’s shape', () => {
  const word = fc.stringMatching(/^[a-z]{1,8}( [a-z]{1,8})?$/)
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...checkpointSections), word)), entries => {
      const made = checkpoint(entries.map(([section, text]) => one(section, text)))
      const said = (items: CheckpointItem[]) => items.map(({ section, text }) => `${section} ${text}`).sort()
      expect(said(fromSeed001(toSeed001(made, times), place()).items)).toEqual(said(made.items))
      expect(said(fromSeed002(toSeed002(made, { ...times, sessionId: 's' }), place()).items)).toEqual(said(made.items))
    }),
  )
})

it.each([undefined, null, 'text', {}, { summary: { completed: 'a' } }])('refuses %j', seed => {
  expect(() => fromSeed001(seed, place())).toThrow(InvalidInput)
})
