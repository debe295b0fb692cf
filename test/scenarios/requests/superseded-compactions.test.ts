/** A cleared window stays cleared: a summary that was being written meanwhile is not taken. */
import type { Colloquy, CompactOutcome, Session } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

const summary = JSON.stringify({ add: [{ section: 'facts', text: 'the old secret is swordfish', sources: [3] }] })

/** A session with a secret, and a compaction of it that waits for its model until `answer` is called. */
async function compacting(): Promise<{
  colloquy: Colloquy
  dev: Session
  answer: () => Promise<CompactOutcome>
}> {
  let release = () => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  let begin = () => {}
  const begun = new Promise<void>(resolve => {
    begin = resolve
  })
  const model = scriptedModel(async () => {
    begin()
    await released
    return summary
  })
  const { colloquy } = await freshColloquy({ model })
  const dev = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'dev', featureId: 'login' })
  for (let number = 0; number < 20; number++) {
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: `The old secret ${number} is swordfish.` })
    await colloquy.sessions.addMessage(dev.id, {
      role: 'assistant',
      content: `Noted. ${'I keep it well. '.repeat(20)}`,
    })
  }
  const outcome = colloquy.sessions.forceCompact(dev.id, { keep: { messages: 0 } })
  await begun
  return {
    colloquy,
    dev,
    answer: () => {
      release()
      return outcome
    },
  }
}

describe('a summary that was being written', () => {
  const changes: Record<string, (colloquy: Colloquy, dev: Session) => Promise<unknown>> = {
    cleared: ({ sessions }, { id }) => sessions.clearMessages(id),
    reset: ({ sessions }, { id }) => sessions.resetSession(id),
    archived: ({ sessions }, { id }) => sessions.archiveSession(id),
    deleted: ({ sessions }, { id }) => sessions.deleteSession(id),
    completed: ({ conversations }, { conversationId }) => conversations.complete(conversationId),
    erased: async ({ sessions, conversations }, { id }) =>
      conversations.erase((await sessions.getAllMessages(id))[0]!.id),
  }

  it.each(Object.keys(changes))('[P9] is not taken when the session was %s meanwhile', async name => {
    const { colloquy, dev, answer } = await compacting()
    await changes[name]!(colloquy, dev)
    expect(await answer()).toMatchObject({ outcome: 'superseded', reason: expect.any(String) })
    const events = await colloquy.conversations.getEvents(dev.conversationId, { limit: 1_000 })
    const types = events.map(({ event }) => event.type)
    expect(types).not.toContain('checkpoint.taken')
    expect(types.filter(type => type === 'compaction.failed')).toHaveLength(1)
    expect(events.findLast(({ event }) => event.type === 'compaction.failed')!.event).toMatchObject({
      superseded: true,
    })
  })

  it('[P9] brings nothing back that was cleared, and does not count as a failure', async () => {
    const { colloquy, dev, answer } = await compacting()
    await colloquy.sessions.clearMessages(dev.id)
    await answer()
    const { systemPrompt, checkpoint } = await colloquy.sessions.buildRequest(dev.id, 'What do you know?')
    expect(systemPrompt).not.toContain('swordfish')
    expect(checkpoint).toBeUndefined()
    expect(await colloquy.sessions.getMetrics(dev.id)).toMatchObject({ latched: false })
  })
})
