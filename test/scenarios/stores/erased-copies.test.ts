/** The text of an erased message is nowhere any more: not in checkpoints, branches or requests. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Message } from 'colloquy'
import { IllegalState } from 'colloquy/errors'
import { sqliteStore } from 'colloquy/sqlite'
import { describe, expect, it } from 'vitest'
import { type FreshColloquy, freshColloquy } from '../../support/colloquy.ts'
import { heldModel } from '../../support/held-model.ts'

const secret = 'SWORDFISH-4711'
/** Small, so that little is kept word for word. */
const requests = { budget: 4000 }
const feature = { type: 'feature', agentType: 'dev', featureId: 'login' } as const

/** A session whose first message has a secret in it, and enough behind it to be summarised. */
async function sessionWithSecret({
  colloquy,
}: Pick<FreshColloquy, 'colloquy'>): Promise<{ id: string; conversationId: string; message: Message }> {
  const { id, conversationId } = await colloquy.sessions.getOrCreateSession(feature)
  const content = `We decided: the password is ${secret}. You must never print it. Please implement the login page`
  const message = await colloquy.sessions.addMessage(id, { role: 'user', content })
  await talk(colloquy, id, 'step')
  return { id, conversationId, message }
}

async function talk(colloquy: FreshColloquy['colloquy'], sessionId: string, what: string): Promise<void> {
  for (let turn = 0; turn < 40; turn++) {
    const role = turn % 2 ? 'user' : 'assistant'
    await colloquy.sessions.addMessage(sessionId, { role, content: `${what} ${turn}: more about it `.repeat(20) })
  }
}

/** A session in a branch, talked in and summarised. */
async function compactedIn(colloquy: FreshColloquy['colloquy'], branchId: string): Promise<string> {
  const branch = { type: 'thread', agentType: 'dev', threadId: branchId } as const
  const { id } = await colloquy.sessions.getOrCreateSession(branch)
  await talk(colloquy, id, 'elsewhere')
  await colloquy.sessions.forceCompact(id)
  return id
}

/** The case is prepared by changing the file. */
const isFile = process.env.COLLOQUY_TEST_STORE !== 'postgres'

const has = (value: unknown) => String(JSON.stringify(value)).includes(secret)

/** Files of the store that have it; on a server there are none to look into. */
function filesWith(folder: string): string[] {
  return readdirSync(folder).filter(name => name.includes('.db') && readFileSync(join(folder, name)).includes(secret))
}

describe('[P4] erasing a message', () => {
  it('[P4] erasing a message takes it out of every checkpoint, and the rest of them stays and stays provable', async () => {
    const { colloquy, folder, reopen } = await freshColloquy({ requests })
    const { id, conversationId, message } = await sessionWithSecret({ colloquy })
    await colloquy.sessions.forceCompact(id)
    await talk(colloquy, id, 'later')
    await colloquy.sessions.forceCompact(id)
    const before = await colloquy.sessions.getCheckpointHistory(id)
    expect(before.map(has)).toEqual([true, true])

    const erased = await colloquy.conversations.erase(message.id, 'a password')
    expect(erased.checkpoints).toHaveLength(2)
    const after = await colloquy.sessions.getCheckpointHistory(id)
    expect(after.map(({ number, upTo }) => [number, upTo])).toEqual(before.map(({ number, upTo }) => [number, upTo]))
    expect(after[0]!.items.length).toBeGreaterThan(0)
    expect(has(after)).toBe(false)
    expect(has(await colloquy.sessions.buildRequest(id, 'go on'))).toBe(false)
    expect(has(await colloquy.conversations.getEvents(conversationId))).toBe(false)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
    const again = await reopen()
    expect(has(await again.sessions.getCheckpoint(id))).toBe(false)
    expect(filesWith(folder)).toEqual([])

    // An archive of it proves and comes back.
    await again.conversations.purge(conversationId)
    await again.conversations.restore(conversationId)
    expect(await again.verify()).toMatchObject({ clean: true })
    expect((await again.sessions.getCheckpointHistory(id)).map(({ number }) => number)).toEqual([2, 1])
  })

  it('[P4] erasing a message takes it out of the checkpoints of branches that share it', async () => {
    const { colloquy } = await freshColloquy({ requests })
    const { conversationId, message } = await sessionWithSecret({ colloquy })
    const branch = await colloquy.conversations.branch(conversationId, message.version + 3)
    const second = await colloquy.conversations.branch(branch.id, message.version + 3)
    const aside = await colloquy.conversations.branch(conversationId, message.version - 1)
    const sessions: string[] = []
    for (const one of [branch, second, aside]) sessions.push(await compactedIn(colloquy, one.id))
    const checkpoints = () => Promise.all(sessions.map(id => colloquy.sessions.getCheckpoint(id)))
    const before = (await checkpoints()).map(has)
    expect(before.slice(0, 2)).toContain(true)
    const { checkpoints: changed } = await colloquy.conversations.erase(message.id)
    expect(changed.map(one => one.conversationId)).not.toContain(aside.id)
    expect((await checkpoints()).map(has)).toEqual([false, false, false])
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('[P4] erasing a message takes it out of a branch that was purged meanwhile, when that is restored', async () => {
    const { colloquy } = await freshColloquy({ requests })
    const { conversationId, message } = await sessionWithSecret({ colloquy })
    const branch = await colloquy.conversations.branch(conversationId, message.version + 3)
    const second = await colloquy.conversations.branch(branch.id, message.version + 3)
    const id = await compactedIn(colloquy, second.id)
    expect(has(await colloquy.sessions.getCheckpoint(id))).toBe(true)
    await colloquy.conversations.purge(second.id)
    await colloquy.conversations.purge(branch.id)
    await colloquy.conversations.erase(message.id, 'a password')
    await colloquy.conversations.restore(branch.id)
    const back = await colloquy.conversations.restore(second.id)
    expect(has(await colloquy.sessions.getCheckpoint(id))).toBe(false)
    expect(has(await colloquy.sessions.previewRequest(id, 'go on'))).toBe(false)
    const events = await colloquy.conversations.getEvents(second.id)
    expect(has(events)).toBe(false)
    expect(back.version).toBe(events.at(-1)!.version)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('[P4] erasing a message names the archives of branches that hold some of it', async () => {
    const { colloquy } = await freshColloquy({ requests })
    const { conversationId, message } = await sessionWithSecret({ colloquy })
    const branch = await colloquy.conversations.branch(conversationId, message.version + 3)
    const silent = await colloquy.conversations.branch(conversationId, message.version + 3)
    const { id } = await colloquy.sessions.getOrCreateSession({
      type: 'thread',
      agentType: 'dev',
      threadId: branch.id,
    })
    await talk(colloquy, id, 'elsewhere')
    await colloquy.sessions.forceCompact(id)
    const { archive } = await colloquy.conversations.purge(branch.id)
    await colloquy.conversations.restore(branch.id)
    await colloquy.conversations.purge(silent.id)
    await colloquy.conversations.restore(silent.id)
    expect((await colloquy.conversations.erase(message.id)).archives).toEqual([archive])
  })

  it('[P4] erasing a message drops a checkpoint that a model is just writing from it', async () => {
    const held = heldModel('', JSON.stringify({ add: [{ section: 'facts', text: `It is ${secret}`, sources: [3] }] }))
    const { colloquy } = await freshColloquy({ requests, model: held })
    const { id, conversationId, message } = await sessionWithSecret({ colloquy })
    const compacting = colloquy.sessions.forceCompact(id).catch((error: unknown) => error)
    await held.begun
    await colloquy.conversations.erase(message.id)
    held.goOn()
    await compacting
    expect(await colloquy.sessions.getCheckpoint(id)).toBeUndefined()
    const events = await colloquy.conversations.getEvents(conversationId)
    expect(events.some(({ event }) => event.type === 'compaction.failed')).toBe(true)
    expect(has(events)).toBe(false)
  })

  it.runIf(isFile)('an erase that left copies in checkpoints can be done once more', async () => {
    const { colloquy, store, reopen } = await freshColloquy({ requests })
    const { id, message } = await sessionWithSecret({ colloquy })
    await colloquy.sessions.forceCompact(id)
    await colloquy.close()
    const earlier = await sqliteStore(store.slice('sqlite:'.length), { clock: Date.now })
    await earlier.erase({ project: 'shop', messageId: message.id, origin: { actor: 'a', channel: 'test' } })
    await earlier.close()
    const again = await reopen()
    expect(has(await again.sessions.getCheckpoint(id))).toBe(true)
    expect((await again.conversations.erase(message.id)).checkpoints).toHaveLength(1)
    expect(has(await again.sessions.getCheckpoint(id))).toBe(false)
    await expect(again.conversations.erase(message.id)).rejects.toThrow(IllegalState)
    expect(await again.verify()).toMatchObject({ clean: true })
  })
})
