/** Routing that goes in circles is found in the log, blocked, and goes on only when a person clears it. */
import type { Colloquy, OpenOptions } from 'colloquy'
import { RoutingBlocked } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import { loops } from '../../../bench/loops.ts'
import { quickSizes } from '../../../bench/support/sizes.ts'
import { errorOf } from '../../../src/testing/builders.ts'
import { freshColloquy, hour } from '../../support/colloquy.ts'
import { recordedRuns, recordedRunsAreThere, replay } from '../../support/recordings/recorded-runs.ts'

type Loops = Exclude<NonNullable<OpenOptions['turns']>['loops'], 'off' | undefined>

const onlyWith = (loops: Loops): OpenOptions => ({
  turns: { loops: { repeats: null, alternations: null, noProgress: null, hopLimit: null, ...loops } },
})

async function conversationWithTask(options: OpenOptions = {}) {
  const store = await freshColloquy(options)
  const { id } = await store.colloquy.conversations.createConversation({
    title: 'Login',
    initial: { role: 'user', content: 'Build the login page' },
  })
  return Object.assign(store, { id })
}

/** Routes to an agent and has it complete. */
async function take(colloquy: Colloquy, id: string, agent: string, instruction: string, result: string): Promise<void> {
  const turn = { agents: [agent], reason: 'next', instruction, orchestrator: 'router' }
  await colloquy.conversations.startOrchestratorTurn(id, turn)
  await colloquy.conversations.addCompletionToTurn(id, { agent, message: result })
}

const fresh = (() => {
  let number = 0
  return () => Array.from({ length: 12 }, () => `word${number++}`).join(' ')
})()

const loopsIn = async (colloquy: Colloquy, id: string) =>
  (await colloquy.conversations.getEvents(id)).filter(({ event }) => event.type === 'loop.detected')

describe('a loop is', () => {
  it('a loop is the same agents asked for the same again and again, in nearly the same words', async () => {
    const { colloquy, id } = await conversationWithTask(onlyWith({ repeats: 3 }))
    await take(colloquy, id, 'dev', 'Fix the error text of the login form', fresh())
    await take(colloquy, id, 'qa', 'Fix the error text of the login form', fresh())
    await take(colloquy, id, 'dev', 'Please fix the error text of the login form', fresh())
    await take(colloquy, id, 'dev', 'Write the sign-up page with two fields', fresh())
    const error = await errorOf(() => take(colloquy, id, 'dev', 'Fix the login form error text!', fresh()))
    const starts = (await colloquy.conversations.getEvents(id)).filter(({ event }) => event.type === 'turn.started')
    expect(error).toBeInstanceOf(RoutingBlocked)
    expect(error).toMatchObject({ kind: 'same-route', evidence: [starts[0]!.version, starts[2]!.version] })
    expect(await loopsIn(colloquy, id)).toMatchObject([{ event: { kind: 'same-route', agents: ['dev'] } }])
  })

  it('a loop is two agents that take turns without end', async () => {
    const { colloquy, id } = await conversationWithTask(onlyWith({ alternations: 3 }))
    for (let round = 0; round < 2; round++) {
      await take(colloquy, id, 'dev', fresh(), fresh())
      await take(colloquy, id, 'qa', fresh(), fresh())
    }
    await take(colloquy, id, 'dev', fresh(), fresh())
    await expect(take(colloquy, id, 'qa', fresh(), fresh())).rejects.toMatchObject({ kind: 'alternating' })
  })

  it('a loop is turns that bring nothing new, and that no agent answers', async () => {
    const { colloquy, id } = await conversationWithTask(onlyWith({ noProgress: 2 }))
    const page = 'The page shows a list of twelve results about hiking trails near the lake'
    await take(colloquy, id, 'web', 'Search for trails', page)
    await take(colloquy, id, 'web', 'Look at reviews', `I clicked. ${page}`)
    await take(colloquy, id, 'web', 'Open the second result', `${page} again`)
    await expect(take(colloquy, id, 'web', fresh(), '')).rejects.toMatchObject({ kind: 'no-progress' })

    const other = (await colloquy.conversations.createConversation({ title: 'Silence' })).id
    for (let turn = 0; turn < 3; turn++) {
      await colloquy.conversations.startOrchestratorTurn(other, {
        agents: ['dev'],
        reason: fresh(),
        orchestrator: 'router',
      })
      await colloquy.conversations.failTurn(other, 'no answer')
    }
    await expect(take(colloquy, other, 'dev', fresh(), '')).rejects.toMatchObject({ kind: 'no-progress' })
  })

  it('a loop is too many turns without a message from a person', async () => {
    const { colloquy, id } = await conversationWithTask(onlyWith({ hopLimit: 5 }))
    for (let turn = 0; turn < 5; turn++) await take(colloquy, id, `agent-${turn}`, fresh(), fresh())
    await expect(take(colloquy, id, 'dev', fresh(), '')).rejects.toMatchObject({ kind: 'hop-limit' })
  })
})

describe('no loop is', () => {
  it('work that goes on is no loop: other words, other results, other agents', async () => {
    const { colloquy, id } = await conversationWithTask()
    for (let turn = 0; turn < 20; turn++) await take(colloquy, id, ['pm', 'dev', 'qa'][turn % 3]!, fresh(), fresh())
    expect(await loopsIn(colloquy, id)).toEqual([])
  })

  it('agents of few words are no loop: "done" again and again says nothing about progress', async () => {
    const { colloquy, id } = await conversationWithTask(onlyWith({ noProgress: 2 }))
    for (let turn = 0; turn < 6; turn++) await take(colloquy, id, 'dev', fresh(), 'Done, all tests pass.')
    expect(await loopsIn(colloquy, id)).toEqual([])
  })

  it('the same route for a new request of a person is no loop', async () => {
    const { colloquy, id } = await conversationWithTask(onlyWith({ repeats: 3, hopLimit: 3 }))
    for (let request = 0; request < 4; request++) {
      await take(colloquy, id, 'dev', 'Fix the error text of the form', fresh())
      await take(colloquy, id, 'dev', 'Fix the error text of the form', fresh())
      await colloquy.conversations.addEvent(id, { role: 'user', content: 'It is still wrong' })
    }
    expect(await loopsIn(colloquy, id)).toEqual([])
  })

  it('a decision that was taken back is no loop', async () => {
    const { colloquy, id } = await conversationWithTask(onlyWith({ repeats: 2 }))
    await colloquy.conversations.startOrchestratorTurn(id, {
      agents: ['dev'],
      reason: 'Fix the form',
      orchestrator: 'router',
    })
    await colloquy.conversations.undoTurn(id)
    await take(colloquy, id, 'dev', 'Fix the form', fresh())
  })
})

describe('a blocked conversation', () => {
  const looping = async (options: OpenOptions = onlyWith({ repeats: 3 })) => {
    const store = await conversationWithTask(options)
    const again = () => take(store.colloquy, store.id, 'dev', 'Fix the error text of the form', fresh())
    await again()
    await again()
    await expect(again()).rejects.toThrow(RoutingBlocked)
    return Object.assign(store, { again })
  }

  it('a blocked conversation accepts no route until a person clears it; then the same evidence does not fire again, new evidence does', async () => {
    const { colloquy, id, again } = await looping()
    await expect(take(colloquy, id, 'qa', fresh(), fresh())).rejects.toThrow(RoutingBlocked)
    expect(await loopsIn(colloquy, id)).toHaveLength(1)

    await colloquy.as({ actor: 'owner' }).conversations.clearLoop(id, 'the instruction was wrong')
    await again()
    await again()
    await expect(again()).rejects.toThrow(RoutingBlocked)
    expect(await loopsIn(colloquy, id)).toHaveLength(2)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('a blocked conversation is not re-armed by the sweep, a restart, time, or a person who speaks', async () => {
    const store = await looping()
    store.pass(100 * hour)
    await store.colloquy.maintain()
    const colloquy = await store.reopen()
    await colloquy.maintain()
    await colloquy.conversations.addEvent(store.id, { role: 'user', content: 'How is it going?' })
    const before = (await colloquy.conversations.getConversation(store.id)).version
    await expect(take(colloquy, store.id, 'qa', fresh(), fresh())).rejects.toThrow(RoutingBlocked)
    expect((await colloquy.conversations.getConversation(store.id)).version).toBe(before)
  })

  it('a blocked conversation goes on by itself where the project has a rule for it, and the log says which', async () => {
    const spoken = await looping(onlyWith({ repeats: 3, clearOn: { request: true } }))
    await expect(spoken.again()).rejects.toThrow(RoutingBlocked)
    await spoken.colloquy.conversations.addEvent(spoken.id, { role: 'user', content: 'Try the other file' })
    await spoken.again()
    const rested = await looping(onlyWith({ repeats: 3, clearOn: { afterMs: hour } }))
    await expect(rested.again()).rejects.toThrow(RoutingBlocked)
    rested.pass(2 * hour)
    await rested.again()
    const cleared = async ({ colloquy, id }: { colloquy: Colloquy; id: string }) =>
      (await colloquy.conversations.getEvents(id)).flatMap(({ event }) =>
        event.type === 'loop.cleared' ? event.rule : [],
      )
    expect([await cleared(spoken), await cleared(rested)]).toEqual([['new-request'], ['cool-down']])
  })

  it('a blocked conversation is not blocked where loops are off', async () => {
    const { colloquy, id } = await conversationWithTask({ turns: { loops: 'off' } })
    for (let turn = 0; turn < 8; turn++) await take(colloquy, id, 'dev', 'The same', 'The same')
  })
})

describe.skipIf(!recordedRunsAreThere)('on recorded runs (skipped where ../shared/data is missing)', () => {
  it('loop detection on recorded runs names most of the stalls and interrupts few of the others', async () => {
    const findings = await loops.run(quickSizes, () => undefined)
    const [named, , interrupted, quiet, satisfied] = findings.map(({ ours }) => Number.parseInt(ours, 10))
    expect(named).toBeGreaterThanOrEqual(18)
    expect(interrupted).toBeLessThanOrEqual(4)
    expect(quiet).toBeLessThanOrEqual(1)
    expect(satisfied).toBe(0)
  })

  it('loop detection on recorded runs points at turns of the log', async () => {
    const { colloquy } = await freshColloquy()
    const run = recordedRuns().find(({ name }) => name === '8.json')!
    const { blocked } = await replay(colloquy, run)
    const { items } = await colloquy.conversations.listConversations()
    const events = await colloquy.conversations.getEvents(items[0]!.id)
    expect(blocked!.evidence.length).toBeGreaterThan(1)
    for (const version of blocked!.evidence) expect(events[version - 1]?.event.type).toBe('turn.started')
  })
})
