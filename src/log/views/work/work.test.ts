import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConversationEvent } from '../../events/event.ts'
import { TaskState } from '../../events/work/work.ts'
import { agentFor, legalMoves, workStates } from './state-transitions.ts'
import { evolveWork, type TaskWork, type WorkState } from './work.ts'

const item = { type: 'task', featureId: 'f', taskId: 't' } as const

const recordedEvent = (event: ConversationEvent, version: number) => ({
  project: 'p',
  conversationId: 'c',
  version,
  position: '',
  at: new Date(version * 1000).toISOString(),
  actor: 'a',
  channel: 'test',
  hash: '',
  event,
})

function stateAfter(...events: ConversationEvent[]): WorkState | undefined {
  return events.reduce<WorkState | undefined>(
    (state, event, index) => evolveWork(state, recordedEvent(event, index + 1)),
    undefined,
  )
}

const moved = (from: string, to: string): ConversationEvent => ({ type: 'work.moved', item, from, to })

describe('moves', () => {
  it('moves of every kind lead only to states of that kind, and never to the present one', () => {
    for (const type of ['feature', 'task', 'bead'] as const) {
      for (const state of workStates[type]) {
        const legal = legalMoves(type, state)
        expect(legal.every(to => workStates[type].includes(to) && to !== state)).toBe(true)
      }
    }
  })

  it('moves of a task reach merged from everywhere, and merged is the end', () => {
    expect(legalMoves('task', 'merged')).toEqual([])
    for (const start of TaskState.options) {
      const seen = new Set<string>([start])
      for (const state of seen) for (const to of legalMoves('task', state)) seen.add(to)
      expect(seen.has('merged')).toBe(true)
    }
  })

  it('moves of a task never skip QA: it was in_qa and qa_complete before it is merged', () => {
    const picks = fc.array(fc.nat(), { minLength: 5, maxLength: 60 })
    fc.assert(
      fc.property(picks, way => {
        let state: WorkState | undefined
        const states: string[] = []
        for (const pick of way) {
          const { state: at = 'planning', heldIn } = (state ?? {}) as Partial<TaskWork>
          const legal = legalMoves('task', at, heldIn)
          if (legal.length === 0) break
          const to = legal[pick % legal.length]!
          state = evolveWork(state, recordedEvent(moved(at, to), states.push(to)))
        }
        if (state?.state !== 'merged') return
        expect(states).toEqual(expect.arrayContaining(['in_dev', 'dev_complete', 'in_qa', 'qa_complete']))
      }),
      { numRuns: 2_000 },
    )
  })

  it('moves out of blocked by way of failed lead back to the state before', () => {
    const state = stateAfter(moved('planning', 'in_dev'), moved('in_dev', 'blocked'), moved('blocked', 'failed'))
    expect(state).toMatchObject({ state: 'failed', heldIn: 'in_dev' })
    expect(stateAfter(moved('planning', 'blocked'), moved('blocked', 'planning'))).not.toHaveProperty('heldIn')
  })

  it('each state has an agent, except where a person must act or none can', () => {
    const alone = TaskState.options.filter(state => agentFor('task', state) === undefined)
    expect(alone).toEqual(['merged', 'failed', 'blocked'])
  })
})

describe('attempts', () => {
  const attempted = (outcome: 'done' | 'failed' | 'aborted', more = {}): ConversationEvent => ({
    type: 'work.attempted',
    item,
    outcome,
    ...more,
  })

  it('attempts count failures in a row; an aborted one is none, and a success ends the row', () => {
    expect(stateAfter(attempted('failed'), attempted('aborted'), attempted('failed'))?.attempts).toMatchObject({
      count: 3,
      failed: 2,
    })
    expect(stateAfter(attempted('failed'), attempted('done'))?.attempts).toMatchObject({ count: 2, failed: 0 })
  })

  it('attempts begin again when a person clears what kept failing, but stay recorded', () => {
    const state = stateAfter(
      attempted('failed', { notBefore: '2030-01-01T00:00:00Z' }),
      moved('planning', 'failed'),
      moved('failed', 'in_dev'),
    )
    expect(state?.attempts).toMatchObject({ count: 1, failed: 0 })
    expect(state?.attempts).not.toHaveProperty('notBefore')
  })
})
