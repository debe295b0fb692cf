/** Whatever a team does, its head is what the log says, and no rule is broken. */
import { type Colloquy, ColloquyError, type ConversationEvent, type RecordedEvent } from 'colloquy'
import { type ConversationHead, evolveConversation } from 'colloquy/stores'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { defaultPhases } from '../../../src/log/commands/phase-set.ts'
import { conversationCreated, freshName } from '../../../src/testing/builders.ts'
import { freshColloquy, hour } from '../../support/colloquy.ts'
import { folderWith } from '../../support/repository.ts'

const agent = fc.constantFrom('pm', 'dev', 'qa', '__proto__', '7')
const id = fc.constantFrom('a', 'b', 'c')
const phase = fc.constantFrom(...Object.keys(defaultPhases.phases))
const text = fc.constantFrom('fix the form', 'fix the form please', 'write tests', '')

/** Facts in any order, fitting together or not: a fold must take what the log has. */
const fact: fc.Arbitrary<ConversationEvent> = fc.oneof(
  fc.record({ type: fc.constant('phase.changed' as const), to: phase, forgetsReadFiles: fc.boolean() }),
  fc.record({
    type: fc.constant('phase.stuck' as const),
    phase,
    since: fc.constant('2026-01-01T00:00:00.000Z'),
    forMs: fc.nat(),
  }),
  fc.record({
    type: fc.constant('turn.started' as const),
    turnId: id,
    number: fc.constant(1),
    orchestrator: agent,
    agents: fc.uniqueArray(agent, { minLength: 1, maxLength: 3 }),
    reason: text,
    request: fc.integer({ min: 1, max: 2 }),
  }),
  fc.record({
    type: fc.constant('completion.recorded' as const),
    turnId: id,
    agent,
    outcome: fc.constantFrom('completed' as const, 'failed' as const),
    message: text,
  }),
  fc.record({
    type: fc.constant('turn.resolved' as const),
    turnId: id,
    started: fc.constant(1),
    completions: fc.constant<number[]>([]),
    outcome: fc.constantFrom('completed' as const, 'timed-out' as const),
    missing: fc.constant<string[]>([]),
  }),
  fc.record({
    type: fc.constant('turn.undone' as const),
    turnId: id,
    started: fc.constant(1),
    completions: fc.constant<number[]>([]),
  }),
  fc.record({
    type: fc.constant('loop.detected' as const),
    kind: fc.constantFrom('same-route' as const, 'hop-limit' as const),
    agents: fc.constant<string[]>(['dev']),
    evidence: fc.constant<number[]>([1]),
    finding: text,
  }),
  fc.record({ type: fc.constant('loop.cleared' as const) }),
  fc.record({
    type: fc.constant('delegation.started' as const),
    delegationId: id,
    childId: id,
    from: agent,
    to: agent,
    title: text,
  }),
  fc.record({
    type: fc.constant('delegation.ended' as const),
    delegationId: id,
    outcome: fc.constantFrom('completed' as const, 'aborted' as const),
  }),
  fc.record({ type: fc.constant('file.read' as const), agent, path: fc.constantFrom('a.ts', 'b.ts', 'c.ts') }),
  fc.record({ type: fc.constant('execution.started' as const), executionId: id, agent }),
  fc.record({ type: fc.constant('execution.stopped' as const), executionId: id, agent, ms: fc.nat(1000) }),
)

function recordedEvent(event: ConversationEvent, version: number): RecordedEvent {
  const place = { project: 'shop', conversationId: 'conversation', position: '', actor: 'x', channel: 'test', hash: '' }
  return { ...place, version, at: new Date(Date.UTC(2026, 0, 1) + version * 1000).toISOString(), event }
}

/** The same in the plainest way: a look over the whole list for each question. */
function naively(events: readonly ConversationEvent[]) {
  const of = <T extends ConversationEvent['type']>(...types: T[]) =>
    events.filter((event): event is Extract<ConversationEvent, { type: T }> => (types as string[]).includes(event.type))
  const after = (index: number) => events.slice(index + 1)
  const lastForgotten = events.findLastIndex(event => event.type === 'phase.changed' && event.forgetsReadFiles === true)
  const read = new Set(
    after(lastForgotten).flatMap(event => (event.type === 'file.read' ? [`${event.agent} ${event.path}`] : [])),
  )

  const lastStart = events.findLastIndex(event => event.type === 'turn.started')
  const turn = events[lastStart]?.type === 'turn.started' ? (events[lastStart] as { turnId: string }).turnId : undefined
  const isClosed = after(lastStart).some(
    event => (event.type === 'turn.resolved' || event.type === 'turn.undone') && event.turnId === turn,
  )
  const blocked = events.findLastIndex(event => event.type === 'loop.detected')
  const cleared = events.findLastIndex(event => event.type === 'loop.cleared')

  let running: Array<{ id: string; agent: string }> = []
  let pending: string[] = []
  let time = 0
  let anyStarted = false
  for (const event of events) {
    if (event.type === 'execution.started') {
      anyStarted = true
      running.push({ id: event.executionId, agent: event.agent })
    }
    if (event.type === 'execution.stopped' && anyStarted) {
      time += event.ms
      running = running.filter(one => one.id !== event.executionId)
    }
    if (event.type === 'delegation.started') pending.push(event.delegationId)
    if (event.type === 'delegation.ended') {
      const at = pending.indexOf(event.delegationId)
      if (at >= 0) pending = pending.toSpliced(at, 1)
    }
  }
  return {
    phase: of('phase.changed').at(-1)?.to,
    read,
    turns: of('turn.started').length,
    open: turn !== undefined && !isClosed ? turn : undefined,
    isBlocked: blocked > cleared,
    running: running.map(one => one.agent).sort(),
    pending: pending.sort(),
    time,
  }
}

it('the head folded event by event equals a summary of the whole log', () => {
  fc.assert(
    fc.property(fc.array(fact, { maxLength: 60 }), facts => {
      let head: ConversationHead | undefined
      for (const [index, event] of [conversationCreated(), ...facts].entries()) {
        const before = JSON.stringify(head)
        const next = evolveConversation(head, recordedEvent(event, index + 1))
        expect(JSON.stringify(head)).toBe(before)
        // A head is kept as JSON: what comes back must fold on as what went in would.
        head = index % 3 === 0 ? (JSON.parse(JSON.stringify(next)) as ConversationHead) : next
      }
      const { info } = head!
      const expected = naively(facts)
      expect(info.phase).toBe(expected.phase)
      const read = Object.entries(info.readFiles ?? {}).flatMap(([name, paths]) => paths.map(path => `${name} ${path}`))
      expect(new Set(read)).toEqual(expected.read)
      expect(read.length).toBe(expected.read.size)
      expect(info.turns?.count ?? 0).toBe(expected.turns)
      expect(info.turns?.open?.id).toBe(expected.open)
      expect(info.turns?.loop !== undefined).toBe(expected.isBlocked)
      expect((info.delegations?.pending ?? []).map(one => one.id).sort()).toEqual(expected.pending)
      expect((info.execution?.running ?? []).map(one => one.agent).sort()).toEqual(expected.running)
      expect(info.execution?.totalMs ?? 0).toBe(expected.time)
      expect(Object.values(info.execution?.agents ?? {}).reduce((sum, ms) => sum + ms, 0)).toBe(expected.time)
      expect(info.turns?.recent.length ?? 0).toBeLessThanOrEqual(12)
    }),
    { numRuns: 500 },
  )
})

const command = fc.record({
  what: fc.constantFrom(
    ...['move', 'move', 'route', 'route', 'route', 'complete', 'complete', 'complete', 'call', 'fail', 'undo', 'clear'],
    ...['delegate', 'end', 'abort', 'read', 'start', 'stop', 'say', 'wait', 'sweep', 'finish', 'resume'],
  ),
  agent,
  other: agent,
  phase,
  text: fc.constantFrom('fix the form', 'write the tests', 'look at it'),
  odd: fc.boolean(),
})
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

async function carryOut(one: Command, colloquy: Colloquy, conversationId: string, pass: (ms: number) => void) {
  const { conversations } = colloquy
  const { agent, other, phase, text, odd } = one
  const children = async () =>
    (await conversations.getDelegations(conversationId)).filter(({ status }) => status === 'pending')
  switch (one.what) {
    case 'move':
      return conversations.transitionPhase(conversationId, { to: phase, summary: text })
    case 'route': {
      const agents = [...new Set(odd ? [agent, other] : [agent])]
      const turn = { agents, reason: text, ...(odd && { phase }), orchestrator: 'router' }
      return conversations.startOrchestratorTurn(conversationId, turn)
    }
    case 'complete':
      return conversations.addCompletionToTurn(conversationId, {
        agent,
        message: text,
        ...(odd && { outcome: 'failed' as const }),
      })
    case 'call': {
      const parts = [{ type: 'tool-call' as const, callId: 'c', name: 'complete', input: { response: text } }]
      return conversations.addEvent(conversationId, { role: 'assistant', author: agent, parts, pinned: odd })
    }
    case 'fail':
      return conversations.failTurn(conversationId, text)
    case 'undo':
      return conversations.undoTurn(conversationId, { reason: text })
    case 'clear':
      return conversations.clearLoop(conversationId, text)
    case 'delegate':
      return conversations.delegate(conversationId, { from: agent, to: other, task: text })
    case 'end': {
      const [child] = await children()
      return (
        child &&
        conversations.completeDelegation(child.conversationId, { result: text, ...(odd && { outcome: 'failed' }) })
      )
    }
    case 'abort': {
      const [child] = await children()
      return child && conversations.abortDelegation(conversationId, child.id, text)
    }
    case 'read':
      return conversations.recordReadFile(conversationId, { agent, path: odd ? 'a.ts' : 'src/b.ts' })
    case 'start':
      return conversations.startExecution(conversationId, agent)
    case 'stop':
      return conversations.stopExecution(conversationId, { agent })
    case 'say':
      return conversations.addEvent(conversationId, { role: 'user', content: text })
    case 'wait':
      return pass(odd ? hour : 60_000)
    case 'sweep':
      return colloquy.maintain()
    case 'finish':
      return odd && conversations.complete(conversationId)
    case 'resume':
      return conversations.reopen(conversationId)
  }
}

function expectRules(events: readonly RecordedEvent[]): void {
  let open: string | undefined
  let isBlocked = false
  const completed = new Set<string>()
  const ended = new Set<string>()
  let before: string | undefined
  for (const { event } of events) {
    if (event.type === 'phase.changed') {
      // Only taking a decision back may go against the table.
      const isLegal = defaultPhases.phases[event.from!]!.to.includes(event.to)
      expect(isLegal || before === 'turn.undone').toBe(true)
    }
    if (event.type === 'turn.started') {
      expect(open).toBeUndefined()
      expect(isBlocked).toBe(false)
      open = event.turnId
    }
    if (event.type === 'completion.recorded') {
      expect(event.turnId).toBe(open)
      expect(completed.has(`${event.turnId} ${event.agent}`)).toBe(false)
      completed.add(`${event.turnId} ${event.agent}`)
    }
    if ((event.type === 'turn.resolved' || event.type === 'turn.undone') && event.turnId === open) open = undefined
    if (event.type === 'loop.detected') isBlocked = true
    if (event.type === 'loop.cleared') isBlocked = false
    if (event.type === 'delegation.ended') {
      expect(ended.has(event.delegationId)).toBe(false)
      ended.add(event.delegationId)
    }
    before = event.type
  }
}

it('[P4] [P11] rules hold and folding the log again gives the stored head, whatever a team does through the front door', async () => {
  const root = folderWith({ 'a.ts': '', 'src/b.ts': '' })
  const store = await freshColloquy({ root, turns: { timeoutMs: hour, loops: { repeats: 3, hopLimit: 6 } } })
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 40 }), async commands => {
      const colloquy = store.colloquy.as({ project: freshName('project') })
      const { id } = await colloquy.conversations.createConversation({ title: 'Team' })
      for (const one of commands) {
        try {
          await carryOut(one, colloquy, id, store.pass)
        } catch (error) {
          if (!(error instanceof ColloquyError) || error.status >= 500) throw error
        }
      }
      const events = await colloquy.conversations.getEvents(id)
      expectRules(events)
      let head: ConversationHead | undefined
      for (const event of events) head = evolveConversation(head, event)
      const { info, version, activeAt } = head!
      expect(await colloquy.conversations.getConversation(id)).toEqual({ ...info, version, activeAt })
      const turns = await colloquy.conversations.getTurns(id, { limit: 100 })
      expect(turns.items).toHaveLength(info.turns?.count ?? 0)
      expect((await colloquy.verify()).damages).toEqual([])
    }),
    { numRuns: 40 },
  )
  const again = await store.reopen()
  expect((await again.verify({ allProjects: true })).damages).toEqual([])
})
