import { describe, expect, it } from 'vitest'
import { type Column, table } from './table.ts'
import { textWidth } from './text-width.ts'

type Row = readonly [id: string, agent: string, about: string]

const shape: ReadonlyArray<Column<Row>> = [
  { heading: 'ID', of: ([id]) => id },
  { heading: 'AGENT', of: ([, agent]) => agent, gives: true },
  { heading: 'ABOUT', of: ([, , about]) => about, gives: true },
]

describe('a table', () => {
  it('a table stays on its lines however long its cells are', () => {
    const rows: Row[] = [
      ['1', 'an agent with a very long name indeed', 'x'],
      ['2', '開発者'.repeat(20), 'something that takes a lot of room'.repeat(9)],
    ]
    for (const room of [40, 60, 80]) {
      for (const line of table(rows, shape, room)) expect(textWidth(line)).toBeLessThanOrEqual(room)
    }
  })

  it('a table takes room from the widest column first', () => {
    const lines = table([['1', 'developer', 'a long story about something']] as Row[], shape, 30)
    expect(lines[1]).toContain('developer')
    expect(lines[1]).toMatch(/a long s.*…$/)
  })

  it('a table cuts nothing where there is room', () => {
    const long = 'x'.repeat(500)
    expect(table([['1', long, long]] as Row[], shape, Number.POSITIVE_INFINITY)[1]).toBe(`1   ${long}  ${long}`)
  })
})
