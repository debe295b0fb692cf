import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseLeniently } from '../../request/compaction/lenient-json.ts'
import { readRoute } from './route.ts'
import { routingText } from './routing-prompt.ts'

const choices = { agents: ['dev', 'qa', 'PM'], phase: 'plan', legalPhases: ['chat', 'execute'] }
const read = (text: string) => readRoute(parseLeniently(text), text, choices)

describe('a route', () => {
  it.each([
    ['{"agents":["dev"],"phase":"execute","reason":"go"}', { agents: ['dev'], phase: 'execute' }],
    ['Sure!\n```json\n{"agents": ["@Dev", "qa"], "reason": "both",}\n```', { agents: ['dev', 'qa'] }],
    ['{"agents":"pm, dev","phase":"PLAN","reason":"talk"}', { agents: ['PM', 'dev'], phase: 'plan' }],
    ['{"agent":"qa","reason":"check","instruction":"Try it"', { agents: ['qa'], instruction: 'Try it' }],
    ['{"agents":["END"],"reason":"all done"}', { end: true, reason: 'all done' }],
    ['END', { end: true }],
    ['**END**', { end: true }],
  ])('is read from %s', (text, decision) => {
    expect(read(text)).toMatchObject({ value: decision })
  })

  it.each([
    ['I would ask the developer.', 'no JSON'],
    ['{"agents":["ops"],"reason":"x"}', 'no agent "ops"'],
    ['{"agents":["dev"],"phase":"reflection","reason":"x"}', 'from phase plan it cannot go to "reflection"'],
    ['{"agents":["dev","END"],"reason":"x"}', 'stands alone'],
    ['{"agents":[],"reason":"x"}', 'is empty'],
    ['{"agents":["dev"]}', '"reason" is missing'],
    ['{"agents":[1],"reason":"x"}', 'must be a list of names'],
  ])('is refused with what is wrong: %s', (text, problem) => {
    expect(read(text)).toMatchObject({ problem: expect.stringContaining(problem) })
  })

  it('names only agents and phases that there are, whatever a model says', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), (value, text) => {
        const found = readRoute(value, text, choices)
        if (!('value' in found) || found.value.end) return
        expect(found.value.agents.length).toBeGreaterThan(0)
        for (const agent of found.value.agents) expect(choices.agents).toContain(agent)
        if (found.value.phase !== undefined) expect(['plan', 'chat', 'execute']).toContain(found.value.phase)
        expect(found.value.reason).not.toBe('')
      }),
    )
  })
})

describe('what a router is told', () => {
  const entry = (index: number, words: number) => ({
    agents: ['dev'],
    reason: `turn ${index}`,
    timestamp: '2026-11-16T00:00:00Z',
    completions: [{ agent: 'dev', message: 'word '.repeat(words), timestamp: '2026-11-16T00:00:00Z' }],
    outcome: 'completed',
  })

  it('[P5] fits, keeps the newest turns, and says how many were left out', () => {
    const size = fc.record({ turns: fc.integer({ min: 0, max: 40 }), words: fc.integer({ min: 0, max: 3000 }) })
    fc.assert(
      fc.property(size, fc.integer({ min: 3000, max: 400_000 }), ({ turns, words }, limit) => {
        const history = Array.from({ length: turns }, (_, index) => entry(index, words))
        const state = { user_request: 'Build it', routing_history: history, current_routing: null, agents: [] }
        const text = routingText(state, candidate => candidate.length <= limit)
        expect(text.length).toBeLessThanOrEqual(limit)
        const told = JSON.parse(text) as { routing_history: Array<{ reason: string }>; turns_left_out?: number }
        expect((told.turns_left_out ?? 0) + told.routing_history.length).toBe(turns)
        if (turns > 0) expect(told.routing_history.at(-1)?.reason).toBe(`turn ${turns - 1}`)
      }),
      { numRuns: 60 },
    )
  })
})
