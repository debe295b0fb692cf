/** The contract of accounts of a project: see `src/log/accounts.ts`. */

import { describe, expect, it } from 'vitest'
import type { AuditEntry, AuditQuery } from '../log/accounts.ts'
import type { StoreCalls } from '../log/store.ts'
import { memoryArchives } from './archives.ts'
import { conversationCreated, messageAdded, proposal, sessionCreated } from './builders.ts'
import type { OpenStore } from './store-under-test.ts'

const project = 'shop'

async function all(store: StoreCalls, query: Partial<AuditQuery> = {}): Promise<AuditEntry[]> {
  const auditEntries: AuditEntry[] = []
  let cursor: string | undefined
  do {
    const page = await store.audit({ project, limit: 3, ...query, ...(cursor !== undefined && { cursor }) })
    expect(page.items.length).toBeLessThanOrEqual(3)
    auditEntries.push(...page.items)
    cursor = page.next
  } while (cursor !== undefined)
  return auditEntries
}

const places = (entries: AuditEntry[]) => entries.map(({ conversationId, version }) => `${conversationId}${version}`)

export function describeAccounts(name: string, open: OpenStore): void {
  describe(`accounts on ${name}`, () => {
    it('the audit says who did what, newest first, in pages, of one project', async () => {
      const { store, clock } = await open()
      await store.append(proposal('a', [conversationCreated(), sessionCreated('s')]))
      await store.append(proposal('x', conversationCreated(), { project: 'elsewhere' }))
      clock.now += 60_000
      const requestId = 'r-1'
      await store.append(
        proposal('b', [conversationCreated(), messageAdded('One', { sessionId: 's' })], {
          origin: { actor: 'ada', channel: 'http', requestId },
        }),
      )
      await store.append(proposal('a', messageAdded('Two')))
      const auditEntries = await all(store)
      expect(places(auditEntries)).toEqual(['a3', 'b2', 'b1', 'a2', 'a1'])
      expect(auditEntries[1]).toEqual({
        conversationId: 'b',
        version: 2,
        at: '2026-01-01T12:01:00.000Z',
        actor: 'ada',
        channel: 'http',
        requestId,
        type: 'message.added',
        sessionId: 's',
      })
      expect(auditEntries[3]).toMatchObject({ type: 'session.created', sessionId: 's' })
      expect(places(await all(store, { actor: 'ada' }))).toEqual(['b2', 'b1'])
      expect(places(await all(store, { channel: 'test', type: 'message.added' }))).toEqual(['a3'])
      expect(places(await all(store, { requestId }))).toEqual(['b2', 'b1'])
      expect(places(await all(store, { conversationId: 'a' }))).toEqual(['a3', 'a2', 'a1'])
      expect(places(await all(store, { since: '2026-01-01T12:00:30Z' }))).toEqual(['a3', 'b2', 'b1'])
      expect(places(await all(store, { until: '2026-01-01T12:00:30Z' }))).toEqual(['a2', 'a1'])
      expect(await all(store, { until: '2026-01-01' })).toHaveLength(auditEntries.length)
      expect(await all(store, { until: '2025-12-31' })).toEqual([])
      expect(await all(store, { actor: 'nobody' })).toEqual([])
      expect(await all(store, { project: 'nowhere' })).toEqual([])
    })

    it('the audit refuses a cursor that no page returned, and names the cursor', async () => {
      const { store } = await open()
      await store.append(proposal('a', conversationCreated()))
      for (const cursor of ['[]', 'null', '9007199254740992', '1.2.3.4', '../../etc/passwd'])
        await expect(store.audit({ project, cursor })).rejects.toMatchObject({ code: 'input/invalid', field: 'cursor' })
    })

    it('the audit by time finds what was done before a clock was set back, and before something old was restored', async () => {
      const { store, clock } = await open()
      const hour = 3_600_000
      const origin = { actor: 'owner', channel: 'test' }
      await store.append(proposal('old', [conversationCreated(), messageAdded('Long ago')]))
      const to = memoryArchives()
      const { archive } = await store.purge({ project, conversationId: 'old', to, origin })
      clock.now += 48 * hour
      const since = new Date(clock.now - hour / 2).toISOString()
      await store.append(proposal('a', [conversationCreated(), messageAdded('One')]))
      clock.now -= 2 * hour
      await store.append(proposal('b', conversationCreated()))
      expect(places(await all(store, { since }))).toEqual(['a2', 'a1'])
      await store.restore({ project, lines: to.read(archive), origin })
      expect(places(await all(store, { since }))).toEqual(['a2', 'a1'])
      expect(places(await all(store, { until: since }))).toEqual(['old2', 'old1', 'b1'])
    })

    it('the audit by time ends where nothing is old enough any more', async () => {
      const { store, clock } = await open()
      await store.append(proposal('a', conversationCreated()))
      clock.now += 48 * 3_600_000
      expect(await all(store, { since: new Date(clock.now).toISOString() })).toEqual([])
    })

    it('totals sum up the spending, where they are kept: also after erasing, purging, restoring and starting over', async () => {
      const { store, reopen } = await open()
      if (!(await store.spending(project))) return
      const answer = (author: string, cost?: number) =>
        messageAdded('Done', {
          role: 'assistant',
          author,
          usage: { input: 100, output: 10, cacheRead: 5, ...(cost !== undefined && { cost }) },
          metadata: { model: `${author}:m` },
        })
      const erasable = answer('qa', 1)
      await store.append(
        proposal('a', [conversationCreated(), messageAdded('Go'), answer('dev', 0.5), answer('qa'), erasable]),
      )
      await store.append(proposal('b', [conversationCreated(), answer('dev', 0.25)]))
      await store.append(proposal('x', [conversationCreated(), answer('dev', 9)], { project: 'elsewhere' }))
      expect(await store.spending(project)).toEqual({
        project: { messages: 5, tokens: 18, input: 420, output: 40, cost: 1.75, calls: 4, unpriced: 1 },
        agents: {
          user: { messages: 1, tokens: 2, input: 0, output: 0, cost: 0, calls: 0, unpriced: 0 },
          dev: { messages: 2, tokens: 8, input: 210, output: 20, cost: 0.75, calls: 2, unpriced: 0 },
          qa: { messages: 2, tokens: 8, input: 210, output: 20, cost: 1, calls: 2, unpriced: 1 },
        },
        models: {
          'dev:m': expect.objectContaining({ calls: 2, cost: 0.75 }),
          'qa:m': expect.objectContaining({ calls: 2, unpriced: 1 }),
        },
      })
      const origin = { actor: 'owner', channel: 'test' }
      await store.erase({ project, messageId: erasable.messageId, origin })
      const to = memoryArchives()
      await store.purge({ project, conversationId: 'b', to, origin })
      const remainingSpending = { messages: 3, calls: 2, cost: 0.5 }
      expect((await store.spending(project))?.project).toMatchObject(remainingSpending)
      const { archive } = (await store.purges(project))[0]!
      await store.restore({ project, lines: to.read(archive), origin })
      const restored = { messages: 4, calls: 3, cost: 0.75 }
      expect((await store.spending(project))?.project).toMatchObject(restored)
      expect(await store.spendingOf(project, ['a', 'b', 'none'])).toMatchObject({
        a: remainingSpending,
        b: { calls: 1, cost: 0.25 },
        none: { calls: 0 },
      })
      await store.repair({ project })
      const reopened = await reopen()
      expect((await reopened.spending(project))?.project).toMatchObject(restored)
    })
  })
}
