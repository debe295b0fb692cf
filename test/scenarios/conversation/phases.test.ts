/** Phases: what follows what, who moved it, and what happens to one that takes too long. */

import { openColloquy } from 'colloquy'
import { ConversationClosed, InvalidInput, PhaseRefused } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import { defaultPhases, type PhaseSet } from '../../../src/log/commands/phase-set.ts'
import { errorOf } from '../../../src/testing/builders.ts'
import { freshColloquy, hour } from '../../support/colloquy.ts'

const table: Array<[string, string]> = [
  ['chat', 'brainstorm plan execute'],
  ['brainstorm', 'chat plan execute'],
  ['plan', 'chat brainstorm execute'],
  ['execute', 'verification chat'],
  ['verification', 'chores execute chat'],
  ['chores', 'reflection execute chat'],
  ['reflection', 'chat'],
]

describe('the default phases', () => {
  it('the default phases are the seven of the table, and a conversation starts in chat', async () => {
    const { colloquy } = await freshColloquy()
    const { id, phase } = await colloquy.conversations.createConversation({ title: 'Login' })
    expect(phase).toBe('chat')
    expect(await colloquy.conversations.getPhase(id)).toMatchObject({
      phase: 'chat',
      legal: ['brainstorm', 'plan', 'execute'],
    })
    const session = await colloquy.sessions.getOrCreateSession({ type: 'feature', featureId: 'x', agentType: 'pm' })
    expect((await colloquy.conversations.getPhase(session.conversationId)).phase).toBe('chat')
  })

  it.each(table)('the default phases let %s go to %s and nowhere else', async (from, to) => {
    const { colloquy } = await freshColloquy()
    for (const target of Object.keys(defaultPhases.phases)) {
      const { id } = await colloquy.conversations.createConversation({ title: target, phase: from })
      const error = await errorOf(() => colloquy.conversations.transitionPhase(id, { to: target }))
      if (target === from || to.split(' ').includes(target)) expect(error).toBeUndefined()
      else expect(error).toMatchObject({ code: 'phase/refused', legal: to.split(' '), facts: { from, to: target } })
      expect((await colloquy.conversations.getConversation(id)).phase).toBe(error ? from : target)
    }
  })
})

describe('a transition', () => {
  it('a transition records from, to, message, reason, summary and who, and the head hands the summary on', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'Login' })
    const planner = colloquy.as({ actor: 'planner-process' })
    const said = {
      message: 'Build it',
      reason: 'the plan stands',
      summary: 'Three tasks, none begun',
      agent: 'planner',
    }
    const moved = await planner.conversations.transitionPhase(id, { to: 'execute', ...said })
    expect(moved).toMatchObject({ phase: 'execute', phaseState: { from: 'chat', ...said, actor: 'planner-process' } })
    await planner.conversations.transitionPhase(id, { to: 'verification' })
    const { items } = await colloquy.conversations.getPhaseHistory(id)
    expect(items).toMatchObject([
      { from: 'execute', to: 'verification' },
      { from: 'chat', to: 'execute', ...said, actor: 'planner-process' },
    ])
    const first = await colloquy.conversations.getPhaseHistory(id, { limit: 1 })
    const rest = await colloquy.conversations.getPhaseHistory(id, { limit: 1, cursor: first.next! })
    expect([first.items, rest.items].flat().map(one => one.to)).toEqual(['verification', 'execute'])
  })

  it('a transition to the current phase records nothing', async () => {
    const { colloquy } = await freshColloquy()
    const { id, version } = await colloquy.conversations.createConversation({ title: 'Login' })
    expect((await colloquy.conversations.transitionPhase(id, { to: 'chat' })).version).toBe(version)
  })

  it('a transition is refused when the conversation is not in the phase the caller saw, inside the write itself', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'Login' })
    const moves = ['plan', 'brainstorm', 'execute'].map(to =>
      errorOf(() => colloquy.conversations.transitionPhase(id, { to, expectedPhase: 'chat' })),
    )
    const refused = (await Promise.all(moves)).filter(Boolean)
    expect(refused).toHaveLength(2)
    for (const error of refused) expect(error).toBeInstanceOf(PhaseRefused)
    expect((await colloquy.conversations.getPhaseHistory(id)).items).toHaveLength(1)
  })

  it('a transition happens once under an idempotency key', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'Login' })
    const move = () => colloquy.conversations.transitionPhase(id, { to: 'plan' }, { idempotencyKey: 'k' })
    expect((await move()).version).toBe((await move()).version)
  })

  it('a transition is refused on a completed conversation', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'Login' })
    await colloquy.conversations.complete(id)
    await expect(colloquy.conversations.transitionPhase(id, { to: 'plan' })).rejects.toThrow(ConversationClosed)
  })
})

const own: PhaseSet = {
  initial: 'draft',
  phases: {
    draft: { to: ['review'], timeoutMs: hour, onTimeout: { moveTo: 'review' } },
    review: { to: ['draft', 'done'], timeoutMs: 2 * hour },
    done: { to: [] },
  },
}

describe("a project's own phases", () => {
  it('phases of a project replace the default ones', async () => {
    const { colloquy } = await freshColloquy({ phases: own })
    const { id } = await colloquy.conversations.createConversation({ title: 'Paper' })
    expect(await colloquy.conversations.getPhase(id)).toMatchObject({ phase: 'draft', legal: ['review'] })
    await expect(colloquy.conversations.transitionPhase(id, { to: 'done' })).rejects.toMatchObject({
      legal: ['review'],
    })
    await colloquy.conversations.transitionPhase(id, { to: 'review' })
    await colloquy.conversations.transitionPhase(id, { to: 'done' })
    await expect(colloquy.conversations.transitionPhase(id, { to: 'draft' })).rejects.toThrow(/No phase can follow/)
    await expect(colloquy.conversations.createConversation({ title: 'x', phase: 'chat' })).rejects.toThrow(InvalidInput)
  })

  it('phases of a project may be none: nothing has a phase', async () => {
    const { colloquy } = await freshColloquy({ phases: 'none' })
    const { id, phase } = await colloquy.conversations.createConversation({ title: 'Paper' })
    expect(phase).toBeUndefined()
    expect(await colloquy.conversations.getPhase(id)).toEqual({ phase: null, legal: [] })
    await expect(colloquy.conversations.transitionPhase(id, { to: 'plan' })).rejects.toThrow(/no phases/)
    await expect(colloquy.conversations.createConversation({ title: 'x', phase: 'chat' })).rejects.toThrow(InvalidInput)
  })

  it('phases of a project let a conversation out of a phase that no longer exists', async () => {
    const { colloquy, store } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'Login', phase: 'chores' })
    const later = await openColloquy({ store, project: 'shop', tokens: 'fast', sweepEveryMs: null, phases: own })
    expect((await later.conversations.getPhase(id)).legal).toEqual(['draft', 'review', 'done'])
    expect((await later.conversations.transitionPhase(id, { to: 'review' })).phase).toBe('review')
    await later.close()
  })

  it.each([
    ['an initial phase that is not there', { initial: 'a', phases: { b: { to: [] } } }],
    ['a target that is not there', { initial: 'a', phases: { a: { to: ['b'] } } }],
    ['a phase that cannot be reached', { initial: 'a', phases: { a: { to: [] }, b: { to: ['a'] } } }],
    [
      'a time-out that moves where it may not',
      {
        initial: 'a',
        phases: { a: { to: ['b'], timeoutMs: 1, onTimeout: { moveTo: 'a' } }, b: { to: [] } },
      },
    ],
    [
      'time-outs that move in a circle',
      {
        initial: 'a',
        phases: {
          a: { to: ['b'], timeoutMs: 1, onTimeout: { moveTo: 'b' } },
          b: { to: ['a'], timeoutMs: 1, onTimeout: { moveTo: 'a' } },
        },
      },
    ],
  ] as Array<[string, PhaseSet]>)('phases of a project are refused with %s', async (_, phases) => {
    await expect(openColloquy({ store: 'sqlite::memory:', phases })).rejects.toMatchObject({ field: 'phases' })
  })
})

describe('a phase that takes too long', () => {
  it('a phase that takes too long is reported by the sweep once, and moved where the project says so', async () => {
    const { colloquy, pass } = await freshColloquy({ phases: own })
    const { id } = await colloquy.conversations.createConversation({ title: 'Paper' })
    pass(hour / 2)
    expect(await colloquy.maintain()).toMatchObject({ stuckPhases: 0 })
    pass(hour)
    expect(await colloquy.maintain()).toMatchObject({ stuckPhases: 1 })
    expect(await colloquy.conversations.getPhase(id)).toMatchObject({ phase: 'review', from: 'draft' })

    pass(3 * hour)
    expect(await colloquy.maintain()).toMatchObject({ stuckPhases: 1 })
    expect(await colloquy.conversations.getPhase(id)).toMatchObject({ phase: 'review', stuckAt: expect.any(String) })
    for (let sweeps = 0; sweeps < 3; sweeps++) {
      pass(10 * hour)
      expect(await colloquy.maintain()).toMatchObject({ stuckPhases: 0 })
    }
    const types = (await colloquy.conversations.getEvents(id)).map(({ event }) => event.type)
    expect(types).toEqual(['conversation.created', 'phase.stuck', 'phase.changed', 'phase.stuck'])
  })

  it('a phase that takes too long can get stuck again when it is entered again', async () => {
    const { colloquy, pass } = await freshColloquy({ phases: own })
    const { id } = await colloquy.conversations.createConversation({ title: 'Paper', phase: 'review' })
    pass(3 * hour)
    expect(await colloquy.maintain()).toMatchObject({ stuckPhases: 1 })
    await colloquy.conversations.transitionPhase(id, { to: 'draft' })
    await colloquy.conversations.transitionPhase(id, { to: 'review' })
    pass(3 * hour)
    expect(await colloquy.maintain()).toMatchObject({ stuckPhases: 1 })
  })

  it('a phase that takes too long is left alone on a conversation that is over', async () => {
    const { colloquy, pass } = await freshColloquy({ phases: own, archive: { onCompletion: false } })
    const { id } = await colloquy.conversations.createConversation({ title: 'Paper' })
    await colloquy.conversations.complete(id)
    pass(10 * hour)
    expect(await colloquy.maintain()).toMatchObject({ stuckPhases: 0 })
  })

  it('a phase that takes too long is found among those that are due only, however many there are', async () => {
    const { colloquy, pass } = await freshColloquy({ phases: own })
    for (let index = 0; index < 250; index++)
      await colloquy.conversations.createConversation({ title: `Paper ${index}` })
    pass(2 * hour)
    expect(await colloquy.maintain()).toMatchObject({ stuckPhases: 250 })
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })
})
