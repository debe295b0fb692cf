import { expect, it } from 'vitest'
import { bytes, counted, duration, firstWords, relative, short } from './format.ts'

it('numbers are written so that they are read at a glance', () => {
  expect([0, 999, 1000, 1234, 12_345, 183_000, 999_900, 4_100_000].map(short)).toEqual([
    '0',
    '999',
    '1k',
    '1.2k',
    '12k',
    '183k',
    '1M',
    '4.1M',
  ])
  expect(counted(1, 'message')).toBe('1 message')
  expect(bytes(2100)).toBe('2.1 kB')
  expect([90, 4200, 65_000, 3_700_000].map(duration)).toEqual(['90 ms', '4.2 s', '1 min 5 s', '1 h 1 min'])
})

it('a time is written as how long ago it was', () => {
  const now = Date.parse('2026-06-15T12:00:00Z')
  const ago = (ms: number) => relative(new Date(now - ms).toISOString(), now)
  expect([5000, 120_000, 7_200_000, 90_000_000].map(ago)).toEqual(['now', '2 min', '2 h', '1 d'])
  expect(ago(40 * 86_400_000)).toBe('May 6')
})

it('cuts a text to its first words', () => {
  expect(firstWords('one\n  two', 20)).toBe('one two')
  expect(firstWords('abcdefghij', 5)).toBe('abcd…')
})
