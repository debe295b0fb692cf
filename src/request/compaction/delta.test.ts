import { describe, expect, it } from 'vitest'
import { readDelta } from './delta.ts'

const deltaIn = (reply: unknown) => {
  const read = readDelta(typeof reply === 'string' ? reply : JSON.stringify(reply))
  if ('problem' in read) throw new Error(read.problem)
  return read.delta
}

describe('readDelta', () => {
  it('reads a delta amid prose', () => {
    const delta = {
      add: [{ section: 'decisions', text: 'Use SQLite', sources: [3] }],
      resolve: [{ id: 'a1', sources: [4] }],
      move: [{ id: 'b2', to: 'completed', sources: [5] }],
      rewrite: [{ id: 'c3', text: 'Ship on Friday', sources: [5, 6] }],
    }
    expect(deltaIn(`Here it is:\n\`\`\`json\n${JSON.stringify(delta, null, 2)}\n\`\`\``)).toEqual(delta)
  })

  it('reads the ways in which models bend the shape', () => {
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

  it('turns a whole summary of seed 001 or 002 into additions', () => {
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

  it('keeps the usable entries of a reply and says what it dropped', () => {
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

  it('drops the entry that a reply was cut off in', () => {
    const read = readDelta(
      '{"add": [{"section": "facts", "text": "whole"}], "rewrite": [{"sources": [3], "id": "a1", "text": "half of a sen',
    )
    expect(read).toMatchObject({ delta: { add: [{ text: 'whole' }] } })
    expect(read).not.toHaveProperty('delta.rewrite')
  })

  it('reads an empty delta as empty', () => {
    expect(deltaIn('{"add": [], "resolve": []}')).toEqual({})
  })

  it.each([
    '',
    'Nothing to report.',
    '{"mood": "good"}',
    '[1, 2]',
    '{"add": [{"section": "facts"}]}',
    '{"add": [{"section": "facts", "text": "cut o',
  ])('says what is wrong with %j', reply => expect(readDelta(reply)).toEqual({ problem: expect.any(String) }))
})
