import { expect, it } from 'vitest'
import type { CheckpointItem } from '../../log/events/checkpoint.ts'
import { diffCheckpoints } from './diff.ts'

const item = (id: string, more: Partial<CheckpointItem> = {}): CheckpointItem => ({
  id,
  section: 'pending',
  text: id,
  sources: [1],
  since: 1,
  ...more,
})
const resolved = { in: 2, sources: [3] }

it('a diff says what was added, resolved, reopened, moved, rewritten and dropped', () => {
  const before = { items: [item('same'), item('done'), item('back', { resolved }), item('both'), item('gone')] }
  const after = {
    items: [
      item('same'),
      item('done', { resolved }),
      item('back'),
      item('both', { section: 'completed', text: 'other' }),
      item('new'),
    ],
  }
  const [, done, back, both, added] = after.items
  expect(diffCheckpoints(before, after)).toEqual({
    added: [added],
    resolved: [done],
    reopened: [back],
    moved: [{ item: both, from: 'pending', to: 'completed' }],
    rewritten: [{ item: both, before: 'both', after: 'other' }],
    dropped: [item('gone')],
  })
})

it('a diff counts everything as added when there was no checkpoint', () => {
  expect(diffCheckpoints(undefined, { items: [item('a')] }).added).toEqual([item('a')])
})
