/** Numbers that are too large: refused by name, and harmless where the file holds them. */
import { setImmediate as turn } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import type { OpenOptions } from 'colloquy'
import { describe, expect, it } from 'vitest'
import { freshColloquy, hour } from '../../support/colloquy.ts'

const feature = { type: 'feature', agentType: 'pm', featureId: 'login' } as const
const largest = Number.MAX_SAFE_INTEGER
const year = 365.25 * 24 * hour

/** The numbers are written into the file by SQL. */
const isFile = process.env.COLLOQUY_TEST_STORE !== 'postgres'

/** Changes the file behind the store's back. */
async function rewrite(store: string, sql: string): Promise<void> {
  const file = new DatabaseSync(store.replace('sqlite:', ''))
  file.exec(sql)
  file.close()
  // Writes of another process are seen in a later turn of the event loop.
  await turn()
}

describe('tokens', () => {
  it.each([
    ['usage.input', { input: largest, output: 1 }],
    ['usage.output', { input: 1, output: 1e12 + 1 }],
    ['usage.cacheRead', { input: 1, output: 1, cacheRead: largest }],
  ])('tokens in %s that no message takes are refused, and the conversation goes on', async (field, usage) => {
    const { colloquy } = await freshColloquy()
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(feature)
    const message = { role: 'assistant', content: 'x', usage } as const
    for (let i = 0; i < 2; i++) {
      await expect(colloquy.sessions.addMessage(id, message)).rejects.toMatchObject({ code: 'input/invalid', field })
    }
    await colloquy.sessions.addMessage(id, { ...message, usage: { input: 1e12, output: 2 } })
    expect(await colloquy.conversations.stats(conversationId)).toMatchObject({ messages: 1, input: 1e12, output: 2 })
  })

  it.each([[Number.NaN], [-1], [largest], [Number.POSITIVE_INFINITY]])(
    'tokens counted as %d by an estimator are refused, and the error names the estimator',
    async count => {
      const { colloquy } = await freshColloquy({ tokens: { name: 'mine', count: () => count } })
      const { id } = await colloquy.sessions.getOrCreateSession(feature)
      await expect(colloquy.sessions.addMessage(id, { role: 'user', content: 'x' })).rejects.toMatchObject({
        code: 'input/invalid',
        field: 'tokens',
        message: expect.stringContaining('mine'),
      })
      expect(await colloquy.sessions.getAllMessages(id)).toEqual([])
    },
  )

  it.runIf(isFile)(
    'token counts beyond what is exact, written into the file, hide nothing of the project',
    async () => {
      const { colloquy, store } = await freshColloquy()
      const { id, conversationId } = await colloquy.sessions.getOrCreateSession(feature)
      await colloquy.sessions.addMessage(id, { role: 'user', content: 'one' })
      await rewrite(store, `update events set input = ${largest} + ${largest} where lane is not null`)
      expect((await colloquy.sessions.getSession(id)).stats.tokensIn).toBe(largest)
      expect((await colloquy.sessions.listSessions()).items).toHaveLength(1)
      expect(await colloquy.conversations.stats(conversationId)).toMatchObject({ messages: 1 })
      await colloquy.sessions.addMessage(id, { role: 'user', content: 'two' })
      const more = colloquy.sessions.addMessage(id, { role: 'user', content: 'x', usage: { input: 1, output: 1 } })
      await expect(more).rejects.toMatchObject({ field: 'usage.input' })
      expect((await colloquy.sessions.getAllMessages(id)).map(one => one.content)).toEqual(['one', 'two'])
      await colloquy.totals()
      await rewrite(`${store}-search`, `update spent set input = ${largest} + ${largest}`)
      expect((await colloquy.totals()).project).toMatchObject({ messages: 2, input: largest })
    },
  )
})

describe('an expiry', () => {
  it('an expiry later than any date is refused by name, and nothing is recorded', async () => {
    const { colloquy } = await freshColloquy()
    await expect(colloquy.sessions.getOrCreateSession({ ...feature, expiresInMs: largest })).rejects.toMatchObject({
      code: 'input/invalid',
      field: 'expiresInMs',
    })
    expect(await colloquy.sessions.listSessions()).toEqual({ items: [] })
    const { expiresAt } = await colloquy.sessions.getOrCreateSession({ ...feature, expiresInMs: 99 * year })
    expect(expiresAt).toMatch(/^2125-/)
  })

  it.runIf(isFile)('a recorded expiry later than any date means never', async () => {
    const { colloquy, store } = await freshColloquy()
    const { id } = await colloquy.sessions.getOrCreateSession({ ...feature, expiresInMs: 5 })
    const other = await colloquy.sessions.getOrCreateSession({ ...feature, agentType: 'dev' })
    await rewrite(
      store,
      `update sessions set head = json_set(head, '$.expiresInMs', ${largest}), expires_at = expires_at + ${largest}
       where id = '${id}'`,
    )
    const { items } = await colloquy.sessions.listSessions()
    expect(items.map(one => [one.id, one.expiresAt])).toEqual([
      [other.id, expect.any(String)],
      [id, null],
    ])
    await colloquy.sessions.addMessage(id, { role: 'user', content: 'still here' })
    expect(await colloquy.sessions.getSession(id)).toMatchObject({ status: 'active', expiresAt: null })
    expect(await colloquy.maintain()).toMatchObject({ expired: 0 })
  })
})

describe('durations', () => {
  it.each<[string, OpenOptions]>([
    ['sessionExpiresInMs', { sessionExpiresInMs: largest }],
    ['sweepEveryMs', { sweepEveryMs: largest }],
    ['archive.afterMs', { archive: { afterMs: largest } }],
    ['turns.timeoutMs', { turns: { timeoutMs: largest } }],
    ['turns.leaseMs', { turns: { leaseMs: Number.NaN } }],
    ['executionLeaseMs', { executionLeaseMs: 0 }],
    ['phases.phases.chat.timeoutMs', { phases: { initial: 'chat', phases: { chat: { to: [], timeoutMs: largest } } } }],
    ['agents.limits.answerWithinMs', { agents: { limits: { answerWithinMs: largest } } }],
    ['dispatch.guards.backOffMs', { dispatch: { guards: { backOffMs: largest } } }],
  ])('durations in %s that no date holds are refused by name', async (field, options) => {
    await expect(freshColloquy(options)).rejects.toMatchObject({ code: 'input/invalid', field })
  })

  it('durations of a turn that no date holds are refused by name', async () => {
    const { colloquy } = await freshColloquy()
    const { conversationId } = await colloquy.sessions.getOrCreateSession(feature)
    const turn = { agents: ['dev'], reason: 'go', timeoutMs: largest }
    await expect(colloquy.conversations.startOrchestratorTurn(conversationId, turn)).rejects.toMatchObject({
      code: 'input/invalid',
      field: 'timeoutMs',
    })
  })
})

describe('a claim', () => {
  it.each([[largest], [Number.NaN], [0], [-5], [1.5]])(
    'a claim for %d milliseconds is refused by name',
    async forMs => {
      const { colloquy } = await freshColloquy()
      const { conversationId } = await colloquy.sessions.getOrCreateSession(feature)
      await expect(colloquy.conversations.claim(conversationId, 'pm', { forMs })).rejects.toMatchObject({
        code: 'input/invalid',
        field: 'forMs',
      })
      const claim = await colloquy.conversations.claim(conversationId, 'pm')
      await expect(claim.renew(forMs)).rejects.toMatchObject({ code: 'input/invalid', field: 'forMs' })
    },
  )

  it.runIf(isFile)('a claim whose recorded end is beyond any date is free', async () => {
    const { colloquy, store } = await freshColloquy()
    const { conversationId } = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.conversations.claim(conversationId, 'pm')
    await rewrite(store, `update leases set expires_at = expires_at + ${largest}`)
    const claim = await colloquy.conversations.claim(conversationId, 'pm')
    expect(claim.fence.generation).toBe(2)
  })
})
