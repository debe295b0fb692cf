import { expect, it } from 'vitest'
import { retryHint } from './retry-hint.ts'

const now = () => Date.parse('2026-11-16T10:00:00Z')

it.each([
  [{ 'retry-after': '12' }, '', 12_000],
  [{ 'retry-after': '0.5' }, '', 500],
  [{ 'retry-after-ms': '340', 'retry-after': '1' }, '', 340],
  [{ 'retry-after': 'Mon, 16 Nov 2026 10:00:30 GMT' }, '', 30_000],
  [{ 'retry-after': 'Mon, 16 Nov 2026 09:00:00 GMT' }, '', 0],
  [{}, 'Rate limit reached. Please try again in 1.24s. Visit …', 1240],
  [{}, 'Please retry after 20ms', 20],
  [{ 'retry-after': 'soon' }, '', undefined],
  [{}, 'Overloaded', undefined],
])('the retry hint %j %s', (headers, message, expected) => {
  expect(retryHint(headers, message, now).retryAfterMs).toBe(expected)
})
