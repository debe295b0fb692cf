import type { LiveEvent } from 'colloquy/client'
import { expect, it } from 'vitest'
import { type LogEvent, LogPages, pageSize } from './log-pages.ts'

function eventAt(version: number): LogEvent {
  return { version, at: '', actor: 'a', channel: 'c', event: { type: 'session.cleared', sessionId: 's' } }
}

function log(length: number) {
  const asked: number[] = []
  const pages = new LogPages(async (from, to) => {
    asked.push(from)
    const last = Math.min(to, length)
    return Array.from({ length: Math.max(0, last - from + 1) }, (_, n) => eventAt(from + n))
  })
  return { pages, asked }
}

const settled = () => new Promise(resolve => setTimeout(resolve))

it('log pages are read when they are looked at, each once', async () => {
  const { pages, asked } = log(1000)
  pages.want(150, 260)
  pages.want(150, 260)
  await settled()
  pages.want(160, 240)
  expect(asked).toEqual([101, 201])
  expect(pages.get(150)?.version).toBe(150)
  expect(pages.get(301)).toBeUndefined()
})

it('log pages keep as much of a long log as of a short one', async () => {
  const { pages } = log(100_000)
  for (let version = 1; version < 100_000; version += pageSize) {
    pages.want(version, version + 50)
    await settled()
  }
  expect(pages.size).toBeLessThanOrEqual(21 * pageSize)
  pages.want(1, 10)
  await settled()
  expect(pages.get(1)).toBeDefined()
})

it('log pages take live events in, and read those that came without content', async () => {
  const { pages, asked } = log(3)
  pages.want(1, 2)
  await settled()
  const live = { ...eventAt(4), type: 'session.cleared' } as unknown as LiveEvent
  pages.put(live)
  expect(pages.get(4)).toBeDefined()
  pages.want(1, 4)
  expect(asked).toEqual([1])
  const { event, ...large } = live
  pages.put({ ...large, version: 5, isLarge: true } as LiveEvent)
  pages.want(1, 5)
  expect(event).toBeDefined()
  expect(asked).toEqual([1, 1])
})
