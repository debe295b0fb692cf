import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseLeniently } from '../../request/compaction/lenient-json.ts'
import { readRoute } from './route.ts'
import { routingText } from './routing-prompt.ts'

const choices = { agents: ['dev', 'qa', 'PM'], phase: 'plan', legalPhases: ['chat', 'execute'] }
const read = (text: string) => readRoute(parseLeniently(text), text, choices)

describe('readRoute', () => {
  it.each([
    ['{"agents":["dev"],"phase":"execute","reason":"go"}', { agents: ['dev'], phase: 'execute' }],
    ['Sure!\n```json\n{"agents": ["@Dev", "qa"], "reason": "both",}\n```', { agents: ['dev', 'qa'] }],
    ['{"agents":"pm, dev","phase":"PLAN","reason":"talk"}', { agents: ['PM', 'dev'], phase: 'plan' }],
    ['{"agent":"qa","reason":"check","instruction":"Try it"', { agents: ['qa'], instruction: 'Try it' }],
    ['{"agents":["END"],"reason":"all done"}', { end: true, reason: 'all done' }],
    ['END', { end: true }],
    ['**END**', { end: true }],
  ])('reads a route from %s', (text, decision) => {
    expect(read(text)).toMatchObject({ value: decision })
  })

  it.each([
    ['I would ask the developer.', 'no JSON'],
    ['{"agents":["ops"],"reason":"x"}', 'no agent "ops"'],
    ['{"agents":["dev"],"phase":"reflection","reason":"x"}', 'phase plan cannot change to "reflection"'],
    ['{"agents":["dev","END"],"reason":"x"}', 'cannot be combined'],
    ['{"agents":[],"reason":"x"}', 'is empty'],
    ['{"agents":["dev"]}', '"reason" is missing'],
    ['{"agents":[1],"reason":"x"}', 'must be a list of names'],
  ])('names the problem of %s', (text, problem) => {
    expect(read(text)).toMatchObject({ problem: expect.stringContaining(problem) })
  })

  it('returns only existing agents and phases, whatever a model answers', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), (value, text) => {
        const result = readRoute(value, text, choices)
        if (!('value' in result) || result.value.end) return
        const { agents, phase, reason } = result.value
        expect(agents.length).toBeGreaterThan(0)
        for (const agent of agents) expect(choices.agents).toContain(agent)
        if (phase !== undefined) expect(['plan', 'chat', 'execute']).toContain(phase)
        expect(reason).not.toBe('')
      }),
    )
  })
})

describe('routingText', () => {
  const entry = (index: number, words: number) => ({
    agents: ['dev'],
    reason: `turn ${index}`,
    timestamp: '2026-11-16T00:00:00Z',
    completions: [{ agent: 'dev', message: 'word '.repeat(words), timestamp: '2026-11-16T00:00:00Z' }],
    outcome: 'completed',
  })

  it('[P5] fits the limit, keeps the newest turns, and counts the omitted ones', () => {
    const size = fc.record({ turns: fc.integer({ min: 0, max: 40 }), words: fc.integer({ min: 0, max: 3000 }) })
    fc.assert(
      fc.property(size, fc.integer({ min: 3000, max: 400_000 }), ({ turns, words }, limit) => {
        const history = Array.from({ length: turns }, (_, index) => entry(index, words))
        const state = { user_request: 'Build it', routing_history: history, current_routing: null, agents: [] }
        const text = routingText(state, candidate => candidate.length <= limit)
        expect(text.length).toBeLessThanOrEqual(limit)
        const reduced = JSON.parse(text) as { routing_history: Array<{ reason: string }>; turns_left_out?: number }
        expect((reduced.turns_left_out ?? 0) + reduced.routing_history.length).toBe(turns)
        if (turns > 0) expect(reduced.routing_history.at(-1)?.reason).toBe(`turn ${turns - 1}`)
      }),
      { numRuns: 60 },
    )
  })
})
