import type { CheckpointTaken, StoredEvent } from 'colloquy/client'
import { describe, expect, it } from 'vitest'
import { rowOf } from './row-of.ts'
import { savings } from './savings.ts'

const row = (event: unknown) => rowOf(event as StoredEvent, () => 'dev')

describe('rows of a timeline', () => {
  it('rows of a timeline say what changed, with the text behind it', () => {
    expect(
      row({ type: 'phase.changed', from: 'chat', to: 'plan', agent: 'pm', message: 'Go', summary: 'All clear' }),
    ).toEqual({
      kind: 'divider',
      tone: 'phase',
      text: 'Phase: chat → plan, by pm',
      detail: 'Go\n\nAll clear',
    })
    expect(row({ type: 'turn.started', number: 3, agents: ['dev', 'qa'], reason: '' })).toEqual({
      kind: 'divider',
      tone: 'turn',
      text: 'Turn 3 → dev, qa',
    })
    expect(row({ type: 'session.cleared', sessionId: 's' })).toMatchObject({
      tone: 'warn',
      text: expect.stringContaining('dev'),
    })
    const ended = { type: 'run.ended', agent: 'dev', outcome: 'done', steps: 2, toolCalls: 1, durationMs: 4200 }
    expect(row({ ...ended, usage: { input: 5400, output: 320, cost: 0.021 } })).toMatchObject({
      text: 'dev is done · 2 steps · 1 tool call · 5.4k in, 320 out · $0.02 · 4.2 s',
    })
    expect(row({ ...ended, outcome: 'failed', reason: 'No network' })).toMatchObject({
      tone: 'bad',
      detail: 'No network',
    })
  })

  it('rows of a timeline lead to the origin of a branch or a delegation', () => {
    const branchOf = { conversationId: 'c', version: 12 }
    expect(row({ type: 'conversation.created', title: 't', branchOf })).toMatchObject({
      conversationId: 'c',
      version: 12,
    })
    expect(
      row({ type: 'delegation.started', delegationId: 'd', childId: 'child', from: 'pm', to: 'dev', title: 'Form' }),
    ).toMatchObject({ text: 'pm delegates to dev: Form', conversationId: 'child' })
  })

  it('rows of a timeline report work: plans, states, iterations, reviews', () => {
    const check = { command: 'npm test', exitCode: 1, output: '1 failed', durationMs: 10 }
    expect(
      row({
        type: 'iteration.ended',
        number: 2,
        said: 'Nearly',
        checks: [
          { ...check, name: 'build', passed: true },
          { ...check, name: 'tests', passed: false },
        ],
        durationMs: 3000,
      }),
    ).toEqual({
      kind: 'divider',
      tone: 'warn',
      text: 'Iteration 2 · ✓ build · ✗ tests · 3.0 s',
      detail: 'Nearly\n\n`npm test`\n\n~~~text\n1 failed\n~~~',
    })
    const tasks = { added: [{ taskId: 'a', title: 'Form', dependencies: ['b'] }], changed: [], removed: ['x'] }
    expect(row({ type: 'tasks.planned', ...tasks })).toMatchObject({
      text: 'Plan: 1 task added, 1 removed',
      detail: '- Form (after b)',
    })
    expect(row({ type: 'work.moved', from: 'in_qa', to: 'merged' })).toMatchObject({
      tone: 'good',
      text: 'in qa → merged',
    })
    expect(row({ type: 'review.given', agent: 'qa', verdict: 'return', feedback: 'x' })).toMatchObject({ tone: 'warn' })
  })

  it('rows of a timeline leave technical events to the audit, and name unknown ones', () => {
    expect(row({ type: 'session.acknowledged', sessionId: 's', upTo: 3 })).toMatchObject({ kind: 'fact' })
    expect(row({ type: 'of.the.future' })).toEqual({ kind: 'fact', text: 'of.the.future' })
    expect(row({ type: 'erased', storedType: 'message.added' })).toEqual({ kind: 'message' })
  })

  it('rows of a timeline say what a compaction saved', () => {
    const taken = { tokensBefore: 183_000, tokensAfter: 21_000, messages: 228 }
    expect(savings({ ...taken, kept: 12 } as CheckpointTaken)).toBe('183k → 21k tokens · 240 → 12 messages')
    expect(savings(taken as CheckpointTaken)).toBe('183k → 21k tokens · 228 messages summarised')
  })
})
