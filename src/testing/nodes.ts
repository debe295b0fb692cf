/** The contract of the register of nodes: see `src/log/nodes.ts`. */

import { describe, expect, it } from 'vitest'
import type { NodeFacts } from '../log/nodes.ts'
import type { OpenStore } from './store-under-test.ts'

const facts = (name: string, startedAt = '2026-01-01T00:00:00.000Z', runs = 0): NodeFacts => ({
  name,
  version: '1.0.0',
  startedAt,
  figures: { runs },
})

export function describeNodes(storeName: string, open: OpenStore): void {
  describe(`nodes of ${storeName}`, () => {
    it('nodes are those that announced themselves, seen from everywhere, the longest serving first', async () => {
      const { store, another, clock } = await open()
      const other = await another()
      expect(await store.nodes()).toEqual([])
      await store.announceNode({ id: 'b', facts: facts('younger', '2026-01-02T00:00:00.000Z'), forMs: 1000 })
      await other.announceNode({ id: 'a', facts: facts('older'), forMs: 1000 })
      const seenAt = new Date(clock.now).toISOString()
      const all = [
        { id: 'a', ...facts('older'), seenAt },
        { id: 'b', ...facts('younger', '2026-01-02T00:00:00.000Z'), seenAt },
      ]
      expect(await store.nodes()).toEqual(all)
      expect(await other.nodes()).toEqual(all)
    })

    it('nodes announce their state again and again, and the latest counts', async () => {
      const { store, clock } = await open()
      await store.announceNode({ id: 'a', facts: facts('a'), forMs: 1000 })
      clock.now += 900
      await store.announceNode({ id: 'a', facts: facts('a', undefined, 3), forMs: 1000 })
      clock.now += 900
      expect(await store.nodes()).toMatchObject([{ id: 'a', figures: { runs: 3 } }])
    })

    it('nodes are gone when they are silent for too long, or say that they leave', async () => {
      const { store, clock } = await open()
      await store.announceNode({ id: 'silent', facts: facts('silent'), forMs: 1000 })
      await store.announceNode({ id: 'going', facts: facts('going'), forMs: 5000 })
      await store.forgetNode('going')
      await store.forgetNode('unknown')
      expect(await store.nodes()).toMatchObject([{ id: 'silent' }])
      clock.now += 1000
      expect(await store.nodes()).toEqual([])
      await store.announceNode({ id: 'silent', facts: facts('back'), forMs: 1000 })
      expect(await store.nodes()).toMatchObject([{ name: 'back' }])
    })

    it('nodes leave no trace in projects and their logs', async () => {
      const { store } = await open()
      await store.announceNode({ id: 'a', facts: facts('a'), forMs: 1000 })
      expect(await store.projects()).toEqual([])
    })
  })
}
