/** Text that databases cut or change, where it names something: it is refused, never taken for something else. */
import { ColloquyError } from 'colloquy'
import { InvalidInput, NotFound } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../../../src/testing/builders.ts'
import { freshColloquy } from '../../support/colloquy.ts'

const bead = { type: 'bead', agentType: 'dev', beadId: 'b' } as const
const odd = ['a\0b', '\ud800x', '', 'x'.repeat(513)]

describe('text that is no id', () => {
  it('[P13] text that is no id is refused as an actor, channel or request, and leaves the log provable', async () => {
    const { colloquy } = await freshColloquy()
    for (const text of odd) {
      for (const scope of [{ actor: text }, { channel: text }, { requestId: text }]) {
        const error = await errorOf(() => colloquy.as(scope).sessions.getOrCreateSession(bead))
        expect(error).toBeInstanceOf(InvalidInput)
      }
    }
    await colloquy.sessions.getOrCreateSession(bead)
    expect((await colloquy.verify()).damages).toEqual([])
  })

  it('text that is no id is not the id that it begins with', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(bead)
    const longer = (id: string) => `${id}\0more`
    const asked = [
      () => colloquy.sessions.getSession(longer(session.id)),
      () => colloquy.sessions.addMessage(longer(session.id), { role: 'user', content: 'x' }),
      () => colloquy.conversations.getConversation(longer(session.conversationId)),
      () => colloquy.conversations.addEvent(longer(session.conversationId), { role: 'user', content: 'x' }),
    ]
    for (const ask of asked) {
      const error = await errorOf(ask)
      expect(error).toBeInstanceOf(ColloquyError)
      expect(error instanceof NotFound || error instanceof InvalidInput).toBe(true)
    }
    expect(await colloquy.sessions.getAllMessages(session.id)).toEqual([])
  })

  it('[P3] text that is no id is refused as an idempotency key, or is a key of its own', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(bead)
    let written = 0
    for (const idempotencyKey of ['k\0a', 'k\0b', 'k', '\ud800', '\ud801']) {
      const add = () => colloquy.sessions.addMessage(session.id, { role: 'user', content: 'same' }, { idempotencyKey })
      const error = await errorOf(add)
      if (error) expect(error).toBeInstanceOf(InvalidInput)
      else written++
    }
    expect(await colloquy.sessions.getAllMessages(session.id)).toHaveLength(written)
  })
})

it('[P3] the same key always gives the first session, also when another took its place', async () => {
  const { colloquy } = await freshColloquy()
  const first = await colloquy.sessions.getOrCreateSession(bead, { idempotencyKey: 'k' })
  await colloquy.sessions.createSession(bead)
  const again = await colloquy.sessions.getOrCreateSession(bead, { idempotencyKey: 'k' })
  expect(again.id).toBe(first.id)
})
