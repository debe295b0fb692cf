import { describe, expect, it } from 'vitest'
import { brief, count, counted, duration } from './figures.ts'

describe('figures', () => {
  it('are short where room is short, and never round up into a unit they do not have', () => {
    expect([0, 999, 1000, 9949, 9950, 99_499, 999_499, 999_500, 4_100_000].map(brief)).toEqual([
      '0',
      '999',
      '1.0k',
      '9.9k',
      '10k',
      '99k',
      '999k',
      '1.0M',
      '4.1M',
    ])
    expect(count(1_234_567)).toBe('1,234,567')
    expect([counted(1, 'reply', 'replies'), counted(1200, 'message')]).toEqual(['1 reply', '1,200 messages'])
  })

  it('of time have the unit a person would choose', () => {
    expect([0.25, 12, 1500, 90_000, 7_200_000].map(duration)).toEqual(['0.3 ms', '12 ms', '1.5 s', '2 min', '2 h'])
  })
})
