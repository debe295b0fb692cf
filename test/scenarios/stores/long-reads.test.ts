/** Reading all of something long: all of it is given, and others go on meanwhile. */
import { setImmediate as breathe } from 'node:timers/promises'
import type { Colloquy } from 'colloquy'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

const count = 2500

interface Long {
  colloquy: Colloquy
  sessionId: string
  conversationId: string
}

async function long(): Promise<Long> {
  const { colloquy } = await freshColloquy()
  const { sessions } = colloquy
  const { id, conversationId } = await sessions.getOrCreateSession({
    type: 'thread',
    agentType: 'pm',
    threadId: 'long',
  })
  await Promise.all(
    Array.from({ length: count }, (_, index) => sessions.addMessage(id, { role: 'user', content: `message ${index}` })),
  )
  return { colloquy, sessionId: id, conversationId }
}

describe('without a limit', () => {
  it('reading without a limit gives every message, of a session, of its conversation and of its past', async () => {
    const { colloquy, sessionId, conversationId } = await long()
    const { sessions, conversations } = colloquy
    const all = await sessions.getAllMessages(sessionId)
    expect(all).toHaveLength(count)
    expect(await conversations.getMessages(conversationId)).toEqual(all)
    expect(await conversations.getMessages(conversationId, { after: 0 })).toEqual(all)
    const { version } = await conversations.getConversation(conversationId)
    expect(await (await conversations.at(conversationId, version)).messages()).toEqual(all)
    expect(await conversations.getMessages(conversationId, { limit: 1200 })).toEqual(all.slice(-1200))
  })

  it('reading without a limit gives every event, in both directions', async () => {
    const { colloquy, conversationId } = await long()
    const { conversations } = colloquy
    const versions = (events: ReadonlyArray<{ version: number }>) => events.map(({ version }) => version)
    const upTo = (length: number) => Array.from({ length }, (_, index) => index + 1)
    const all = await conversations.getEvents(conversationId)
    expect(versions(all)).toEqual(upTo(count + 2))
    expect(await conversations.getEvents(conversationId, { backwards: true })).toEqual(all.toReversed())
    expect(versions(await conversations.getEvents(conversationId, { limit: 1500 }))).toEqual(upTo(1500))
    expect(await conversations.getEvents(conversationId, { facts: true })).toHaveLength(2)
  })
})

describe('while somebody reads all of it', () => {
  const reads: Array<[string, (long: Long) => Promise<unknown>]> = [
    ['messages of a session', ({ colloquy, sessionId }) => colloquy.sessions.getAllMessages(sessionId)],
    ['messages forwards', ({ colloquy, sessionId }) => colloquy.sessions.getAllMessages(sessionId, { after: 0 })],
    ['events', ({ colloquy, conversationId }) => colloquy.conversations.getEvents(conversationId)],
    [
      'a replay',
      async ({ colloquy, conversationId }) => {
        for await (const _ of colloquy.conversations.replay(conversationId));
      },
    ],
    [
      'a subscription that catches up',
      async ({ colloquy }) => {
        let left = count
        for await (const _ of colloquy.subscribe({ from: 'start' })) if (--left === 0) return
      },
    ],
  ]

  it.each(reads)('an append gets its turn during a long read: %s', async (_, read) => {
    const all = await long()
    const { sessions } = all.colloquy
    const other = await sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: 'other' })
    const order: string[] = []
    await Promise.all([
      read(all).then(() => order.push('read')),
      sessions.addMessage(other.id, { role: 'user', content: 'in between' }).then(() => order.push('said')),
    ])
    expect(order).toEqual(['said', 'read'])
  })
})

describe('a conversation that is purged while somebody reads all of it', () => {
  it('a branch that is purged during a read is given whole or not at all, however short', async () => {
    const { colloquy } = await freshColloquy()
    const { conversations } = colloquy
    const say = async (id: string) => {
      for (let i = 0; i < 20; i++) await conversations.addEvent(id, { role: 'user', content: `message ${i}` })
    }
    const parent = await conversations.createConversation({ title: 'parent' })
    await say(parent.id)
    const answers = new Set<unknown>()
    for (let round = 0; round < 10; round++) {
      const branch = await conversations.branch(parent.id)
      await say(branch.id)
      const purging = conversations.purge(branch.id)
      for (let answer: unknown; typeof answer !== 'string'; ) {
        answer = await conversations.getMessages(branch.id, { after: 0, limit: 100 }).then(
          ({ length }) => length,
          error => error.code,
        )
        answers.add(answer)
        await breathe()
      }
      await purging
    }
    expect(answers).toEqual(new Set([40, 'conversation/purged']))
  })

  it('a conversation that is purged during a read is no shorter one: the reader gets an error', async () => {
    const { colloquy, conversationId } = await long()
    const steps = colloquy.conversations.replay(conversationId)
    await steps.next()
    await colloquy.conversations.purge(conversationId)
    const rest = async () => {
      for await (const _ of steps);
    }
    await expect(rest()).rejects.toMatchObject({ code: 'conversation/purged' })
  })

  it('a conversation that is purged during a read gives all of its messages or none', async () => {
    const { colloquy, sessionId, conversationId } = await long()
    const purging = colloquy.conversations.purge(conversationId)
    const found = new Set<unknown>()
    while (![...found].some(one => typeof one === 'string')) {
      const reads = [
        colloquy.sessions.getAllMessages(sessionId),
        colloquy.sessions.getAllMessages(sessionId, { after: 0 }),
        colloquy.conversations.getEvents(conversationId, { from: 3 }),
      ]
      const answers = await Promise.all(
        reads.map(read =>
          read.then(
            ({ length }) => length,
            error => error.code,
          ),
        ),
      )
      for (const answer of answers) found.add(answer)
      // Reading all the time would keep the purge waiting.
      for (let turns = 0; turns < 30; turns++) await breathe()
    }
    await purging
    expect([...found].filter(one => ![count, 'conversation/purged', 'not-found'].includes(one as never))).toEqual([])
  })
})
