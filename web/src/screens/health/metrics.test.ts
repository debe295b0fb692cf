import { describe, expect, it } from 'vitest'
import { byLabel, parseMetrics, quantile, rate, total } from './metrics.ts'

const text = (events: number, fast: number, slow: number) => `# HELP x y
colloquy_events_total{type="message.added"} ${events}
colloquy_events_total{type="session.expired"} 2
colloquy_project_messages{project="a \\"b\\" \\\\ c"} 7
colloquy_append_seconds_bucket{le="0.001"} ${fast}
colloquy_append_seconds_bucket{le="0.25"} ${fast + slow}
colloquy_append_seconds_bucket{le="+Inf"} ${fast + slow}
colloquy_subscribers 3
`

describe('figures of the server', () => {
  const before = parseMetrics(text(10, 0, 0), 1000)
  const after = parseMetrics(text(30, 90, 10), 3000)

  it('metrics are read with their labels', () => {
    expect(total(after, 'colloquy_events_total')).toBe(32)
    expect(total(after, 'colloquy_events_total', 'session.expired')).toBe(2)
    expect(total(after, 'colloquy_subscribers')).toBe(3)
    expect([...byLabel(after, 'colloquy_project_messages', 'project')]).toEqual([['a "b" \\ c', 7]])
  })

  it('metrics become rates, but not across a restart', () => {
    expect(rate(before, after, 'colloquy_events_total')).toBe(10)
    expect(rate(after, { ...before, at: 5000 }, 'colloquy_events_total')).toBeUndefined()
  })

  it('metrics say what a share of the answers stayed under, and nothing without answers', () => {
    expect(quantile('colloquy_append_seconds', 0.5, after, before)).toBe(1)
    expect(quantile('colloquy_append_seconds', 0.95, after, before)).toBe(250)
    expect(quantile('colloquy_append_seconds', 0.5, before)).toBeUndefined()
    expect(quantile('colloquy_request_seconds', 0.5, after)).toBeUndefined()
  })
})
