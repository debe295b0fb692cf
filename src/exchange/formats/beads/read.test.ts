import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readBeads } from './read.ts'

const lines = (...issues: object[]) => issues.map(issue => JSON.stringify(issue)).join('\n')

const issue = (id: string, more: object = {}) => ({
  id,
  title: `Issue ${id}`,
  status: 'open',
  priority: 2,
  issue_type: 'task',
  created_at: '2026-01-01T00:00:00Z',
  ...more,
})

const dependency = (issue_id: string, depends_on_id: string, type = 'blocks') => ({
  dependencies: [{ issue_id, depends_on_id, type }],
})

describe('beads from a file', () => {
  it('imported beads take over the fields of an issue, its long texts as one description', () => {
    const { beads, problems } = readBeads(
      lines(
        issue('b-1', {
          description: 'It fails.',
          acceptance_criteria: 'It works.',
          priority: 0,
          issue_type: 'bug',
          labels: ['ui'],
          assignee: 'dev',
          status: 'closed',
          close_reason: 'fixed',
          owner: 'somebody',
          comments: [{ id: 1, author: 'ana', text: 'Seen it too' }],
        }),
      ),
    )
    expect(problems).toEqual([])
    expect(beads).toEqual([
      {
        beadId: 'b-1',
        title: 'Issue b-1',
        description: 'It fails.\n\n## Acceptance criteria\nIt works.',
        priority: 0,
        dependencies: [],
        agent: 'dev',
        kind: 'bug',
        labels: ['ui'],
        state: 'done',
        reason: 'fixed',
        comments: [{ id: 1, author: 'ana', text: 'Seen it too' }],
        data: { beads: { status: 'closed', owner: 'somebody', created_at: '2026-01-01T00:00:00Z' } },
      },
    ])
  })

  it('imported beads come after those they wait for: blockers and children', () => {
    const { beads } = readBeads(
      lines(
        issue('epic', { issue_type: 'epic' }),
        issue('child', dependency('child', 'epic', 'parent-child')),
        issue('late', dependency('late', 'early')),
        issue('early', dependency('early', 'late', 'related')),
      ),
    )
    expect(beads.map(({ beadId, dependencies }) => [beadId, dependencies])).toEqual([
      ['child', []],
      ['early', []],
      ['epic', ['child']],
      ['late', ['early']],
    ])
    expect(beads[0]!.data.parent).toBe('epic')
  })

  it('imported beads have the state of their status', () => {
    const stands = (status: string, more: object = {}) => {
      const [bead] = readBeads(lines(issue('x', { status, ...more }))).beads
      return [bead!.state, bead!.reason]
    }
    expect(stands('open')).toEqual(['open', undefined])
    expect(stands('in_progress')).toEqual(['in_progress', undefined])
    expect(stands('deferred', { defer_until: '2027-01-01' })).toEqual(['parked', 'deferred until 2027-01-01'])
    expect(stands('blocked')).toEqual(['parked', 'blocked'])
    expect(stands('our-own-status')).toEqual(['open', undefined])
  })

  it('[P13] a line that cannot be read is named and hides no other', () => {
    const text = [
      'not json',
      JSON.stringify({ _type: 'memory', key: 'a', value: 'b' }),
      JSON.stringify({ id: 'x' }),
      '',
      JSON.stringify(issue('good', dependency('good', 'nowhere'))),
    ].join('\n')
    const { beads, problems } = readBeads(text)
    expect(beads.map(bead => bead.beadId)).toEqual(['good'])
    expect(problems).toMatchObject([
      { line: 1, problem: 'is not JSON' },
      { line: 3, problem: expect.stringContaining('title') },
      { id: 'good', problem: expect.stringContaining('nowhere') },
    ])
  })

  it('imported beads that wait for each other are all taken over, without the dependency that closes the circle', () => {
    const { beads, problems } = readBeads(
      lines(issue('a', dependency('a', 'b')), issue('b', dependency('b', 'c')), issue('c', dependency('c', 'a'))),
    )
    expect(beads.map(bead => bead.beadId).sort()).toEqual(['a', 'b', 'c'])
    expect(problems).toHaveLength(1)
    expect(problems[0]!.problem).toContain('a → b → c → a')
  })

  it('the issues of a real project all become beads', context => {
    const file = '../shared/data/beads/loom-issues.jsonl'
    if (!existsSync(file)) return context.skip(`${file} is not here`)
    const { beads, problems } = readBeads(readFileSync(file, 'utf8'))
    expect(beads).toHaveLength(1055)
    expect(problems).toEqual([])
    const place = new Map(beads.map((bead, index) => [bead.beadId, index]))
    for (const [index, { dependencies }] of beads.entries()) {
      for (const id of dependencies) expect(place.get(id)).toBeLessThan(index)
    }
  })
})
