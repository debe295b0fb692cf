import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { startDispatch } from '../../log/commands/work/dispatch.ts'
import type { ConversationEvent } from '../../log/events/event.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { DispatchOutcome } from '../../log/events/work/dispatch.ts'
import { type ConversationHead, evolveConversation } from '../../log/views/conversation.ts'
import { printOf } from '../../log/views/text-sketch.ts'
import { rememberedDispatches } from '../../log/views/work/dispatches.ts'
import { GuardSettings } from './dispatch-settings.ts'
import { findGuard, waitsUntil } from './guards.ts'

const item = { type: 'bead', beadId: 'b' } as const

/** A bead's log, folded as a store folds it. */
function log() {
  let head: ConversationHead | undefined
  let now = Date.parse('2026-11-16T00:00:00Z')
  const record = (event: ConversationEvent) => {
    const version = (head?.version ?? 0) + 1
    const recorded = { project: 'p', conversationId: 'c', version, at: new Date(now++).toISOString(), event }
    head = evolveConversation(head, recorded as RecordedEvent)
    return version
  }
  record({ type: 'conversation.created', title: 'b', workItem: item })
  record({ type: 'work.described', item, title: 'b' })
  return {
    record,
    get head() {
      return head!
    },
    get state() {
      return head!.info.dispatches
    },
    get now() {
      return now
    },
    pass(milliseconds: number) {
      now += milliseconds
    },
    /** The write of a dispatcher that has claimed the item. */
    dispatch(agent: string, settings: GuardSettings) {
      const decide = startDispatch({
        item,
        dispatchId: `d${head!.version}`,
        agent,
        node: 'n',
        states: ['open', 'in_progress'],
        to: 'in_progress',
        parkedIn: 'parked',
        guard: state => findGuard(state, agent, settings),
        waitsUntil: state => waitsUntil(state, settings),
        conversation: { title: 'b' },
      })
      const events = decide({ conversation: head!, session: undefined }, now)
      for (const event of events) record(event)
      return events
    },
    end(outcome: DispatchOutcome, text = '', agent = 'dev') {
      const { open } = head!.info.dispatches!
      record({ type: 'dispatch.ended', item, dispatchId: open!.id, agent, outcome, print: printOf(text) })
    },
  }
}

const words = (() => {
  let number = 0
  return () => Array.from({ length: 12 }, () => `word${number++}`).join(' ')
})()

const settings = GuardSettings.parse({ backOffMs: 0 })

describe('guards', () => {
  it('guards stop an item that was dispatched too often', () => {
    const bead = log()
    for (let hop = 0; hop < settings.hopLimit; hop++) {
      expect(bead.dispatch('dev', settings).some(event => event.type === 'dispatch.started')).toBe(true)
      bead.end('continues', words())
    }
    const events = bead.dispatch('dev', settings)
    expect(events.map(event => event.type)).toEqual(['guard.tripped', 'work.moved'])
    expect(bead.head.info.work).toMatchObject({
      state: 'parked',
      move: { reason: expect.stringContaining('20 times') },
    })
  })

  it('guards stop an item that two agents hand to each other', () => {
    const bead = log()
    for (let round = 0; round < 7; round++) {
      const agent = round % 2 === 0 ? 'dev' : 'qa'
      bead.dispatch(agent, settings)
      bead.end('continues', words(), agent)
    }
    expect(findGuard(bead.state, 'dev', settings)).toBeUndefined()
    expect(findGuard(bead.state, 'qa', settings)).toMatchObject({ kind: 'alternation' })
  })

  it('guards stop an item whose dispatches bring nothing new', () => {
    const bead = log()
    const same = 'I looked at the processor and found several workers'
    for (const text of [same, `${same} again`, `Again ${same}`]) {
      expect(findGuard(bead.state, 'dev', settings)).toBeUndefined()
      bead.dispatch('dev', settings)
      bead.end('continues', text)
    }
    expect(findGuard(bead.state, 'dev', settings)).toMatchObject({ kind: 'no-progress' })
  })

  it.each([
    ['failed', 'failures'],
    ['crashed', 'crashes'],
  ] as const)('stop an item that %s repeatedly', (outcome, kind) => {
    const bead = log()
    for (let time = 0; time < 5; time++) {
      expect(findGuard(bead.state, 'dev', settings)).toBeUndefined()
      bead.dispatch('dev', settings)
      bead.end(outcome)
    }
    expect(findGuard(bead.state, 'dev', settings)).toMatchObject({ kind, evidence: expect.any(Array) })
  })

  it('guards delay an item after a failure, longer after each further one, and by a cool-down after any dispatch', () => {
    const bead = log()
    const patient = { ...settings, backOffMs: 1000, mostBackOffMs: 3000, coolDownMs: 10 }
    const waits: number[] = []
    for (let time = 0; time < 4; time++) {
      bead.dispatch('dev', patient)
      bead.end('failed')
      waits.push(waitsUntil(bead.state, patient) - Date.parse(bead.state!.recent.at(-1)!.endedAt))
      expect(bead.dispatch('dev', patient)).toEqual([])
      bead.pass(5000)
    }
    expect(waits).toEqual([1000, 2000, 3000, 3000])
    bead.dispatch('dev', patient)
    bead.end('continues', words())
    expect(waitsUntil(bead.state, patient) - Date.parse(bead.state!.recent.at(-1)!.endedAt)).toBe(10)
  })
})

describe('guards over any sequence of dispatches', () => {
  const agents = fc.constantFrom('dev', 'qa', 'pm')
  const outcome = fc.constantFrom<DispatchOutcome>('continues', 'failed', 'crashed', 'stopped', 'done')
  /** Everything a dispatcher can do, in any order. */
  const step = fc.oneof(
    fc.record({ action: fc.constant('dispatch' as const), agent: agents }),
    fc.record({ action: fc.constant('end' as const), outcome, text: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ action: fc.constant('move' as const), to: fc.constantFrom('open', 'in_progress', 'parked', 'done') }),
    fc.record({ action: fc.constant('wait' as const), forMs: fc.integer({ min: 0, max: 10_000_000 }) }),
  )
  const texts = ['', 'one two three four five six', 'seven eight nine ten eleven', 'twelve thirteen fourteen fifteen']
  type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

  function perform(bead: ReturnType<typeof log>, performed: Step): void {
    if (performed.action === 'dispatch') bead.dispatch(performed.agent, settings)
    else if (performed.action === 'end') {
      if (bead.state?.open) bead.end(performed.outcome, texts[performed.text], bead.state.open.agent)
    } else if (performed.action === 'wait') bead.pass(performed.forMs)
    else bead.record({ type: 'work.moved', item, from: bead.head.info.work!.state, to: performed.to })
  }

  it('guards are not reset by anything a dispatcher does', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), steps => {
        const bead = log()
        let isTripped = false
        let starts = 0
        for (const performed of steps) {
          const before = bead.state?.count ?? 0
          perform(bead, performed)
          const started = (bead.state?.count ?? 0) - before
          starts += started
          // A stopped item is never dispatched again.
          expect(isTripped && started > 0).toBe(false)
          isTripped ||= bead.state?.tripped !== undefined
          expect(bead.state?.tripped !== undefined).toBe(isTripped)
        }
        expect(starts).toBeLessThanOrEqual(settings.hopLimit)
        expect(bead.state?.hops ?? 0).toBe(starts)
        expect(bead.state?.recent.length ?? 0).toBeLessThanOrEqual(rememberedDispatches)
      }),
    )
  })

  it('guards start over when a person clears them: earlier dispatches cannot trip them again', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), agents, (steps, agent) => {
        const bead = log()
        for (const performed of steps) perform(bead, performed)
        if (bead.state?.open) bead.end('stopped')
        bead.record({ type: 'guard.cleared', item })
        expect(findGuard(bead.state, agent, settings)).toBeUndefined()
        expect(bead.state).toMatchObject({ hops: 0, failures: 0, crashes: 0 })
      }),
    )
  })

  it('guards depend on the log only: the same log gives the same finding', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), agents, (steps, agent) => {
        const [bead, copy] = [log(), log()]
        for (const performed of steps) {
          perform(bead, performed)
          perform(copy, performed)
        }
        expect(findGuard(bead.state, agent, settings)).toEqual(findGuard(copy.state, agent, settings))
        expect(findGuard(bead.state, agent, settings)).toEqual(findGuard(bead.state, agent, settings))
      }),
    )
  })
})
