import { describe, expect, it } from 'vitest'
import { readDelta } from './delta.ts'

const deltaIn = (reply: unknown) => {
  const read = readDelta(typeof reply === 'string' ? reply : JSON.stringify(reply))
  if ('problem' in read) throw new Error(read.problem)
  return read.delta
}

describe('readDelta', () => {
  it('a delta is read amid prose', () => {
    const delta = {
      add: [{ section: 'decisions', text: 'Use SQLite', sources: [3] }],
      resolve: [{ id: 'a1', sources: [4] }],
      move: [{ id: 'b2', to: 'completed', sources: [5] }],
      rewrite: [{ id: 'c3', text: 'Ship on Friday', sources: [5, 6] }],
    }
    expect(deltaIn(`Here it is:\n\`\`\`json\n${JSON.stringify(delta, null, 2)}\n\`\`\``)).toEqual(delta)
  })

  it('a delta is read in the shapes that models bend it into', () => {
    expect(
      deltaIn({ delta: { add: { in_progress: ['Tests'], 'Dead Ends': [{ text: 'Redis', source: 'message 7' }] } } }),
    ).toEqual({
      add: [
        { section: 'inProgress', text: 'Tests' },
        { section: 'deadEnds', text: 'Redis', sources: [7] },
      ],
    })
    expect(deltaIn({ add: { section: 'todo', text: ' Docs ', sources: ['8', 'v9'], reason: 'asked' } })).toEqual({
      add: [{ section: 'pending', text: 'Docs', sources: [8, 9] }],
    })
    expect(deltaIn({ resolve: ['[a1]'], move: [{ id: '[b2]', section: 'Completed', sources: 4 }] })).toEqual({
      resolve: [{ id: 'a1', sources: [] }],
      move: [{ id: 'b2', to: 'completed', sources: [4] }],
    })
  })

  it('a whole summary in the documented form becomes additions', () => {
    expect(deltaIn({ completed: ['A'], inProgress: ['B'], pending: [], blockers: ['C'], decisions: ['D'] })).toEqual({
      add: [
        { section: 'completed', text: 'A' },
        { section: 'inProgress', text: 'B' },
        { section: 'blockers', text: 'C' },
        { section: 'decisions', text: 'D' },
      ],
    })
    expect(deltaIn({ summary: { completedItems: ['A'], pendingItems: ['B'], decisions: [], blockers: [] } })).toEqual({
      add: [
        { section: 'completed', text: 'A' },
        { section: 'pending', text: 'B' },
      ],
    })
  })

  it('a delta keeps the usable entries of a reply and says what it dropped', () => {
    const read = readDelta(
      JSON.stringify({
        add: [
          { section: 'mood', text: 'x' },
          { section: 'facts', text: '' },
          { section: 'facts', text: 'Port 8080' },
        ],
      }),
    )
    expect(read).toMatchObject({
      delta: { add: [{ section: 'facts', text: 'Port 8080' }] },
      dropped: [expect.stringContaining('mood'), expect.anything()],
    })
  })

  it('a delta drops the entry that a reply was cut off in', () => {
    const read = readDelta(
      '{"add": [{"section": "facts", "text": "whole"}], "rewrite": [{"sources": [3], "id": "a1", "text": "half of a sen',
    )
    expect(read).toMatchObject({ delta: { add: [{ text: 'whole' }] } })
    expect(read).not.toHaveProperty('delta.rewrite')
  })

  it('an empty delta is read as empty', () => {
    expect(deltaIn('{"add": [], "resolve": []}')).toEqual({})
  })

  it.each([
    '',
    'Nothing to report.',
    '{"mood": "good"}',
    '[1, 2]',
    '{"add": [{"section": "facts"}]}',
    '{"add": [{"section": "facts", "text": "cut o',
  ])('a delta says what is wrong with %j', reply => expect(readDelta(reply)).toEqual({ problem: expect.any(String) }))
})
