import { describe, expect, it } from 'vitest'
import { since, until } from './options.ts'

describe('a time on the command line', () => {
  it.each([
    ['2024-02-29', '2024-02-29T00:00:00.000', '2024-02-29T23:59:59.999'],
    ['2026-03-01T14:00', '2026-03-01T14:00:00.000', '2026-03-01T14:00:00.000'],
    ['2026-03-01 14:00:05', '2026-03-01T14:00:05.000', '2026-03-01T14:00:05.000'],
    ['2026-03-01t14:00:05.25z', '2026-03-01T14:00:05.250Z', '2026-03-01T14:00:05.250Z'],
    ['2026-03-01T14:00+02:00', '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000Z'],
  ])('the time %s on the command line is in the local zone, unless it says otherwise', (text, from, to) => {
    expect(since(text)).toBe(new Date(from).toISOString())
    expect(until(text)).toBe(new Date(to).toISOString())
  })

  // JavaScript makes a time of every one of these; what it writes for the last one is none that a search takes.
  it.each([
    '2026-02-30',
    '2025-02-29',
    '2026-06-31T10:00',
    '1',
    '2026',
    '2026-03',
    'foo 7',
    '12/31/2026',
    'Mar 1 2026',
    '999999d',
  ])('%s is no time on the command line', text => {
    expect(() => since(text)).toThrow(/Give a date/)
    expect(() => until(text)).toThrow(/Give a date/)
  })
})
