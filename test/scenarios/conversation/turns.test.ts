/** Orchestrator turns: one at a time, completed once per agent, read back in the documented form. */
import type { Colloquy } from 'colloquy'
import { IllegalState, LeaseHeld, LeaseLost, PhaseRefused, TurnOpen } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../../../src/testing/builders.ts'
import { freshColloquy, hour } from '../../support/colloquy.ts'

async function conversationStarted(options = {}) {
  const store = await freshColloquy(options)
  const { id } = await store.colloquy.conversations.createConversation({
    title: 'Login',
    initial: { role: 'user', author: 'owner', content: 'Build the login page' },
  })
  return Object.assign(store, { id })
}

const route = (colloquy: Colloquy, id: string, agents: string[], reason = `because of ${agents.join(' and ')}`) =>
  colloquy.conversations.startOrchestratorTurn(id, { agents, reason, orchestrator: 'router' })

const typesOf = async (colloquy: Colloquy, id: string) =>
  (await colloquy.conversations.getEvents(id)).map(({ event }) => event.type)

describe('a turn', () => {
  it('a turn waits for every agent it was routed to, and is resolved by the last', async () => {
    const { colloquy, id } = await conversationStarted()
    const turn = await route(colloquy, id, ['dev', 'qa'])
    expect(turn).toMatchObject({
      number: 1,
      status: 'open',
      phase: 'chat',
      missing: ['dev', 'qa'],
      orchestrator: 'router',
    })
    const half = await colloquy.conversations.addCompletionToTurn(id, { agent: 'qa', message: 'Tests are ready' })
    expect(half).toMatchObject({ id: turn.id, status: 'open', missing: ['dev'] })
    const whole = await colloquy.conversations.addCompletionToTurn(id, { agent: 'dev', message: 'Form is done' })
    expect(whole).toMatchObject({
      id: turn.id,
      status: 'completed',
      missing: [],
      completions: [{ agent: 'qa' }, { agent: 'dev', message: 'Form is done' }],
    })
    expect((await typesOf(colloquy, id)).slice(-4)).toEqual([
      'turn.started',
      'completion.recorded',
      'completion.recorded',
      'turn.resolved',
    ])
  })

  it('[P3] a turn takes each completion once, whether it is repeated or concurrent', async () => {
    const { colloquy, id } = await conversationStarted()
    const { id: turnId } = await route(colloquy, id, ['dev', 'qa'])
    const done = () => colloquy.conversations.addCompletionToTurn(id, { agent: 'dev', message: 'done', turnId })
    await Promise.all([done(), done(), done()])
    await colloquy.conversations.addCompletionToTurn(id, { agent: 'qa', message: 'fine' })
    expect(await done()).toMatchObject({ status: 'completed' })
    expect((await typesOf(colloquy, id)).filter(type => type === 'completion.recorded')).toHaveLength(2)
  })

  it('a turn finds completions in messages: a complete call of an agent it was routed to', async () => {
    const { colloquy, id } = await conversationStarted()
    const dev = await colloquy.sessions.getOrCreateSession({ type: 'thread', threadId: id, agentType: 'dev' })
    await route(colloquy, id, ['dev', 'qa'])
    const call = (callId: string, response: string) => ({
      role: 'assistant' as const,
      parts: [{ type: 'tool-call' as const, callId, name: 'complete', input: { response } }],
    })
    await colloquy.conversations.addEvent(id, { ...call('c0', 'I am nobody'), author: 'stranger' })
    await colloquy.conversations.addEvent(id, { role: 'user', content: 'complete' })
    const said = await colloquy.sessions.addMessage(dev.id, call('c1', 'Form is done'))
    await colloquy.sessions.addMessage(dev.id, call('c2', 'Form is done, again'))
    const [open] = (await colloquy.conversations.getTurns(id)).items
    expect(open).toMatchObject({
      status: 'open',
      completions: [{ agent: 'dev', message: 'Form is done', found: said.version }],
    })
    await colloquy.conversations.addEvent(id, { ...call('c3', 'Looks right'), author: 'qa' })
    const [resolved] = (await colloquy.conversations.getTurns(id)).items
    expect(resolved).toMatchObject({ status: 'completed', completions: [{ agent: 'dev' }, { agent: 'qa' }] })
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('[P4] a turn keeps no copy of a completion that a message says: erasing the message erases it', async () => {
    const { colloquy, id } = await conversationStarted()
    await route(colloquy, id, ['dev'])
    const parts = [
      { type: 'tool-call' as const, callId: 'c', name: 'complete', input: { response: 'It is swordfish' } },
    ]
    const said = await colloquy.conversations.addEvent(id, { role: 'assistant', author: 'dev', parts })
    expect((await colloquy.conversations.getTurns(id)).items[0]?.completions[0]?.message).toBe('It is swordfish')
    await colloquy.conversations.erase(said.id)
    expect(JSON.stringify(await colloquy.conversations.getEvents(id))).not.toContain('swordfish')
    expect((await colloquy.conversations.getTurns(id)).items[0]?.completions).toMatchObject([{ message: '(erased)' }])
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('a turn is started once under an idempotency key, and the repeated call returns its present state', async () => {
    const { colloquy, id } = await conversationStarted({ turns: { loops: 'off' } })
    const turn = { agents: ['dev'], reason: 'once', orchestrator: 'router' }
    const first = await colloquy.conversations.startOrchestratorTurn(id, turn, { idempotencyKey: 'route-1' })
    await colloquy.conversations.addCompletionToTurn(id, { agent: 'dev', message: 'done' })
    for (let number = 0; number < 15; number++) {
      await route(colloquy, id, ['qa'])
      await colloquy.conversations.addCompletionToTurn(id, { agent: 'qa', message: 'done' })
    }
    const again = await colloquy.conversations.startOrchestratorTurn(id, turn, { idempotencyKey: 'route-1' })
    expect(again).toMatchObject({ id: first.id, status: 'completed' })
  })

  it('a turn refuses completions of agents it was not routed to, and without an open turn', async () => {
    const { colloquy, id } = await conversationStarted()
    const complete = (agent: string) => colloquy.conversations.addCompletionToTurn(id, { agent, message: 'x' })
    await expect(complete('dev')).rejects.toThrow(IllegalState)
    await route(colloquy, id, ['dev'])
    await expect(complete('qa')).rejects.toThrow(/not routed to qa/)
  })

  it('a turn fails when an agent fails, once no other agent is awaited; or at once where the caller says so', async () => {
    const { colloquy, id } = await conversationStarted()
    await route(colloquy, id, ['dev', 'qa'])
    const { addCompletionToTurn } = colloquy.conversations
    await addCompletionToTurn.call(colloquy.conversations, id, { agent: 'dev', message: 'no', outcome: 'failed' })
    const over = await colloquy.conversations.addCompletionToTurn(id, { agent: 'qa', message: 'fine' })
    expect(over.status).toBe('failed')
    await route(colloquy, id, ['dev'])
    expect(await colloquy.conversations.failTurn(id, 'the process died')).toMatchObject({
      status: 'failed',
      missing: ['dev'],
      endReason: 'the process died',
    })
  })

  it('a turn times out in the sweep, and later completions come too late', async () => {
    const { colloquy, id, pass } = await conversationStarted({ turns: { timeoutMs: hour } })
    const { id: turnId } = await route(colloquy, id, ['dev', 'qa'])
    await colloquy.conversations.addCompletionToTurn(id, { agent: 'dev', message: 'done' })
    expect(await colloquy.maintain()).toMatchObject({ timedOutTurns: 0 })
    pass(2 * hour)
    expect(await colloquy.maintain()).toMatchObject({ timedOutTurns: 1 })
    expect(await colloquy.maintain()).toMatchObject({ timedOutTurns: 0 })
    expect((await colloquy.conversations.getTurns(id)).items[0]).toMatchObject({ status: 'timed-out', missing: ['qa'] })
    await expect(
      colloquy.conversations.addCompletionToTurn(id, { agent: 'qa', message: 'late', turnId }),
    ).rejects.toThrow(/too late/)
  })

  it('a turn moves the phase in the same write, or does nothing at all', async () => {
    const { colloquy, id } = await conversationStarted()
    const { conversations } = colloquy
    const turn = await conversations.startOrchestratorTurn(id, { agents: ['dev'], reason: 'go', phase: 'execute' })
    expect(turn.phase).toBe('execute')
    expect((await conversations.getPhase(id)).phase).toBe('execute')
    await conversations.addCompletionToTurn(id, { agent: 'dev', message: 'done' })
    const before = await typesOf(colloquy, id)
    await expect(
      conversations.startOrchestratorTurn(id, { agents: ['dev'], reason: 'go', phase: 'reflection' }),
    ).rejects.toThrow(PhaseRefused)
    expect(await typesOf(colloquy, id)).toEqual(before)
  })
})

describe('[P11] routing', () => {
  it('[P11] routing is for one orchestrator at a time', async () => {
    const { colloquy, id, pass } = await conversationStarted({ turns: { leaseMs: hour, timeoutMs: null } })
    const { conversations } = colloquy
    await conversations.startOrchestratorTurn(id, { agents: ['dev'], reason: 'one', orchestrator: 'first' })
    const second = () =>
      conversations.startOrchestratorTurn(id, { agents: ['qa'], reason: 'two', orchestrator: 'second' })
    await expect(second()).rejects.toThrow(LeaseHeld)
    // Its lease runs out, its turn does not: the second may route, but not over an open turn.
    pass(2 * hour)
    await expect(second()).rejects.toThrow(TurnOpen)
    await conversations.undoTurn(id, { reason: 'its orchestrator is gone' })
    expect(await second()).toMatchObject({ orchestrator: 'second', number: 2 })
    await conversations.releaseRouting(id, 'second')
    await conversations.addCompletionToTurn(id, { agent: 'qa', message: 'x' })
    await conversations.startOrchestratorTurn(id, { agents: ['dev'], reason: 'three', orchestrator: 'first' })
  })

  it('[P11] routing starts one turn when two of the same name decide at once', async () => {
    const { colloquy, id } = await conversationStarted()
    const tries = await Promise.all([1, 2, 3].map(() => errorOf(() => route(colloquy, id, ['dev']))))
    const refused = tries.filter(Boolean)
    expect(refused).toHaveLength(2)
    for (const error of refused) expect(error instanceof TurnOpen || error instanceof LeaseLost).toBe(true)
    expect((await typesOf(colloquy, id)).filter(type => type === 'turn.started')).toHaveLength(1)
  })
})

describe('a turn in a branch', () => {
  it('a turn that was open where a branch begins is shown, completed and undone there, whatever the parent does', async () => {
    const { colloquy, id } = await conversationStarted()
    const { conversations } = colloquy
    await conversations.addEvent(id, { role: 'user', content: 'Build the login page' })
    await route(colloquy, id, ['pm'])
    await conversations.addCompletionToTurn(id, { agent: 'pm', message: 'Planned' })
    const open = await route(colloquy, id, ['dev', 'qa'])
    await conversations.addCompletionToTurn(id, { agent: 'dev', message: 'Built' })
    const branch = await conversations.branch(id)
    const inParent = await conversations.getTurns(id)
    expect(await conversations.getTurns(branch.id)).toEqual(inParent)
    expect(await conversations.buildOrchestratorRoutingContext(branch.id)).toMatchObject({
      user_request: 'Build the login page',
      routing_history: [{ agents: ['pm'] }],
      current_routing: { agents: ['dev', 'qa'], completions: [{ agent: 'dev', message: 'Built' }] },
    })
    const done = await conversations.addCompletionToTurn(branch.id, { agent: 'qa', message: 'Tested' })
    expect(done).toMatchObject({ id: open.id, status: 'completed', completions: [{ agent: 'dev' }, { agent: 'qa' }] })
    expect(await conversations.undoTurn(branch.id, { reason: 'another way' })).toMatchObject({ status: 'undone' })
    expect(await conversations.getTurns(id)).toEqual(inParent)
  })
})

describe('an undone turn', () => {
  it('an undone turn is no part of the routing history, and takes back the phase it moved to', async () => {
    const { colloquy, id } = await conversationStarted()
    const { conversations } = colloquy
    await conversations.startOrchestratorTurn(id, { agents: ['pm'], reason: 'plan it', phase: 'plan' })
    await conversations.addCompletionToTurn(id, { agent: 'pm', message: 'planned' })
    await conversations.startOrchestratorTurn(id, { agents: ['dev'], reason: 'too early', phase: 'execute' })
    expect(await conversations.undoTurn(id, { reason: 'too early' })).toMatchObject({
      status: 'undone',
      agents: ['dev'],
    })
    expect((await conversations.getPhase(id)).phase).toBe('plan')
    const context = await conversations.buildOrchestratorRoutingContext(id)
    expect(context.routing_history.map(entry => entry.agents)).toEqual([['pm']])
    expect(context.current_routing).toBeNull()

    // Also one that was resolved, and only the newest.
    const done = await conversations.startOrchestratorTurn(id, { agents: ['qa'], reason: 'look' })
    await conversations.addCompletionToTurn(id, { agent: 'qa', message: 'looked' })
    await conversations.undoTurn(id, { turnId: done.id })
    const late = { agent: 'qa', message: 'looked', turnId: done.id }
    await expect(conversations.addCompletionToTurn(id, late)).rejects.toThrow(/over \(undone\)/)
    expect((await conversations.getTurns(id)).items.map(turn => [turn.agents[0], turn.status])).toEqual([
      ['qa', 'undone'],
      ['dev', 'undone'],
      ['pm', 'completed'],
    ])
    const again = await typesOf(colloquy, id)
    await conversations.undoTurn(id)
    expect(await typesOf(colloquy, id)).toEqual(again)
    expect((await conversations.buildOrchestratorRoutingContext(id)).routing_history).toHaveLength(1)
  })
})

describe('the routing context', () => {
  it('the routing context has exactly user_request, routing_history and current_routing', async () => {
    const { colloquy, id } = await conversationStarted()
    const { conversations } = colloquy
    expect(await conversations.buildOrchestratorRoutingContext(id)).toEqual({
      user_request: 'Build the login page',
      routing_history: [],
      current_routing: null,
    })
    await route(colloquy, id, ['dev'], 'the form first')
    await conversations.addCompletionToTurn(id, { agent: 'dev', message: 'Form is done' })
    await conversations.addEvent(id, { role: 'user', content: 'And the sign-up page' })
    await conversations.startOrchestratorTurn(id, {
      agents: ['qa'],
      reason: 'check it',
      phase: 'execute',
      orchestrator: 'router',
    })
    const time = expect.stringMatching(/^2026-/)
    expect(await conversations.buildOrchestratorRoutingContext(id)).toEqual({
      user_request: 'Build the login page',
      routing_history: [
        {
          phase: 'chat',
          agents: ['dev'],
          reason: 'the form first',
          timestamp: time,
          completions: [{ agent: 'dev', message: 'Form is done', timestamp: time }],
          outcome: 'completed',
        },
      ],
      current_routing: { phase: 'execute', agents: ['qa'], reason: 'check it', timestamp: time, completions: [] },
    })
  })

  it('the routing context and the list of turns are read by page, the head staying small however many there were', async () => {
    const { colloquy, id } = await conversationStarted({ turns: { loops: 'off' } })
    const { conversations } = colloquy
    for (let number = 1; number <= 60; number++) {
      await route(colloquy, id, [`agent-${number % 7}`], `reason ${number}`)
      await conversations.addCompletionToTurn(id, { agent: `agent-${number % 7}`, message: `result ${number}` })
    }
    const numbers: number[] = []
    let cursor: string | undefined
    do {
      const page = await conversations.getTurns(id, { limit: 7, ...(cursor !== undefined && { cursor }) })
      numbers.push(...page.items.map(turn => turn.number))
      cursor = page.next
    } while (cursor !== undefined)
    expect(numbers).toEqual(Array.from({ length: 60 }, (_, index) => 60 - index))
    const { routing_history } = await conversations.buildOrchestratorRoutingContext(id, { limit: 5 })
    expect(routing_history.map(entry => entry.reason)).toEqual([56, 57, 58, 59, 60].map(number => `reason ${number}`))
    const { turns } = await conversations.getConversation(id)
    expect(turns?.recent).toHaveLength(12)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })
})
