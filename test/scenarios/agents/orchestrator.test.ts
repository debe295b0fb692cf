/** An invisible router: a model decides who acts next, the agents act, and the log says how it went. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Colloquy, isOfType, type Model, type OpenOptions, openColloquy } from 'colloquy'
import { type ScriptedAnswer, scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

const to = (agents: string[], more: Record<string, unknown> = {}) =>
  JSON.stringify({ agents, reason: 'next', instruction: `Do your part, ${agents.join(' and ')}`, ...more })
const end = '{"agents":["END"],"reason":"all is done"}'

/** A router that says these one after the other, and agents that answer with their names. */
function team(routes: readonly ScriptedAnswer[], more: OpenOptions['agents'] = {}): NonNullable<OpenOptions['agents']> {
  const agent = scriptedModel(({ system }) => (system.includes('reviewer') ? 'Four tests pass.' : 'The form is built.'))
  return { model: agent, ...more, models: { orchestrator: scriptedModel(routes), ...more.models } }
}

async function conversationWithTask(options: OpenOptions, content = 'Build the login page') {
  const place = await freshColloquy(options)
  const { id } = await place.colloquy.conversations.createConversation({
    title: 'Login',
    initial: { role: 'user', author: 'owner', content },
  })
  return { ...place, colloquy: place.colloquy, id }
}

const eventsOf = async (colloquy: Colloquy, id: string) =>
  (await colloquy.conversations.getEvents(id)).map(({ event }) => event)

describe('an orchestrator', () => {
  it('an orchestrator routes to agents that work at the same time, moves the phase, waits, and ends', async () => {
    const seen: string[] = []
    const looking =
      (answer: string): ScriptedAnswer =>
      ({ messages }) => {
        const part = messages.at(-1)!.content[0]!
        seen.push(part.type === 'text' ? part.text : '')
        return answer
      }
    const routes = [
      looking(to(['pm'], { phase: 'plan' })),
      looking(to(['dev', 'qa'], { phase: 'execute' })),
      looking(end),
    ]
    const { colloquy, id } = await conversationWithTask({ agents: team(routes) })
    const turns: string[][] = []
    const result = await colloquy.orchestrate(id, { onTurn: ({ agents }) => turns.push([...agents]) })
    expect(result).toMatchObject({ outcome: 'ended', reason: 'all is done', turns: 2 })
    expect(turns).toEqual([['pm'], ['dev', 'qa']])
    expect((await colloquy.conversations.getPhase(id)).phase).toBe('execute')
    const { items } = await colloquy.conversations.getTurns(id)
    expect(items.map(turn => [turn.status, turn.completions.map(one => one.agent).sort()])).toEqual([
      ['completed', ['dev', 'qa']],
      ['completed', ['pm']],
    ])
    const state = JSON.parse(seen[2]!) as Record<string, unknown>
    expect(state).toMatchObject({
      user_request: 'Build the login page',
      phase: 'execute',
      legal_phases: ['verification', 'chat'],
      current_routing: null,
      routing_history: [{ agents: ['pm'] }, { agents: ['dev', 'qa'], outcome: 'completed' }],
    })
    expect(JSON.stringify(state)).toContain('Four tests pass.')
    const runs = (await eventsOf(colloquy, id)).filter(event => event.type === 'run.ended')
    expect(runs.map(({ agent, outcome }) => `${agent} ${outcome}`)).toContain('orchestrator done')
    expect((await colloquy.verify()).clean).toBe(true)
  })

  it('an orchestrator takes up a turn that was open where a branch begins, with the agents of the branch', async () => {
    const { colloquy, id } = await conversationWithTask({ agents: team([to(['dev']), end, end]) })
    await colloquy.orchestrate(id)
    const messages = await colloquy.conversations.getMessages(id)
    const instruction = messages.find(({ content }) => content === 'Do your part, dev')!
    const branch = await colloquy.conversations.branch(id, instruction.version)
    expect(await colloquy.orchestrate(branch.id)).toMatchObject({ outcome: 'ended' })
    const { items } = await colloquy.conversations.getTurns(branch.id)
    expect(items).toMatchObject([
      { status: 'completed', completions: [{ agent: 'dev', message: 'The form is built.' }] },
    ])
    const context = await colloquy.conversations.buildOrchestratorRoutingContext(branch.id)
    expect(context).toMatchObject({ user_request: 'Build the login page', routing_history: [{ agents: ['dev'] }] })
  })

  it('an orchestrator is invisible: people and agents read nothing of it but its instructions to agents', async () => {
    const requests: string[] = []
    const agent = scriptedModel(({ system, messages }) => {
      requests.push(JSON.stringify([system, messages]))
      return 'Done with my part of it.'
    })
    const { colloquy, id } = await conversationWithTask({
      agents: team([to(['dev']), to(['qa']), end], { model: agent }),
    })
    await colloquy.orchestrate(id)
    const messages = await colloquy.conversations.getMessages(id)
    const chat = messages.filter(one => !one.internal)
    expect(chat.map(one => one.author)).toEqual(['owner', 'dev', 'qa'])
    const own = messages.filter(one => one.author === 'orchestrator')
    expect(own.length).toBeGreaterThan(0)
    expect(own.every(one => one.internal)).toBe(true)
    expect(requests[0]).toContain('Do your part, dev')
    expect(requests[1]).toContain('Do your part, qa')
    expect(requests[1]).not.toContain('Do your part, dev')
    expect(requests.join()).not.toContain('END')
  })

  it('an orchestrator shows the model once what is wrong with its answer, and fails when it is wrong again', async () => {
    const corrected: string[] = []
    const routes: ScriptedAnswer[] = [
      'I think dev should do it.',
      ({ messages }) => {
        corrected.push(JSON.stringify(messages.at(-1)))
        return to(['dev'])
      },
      to(['ops']),
      to(['dev'], { phase: 'reflection' }),
    ]
    const { colloquy, id } = await conversationWithTask({ agents: team(routes) })
    const result = await colloquy.orchestrate(id)
    expect(corrected[0]).toContain('it contains no JSON object')
    expect(result).toMatchObject({ outcome: 'failed', turns: 1, reason: expect.stringContaining('cannot change to') })
    expect((await eventsOf(colloquy, id)).filter(event => event.type === 'turn.started')).toHaveLength(1)
    const notes = (await colloquy.conversations.getMessages(id)).filter(one => one.metadata?.problem !== undefined)
    expect(notes.map(one => one.metadata?.problem)).toMatchObject([
      expect.stringContaining('no JSON'),
      expect.stringContaining('no agent "ops"'),
      expect.stringContaining('reflection'),
    ])
  })

  it('an orchestrator goes on with an agent that fails, reports it to the model, and routes messages that came meanwhile', async () => {
    const states: string[] = []
    const route: ScriptedAnswer = async ({ messages }) => {
      states.push(JSON.stringify(messages))
      if (states.length === 1) return to(['dev'])
      if (states.length === 2) {
        await colloquy.conversations.addEvent(id, { role: 'user', author: 'owner', content: 'Also in blue, please' })
        return end
      }
      return end
    }
    const failing = scriptedModel({ failure: { kind: 'out-of-credit', message: 'No money left.' } })
    const { colloquy, id } = await conversationWithTask({ agents: team([route], { model: failing }) })
    expect(await colloquy.orchestrate(id)).toMatchObject({ outcome: 'ended', turns: 1 })
    expect(states[1]).toContain('No money left.')
    expect(states).toHaveLength(3)
    expect(states[2]).toContain('Also in blue, please')
    expect(await colloquy.orchestrate(id)).toMatchObject({ outcome: 'idle', turns: 0 })
    expect(states).toHaveLength(3)
  })

  it('an orchestrator names a loop in its routing, stops, and stays stopped until a person clears it', async () => {
    let calls = 0
    const route: ScriptedAnswer = () => {
      calls++
      return to(['dev'], { instruction: 'Fix the error text of the login form' })
    }
    const place = await conversationWithTask({ agents: team([route]) })
    const { id } = place
    const first = await place.colloquy.orchestrate(id)
    expect(first).toMatchObject({ outcome: 'blocked', loop: { kind: expect.stringMatching(/same-route|no-progress/) } })
    const turns = (await eventsOf(place.colloquy, id)).filter(event => event.type === 'turn.started').length
    expect(turns).toBeLessThanOrEqual(4)
    const asked1 = calls
    await place.colloquy.conversations.addEvent(id, { role: 'user', content: 'Go on!' })
    const colloquy = await place.reopen()
    await colloquy.maintain()
    expect(await colloquy.orchestrate(id)).toMatchObject({ outcome: 'blocked', turns: 0 })
    expect(calls).toBe(asked1)
    await colloquy.conversations.clearLoop(id, 'seen to')
    const again = await colloquy.orchestrate(id)
    expect(again.turns).toBeGreaterThan(0)
  })

  it('an orchestrator takes up a turn whose process was killed: nothing is routed twice, and completed agents are not run again', async () => {
    const { colloquy, id, store } = await conversationWithTask({ clock: Date.now })
    const program = fileURLToPath(new URL('../../support/processes/orchestrator.mjs', import.meta.url))
    const child = spawn(process.execPath, [program, store, id], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout!, 'data')
    for await (const { event } of colloquy.subscribe({ conversationId: id, from: 'start' }))
      if (isOfType(event, 'completion.recorded')) break
    child.kill('SIGKILL')
    await once(child, 'close')
    const asking: string[] = []
    const agent: Model = scriptedModel(({ system }) => {
      asking.push(system.includes('reviewer') ? 'qa' : 'dev')
      return 'The form is built.'
    })
    const other = await openColloquy({
      store,
      project: 'shop',
      tokens: 'fast',
      sweepEveryMs: null,
      agents: { model: agent, models: { orchestrator: scriptedModel(end) }, leaseMs: 2_500 },
    })
    onTestFinished(() => other.close())
    let result = await other.orchestrate(id)
    // Until the lease of the dead one has run out.
    while (result.outcome === 'busy') result = await other.orchestrate(id)
    expect(result).toMatchObject({ outcome: 'ended', turns: 1 })
    expect(asking).toEqual(['dev'])
    const events = await eventsOf(colloquy, id)
    expect(events.filter(event => event.type === 'turn.started')).toHaveLength(1)
    const completions = events.filter(event => event.type === 'completion.recorded')
    expect(completions.map(({ agent: name, outcome }) => `${name} ${outcome}`)).toEqual([
      'qa completed',
      'dev completed',
    ])
    const instructions = (await colloquy.conversations.getMessages(id)).filter(one => one.metadata?.turn !== undefined)
    expect(instructions).toHaveLength(1)
  })

  it('an orchestrator stops waiting when a turn takes too long, and when the turn is undone', async () => {
    const stuck = scriptedModel(() => new Promise<string>(() => undefined))
    const { colloquy, id } = await conversationWithTask({
      clock: Date.now,
      turns: { timeoutMs: 200 },
      agents: team([to(['dev']), end], { model: stuck }),
    })
    expect(await colloquy.orchestrate(id)).toMatchObject({ outcome: 'ended', turns: 1 })
    expect((await colloquy.conversations.getTurns(id)).items).toMatchObject([{ status: 'timed-out' }])

    const other = await conversationWithTask({ clock: Date.now, agents: team([to(['dev']), end], { model: stuck }) })
    const updates = other.colloquy.subscribe({ conversationId: other.id })
    const routing = other.colloquy.orchestrate(other.id)
    for await (const { event } of updates) if (isOfType(event, 'run.started') && event.event.agent === 'dev') break
    await other.colloquy.conversations.undoTurn(other.id)
    expect(await routing).toMatchObject({ outcome: 'stopped', reason: 'its turn was undone' })
  })

  it('an orchestrator waits for agents that another caller runs', async () => {
    const agents = team([to(['dev', 'ann']), end], { orchestrator: { agents: { dev: 'builds' }, outside: ['ann'] } })
    const { colloquy, id } = await conversationWithTask({ agents })
    const updates = colloquy.subscribe({ conversationId: id })
    const routing = colloquy.orchestrate(id)
    for await (const { event } of updates) if (isOfType(event, 'completion.recorded')) break
    await colloquy.conversations.addCompletionToTurn(id, { agent: 'ann', message: 'The texts are right.' })
    expect(await routing).toMatchObject({ outcome: 'ended', turns: 1 })
  })
})

it('a message to everyone is answered where the project wants that, and exactly one process routes', async () => {
  const agents = team([to(['dev']), end], { autorun: true, defaultAgent: 'orchestrator' })
  const { colloquy, store } = await freshColloquy({ agents, clock: Date.now })
  const others = await Promise.all(
    [1, 2].map(() => openColloquy({ store, project: 'shop', agents, sweepEveryMs: null, tokens: 'fast' })),
  )
  onTestFinished(async () => {
    for (const other of others) await other.close()
  })
  const updates = colloquy.subscribe()
  const { id } = await colloquy.conversations.createConversation({
    title: 'Login',
    initial: { role: 'user', content: 'Build the login page' },
  })
  for await (const { event } of updates) if (isOfType(event, 'run.ended') && event.event.agent === 'orchestrator') break
  const events = await eventsOf(colloquy, id)
  expect(events.filter(event => event.type === 'turn.started')).toHaveLength(1)
  expect(events.filter(event => event.type === 'run.started').map(({ agent }) => agent)).toEqual([
    'orchestrator',
    'dev',
  ])
})
