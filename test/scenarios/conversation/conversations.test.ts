/** Conversations as a whole: made, completed, put away, purged and brought back. */
import { ConversationClosed, ConversationPurged, NotFound } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import { freshColloquy, hour } from '../../support/colloquy.ts'

describe('a conversation', () => {
  it('a conversation starts with a title, a phase, a tracing id, metadata and what is said first', async () => {
    const { colloquy } = await freshColloquy()
    const conversation = await colloquy.conversations.createConversation({
      title: 'Fix the login',
      phase: 'chat',
      tracingId: 'trace-1',
      metadata: { branch: 'main' },
      initial: { role: 'user', author: 'owner', content: 'It fails on Safari' },
    })
    expect(conversation).toMatchObject({
      title: 'Fix the login',
      phase: 'chat',
      tracingId: 'trace-1',
      status: 'active',
      version: 2,
      metadata: { branch: 'main' },
    })
    const [first] = await colloquy.conversations.getMessages(conversation.id)
    expect(first).toMatchObject({ author: 'owner', content: 'It fails on Safari', audience: { to: 'everyone' } })
  })

  it('a conversation is the only one of its work item', async () => {
    const { colloquy } = await freshColloquy()
    const workItem = { type: 'feature', featureId: 'login' } as const
    const session = await colloquy.sessions.getOrCreateSession({ ...workItem, agentType: 'pm' })
    await expect(colloquy.conversations.createConversation({ title: 'another', workItem })).rejects.toMatchObject({
      code: 'state/illegal',
      facts: { conversationId: session.conversationId },
    })
    expect((await colloquy.conversations.findConversation(workItem))?.id).toBe(session.conversationId)
  })

  it('a conversation is read-only once completed, until it is reopened', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'Done soon' })
    const session = await colloquy.sessions.getOrCreateSession({ type: 'thread', threadId: id, agentType: 'pm' })
    expect(session.conversationId).toBe(id)
    await colloquy.conversations.complete(id, 'all shipped')
    await expect(colloquy.conversations.addEvent(id, { role: 'user', content: 'wait' })).rejects.toThrow(
      ConversationClosed,
    )
    await expect(colloquy.sessions.addMessage(session.id, { role: 'user', content: 'wait' })).rejects.toThrow(
      ConversationClosed,
    )
    const reopened = await colloquy.conversations.reopen(id, 'a bug')
    expect(reopened).toMatchObject({ status: 'active', summary: 'all shipped' })
    await colloquy.conversations.addEvent(id, { role: 'user', content: 'wait' })
  })

  it('a conversation comes back from the archive in the status it had', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'Old' })
    await colloquy.conversations.complete(id)
    expect((await colloquy.conversations.archive(id)).status).toBe('archived')
    expect((await colloquy.conversations.restore(id)).status).toBe('completed')
  })

  it('a conversation is listed by recency, filtered by status and type, a page at a time', async () => {
    const { colloquy, pass } = await freshColloquy()
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      ids.push((await colloquy.conversations.createConversation({ title: `t${i}` })).id)
      pass(hour)
    }
    await colloquy.conversations.archive(ids[1]!)
    const titles = (list: { items: Array<{ title: string }> }) => list.items.map(one => one.title)
    const active = await colloquy.conversations.listConversations({ status: ['active'], limit: 3 })
    const rest = await colloquy.conversations.listConversations({ status: ['active'], limit: 3, cursor: active.next! })
    expect([titles(active), titles(rest), rest.next]).toEqual([['t4', 't3', 't2'], ['t0'], undefined])
    expect(titles(await colloquy.conversations.listConversations({ type: 'bead' }))).toEqual([])
  })

  it('a conversation keeps a new title and merged metadata', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'draft', metadata: { a: 1 } })
    await colloquy.conversations.describe(id, { title: 'final', metadata: { a: null, b: 2 } })
    expect(await colloquy.conversations.getConversation(id)).toMatchObject({ title: 'final', metadata: { b: 2 } })
  })

  it('a conversation is not found in another project ([P12])', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'secret plan' })
    const other = colloquy.as({ project: 'elsewhere' })
    await expect(other.conversations.getConversation(id)).rejects.toThrow(NotFound)
    expect((await other.conversations.search({ text: 'secret plan' })).conversations).toEqual([])
    expect((await other.conversations.listConversations()).items).toEqual([])
  })

  it('a conversation records who did it, through what and on which request', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'audited' })
    const owner = colloquy.as({ actor: 'owner', channel: 'http', requestId: 'r-1' })
    await owner.conversations.addEvent(id, { role: 'user', content: 'hello' })
    const [, said] = await colloquy.conversations.getEvents(id)
    expect(said).toMatchObject({ actor: 'owner', channel: 'http', requestId: 'r-1' })
  })
})

describe('a project', () => {
  it('[P12] a query stays inside its project, even when a caller without types adds a stray field', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'of the shop' })
    await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: 'of the shop' })
    await colloquy.work.addFeature({ featureId: 'login', name: 'Log in' })
    await colloquy.work.addBead({ beadId: 'b-1', title: 'A bead' })
    const other = colloquy.as({ project: 'bank' })
    const own = await other.conversations.createConversation({ title: 'of the bank' })
    const { fence } = await colloquy.conversations.claim(id, 'dev')
    const stray = { project: 'shop' } as object
    const asked: Array<() => Promise<unknown>> = [
      () => other.conversations.listConversations(stray),
      () => other.conversations.search({ text: 'shop', ...stray }),
      () => other.conversations.getEvents(own.id, stray),
      () => other.conversations.getEvents(own.id, { conversationId: id } as object),
      () => other.sessions.listSessions(stray),
      () => other.work.listFeatures(stray),
      () => other.work.listBeads(stray),
      () => other.work.listTasks('login', stray),
      () => other.audit(stray),
      () => other.totals(stray),
      () => other.conversations.releaseClaim({ ...fence, ...stray }),
      () => other.conversations.renewClaim({ ...fence, ...stray }),
    ]
    for (const ask of asked) await expect(ask(), String(ask)).rejects.toMatchObject({ code: 'input/invalid' })
    await colloquy.conversations.renewClaim(fence)
  })
})

describe('the maintenance sweep', () => {
  it('the maintenance sweep archives what is completed, what is old and what is idle, as the project says', async () => {
    const { colloquy, pass } = await freshColloquy({ archive: { inactiveForMs: 10 * hour } })
    const done = await colloquy.conversations.createConversation({ title: 'done' })
    await colloquy.conversations.complete(done.id)
    const idle = await colloquy.conversations.createConversation({ title: 'idle' })
    pass(11 * hour)
    const busy = await colloquy.conversations.createConversation({ title: 'busy' })
    expect(await colloquy.maintain()).toMatchObject({ archived: 2 })
    const statusOf = async (id: string) => (await colloquy.conversations.getConversation(id)).status
    expect(await Promise.all([done.id, idle.id, busy.id].map(statusOf))).toEqual(['archived', 'archived', 'active'])
  })

  it('the maintenance sweep leaves alone what a person restored, until it is completed again', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { conversations } = colloquy
    const { id } = await conversations.createConversation({ title: 'done' })
    await conversations.complete(id)
    expect(await colloquy.maintain()).toMatchObject({ archived: 1 })
    expect((await conversations.restore(id)).status).toBe('completed')
    pass(1000 * hour)
    expect(await colloquy.maintain()).toMatchObject({ archived: 0 })
    await conversations.reopen(id)
    await conversations.complete(id)
    expect(await colloquy.maintain()).toMatchObject({ archived: 1 })
    expect((await colloquy.verify()).damages).toEqual([])
  })

  it('the maintenance sweep counts the age of a restored conversation from its restore', async () => {
    const { colloquy, pass } = await freshColloquy({ archive: { afterMs: 10 * hour } })
    const { conversations } = colloquy
    const { id } = await conversations.createConversation({ title: 'old' })
    pass(11 * hour)
    expect(await colloquy.maintain()).toMatchObject({ archived: 1 })
    await conversations.restore(id)
    pass(9 * hour)
    expect(await colloquy.maintain()).toMatchObject({ archived: 0 })
    expect((await conversations.getConversation(id)).status).toBe('active')
    pass(2 * hour)
    expect(await colloquy.maintain()).toMatchObject({ archived: 1 })
  })

  it('the maintenance sweep leaves a purged and restored conversation alone for its full age again', async () => {
    const { colloquy, pass } = await freshColloquy({ archive: { inactiveForMs: 10 * hour } })
    const { conversations } = colloquy
    const { id } = await conversations.createConversation({ title: 'old' })
    const done = await conversations.createConversation({ title: 'done' })
    await conversations.complete(done.id)
    await conversations.purge(id)
    await conversations.purge(done.id)
    pass(11 * hour)
    expect((await conversations.restore(id)).status).toBe('active')
    expect((await conversations.restore(done.id)).status).toBe('completed')
    pass(9 * hour)
    expect(await colloquy.maintain()).toMatchObject({ archived: 0 })
    pass(2 * hour)
    expect(await colloquy.maintain()).toMatchObject({ archived: 2 })
    expect((await colloquy.verify()).damages).toEqual([])
  })

  it('the maintenance sweep reaches what is due behind many restored conversations', async () => {
    const { colloquy, pass } = await freshColloquy({ archive: { afterMs: 10 * hour } })
    const { conversations } = colloquy
    const made = []
    for (let count = 0; count < 121; count++) made.push(await conversations.createConversation({ title: 'old' }))
    pass(9 * hour)
    for (const { id } of made.slice(0, 120)) {
      await conversations.archive(id)
      await conversations.restore(id)
    }
    pass(2 * hour)
    expect(await colloquy.maintain()).toMatchObject({ archived: 1 })
    expect((await conversations.getConversation(made[120]!.id)).status).toBe('archived')
  })

  it('the maintenance sweep leaves completed conversations alone where the project says so', async () => {
    const { colloquy } = await freshColloquy({ archive: { onCompletion: false } })
    const { id } = await colloquy.conversations.createConversation({ title: 'done' })
    await colloquy.conversations.complete(id)
    expect(await colloquy.maintain()).toMatchObject({ archived: 0 })
  })
})

describe('[P4] removal is explicit', () => {
  it('a conversation is purged into an archive file and restored from it, hash for hash', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession({ type: 'feature', featureId: 'login', agentType: 'pm' })
    for (const content of ['one', 'two', 'x'.repeat(300_000)]) {
      await colloquy.sessions.addMessage(session.id, { role: 'user', content })
    }
    const before = await colloquy.conversations.getEvents(session.conversationId)
    const purged = await colloquy.conversations.purge(session.conversationId, 'asked for')
    expect(purged.events).toBe(before.length)
    await expect(colloquy.conversations.getConversation(session.conversationId)).rejects.toThrow(ConversationPurged)
    await expect(colloquy.sessions.getSession(session.id)).rejects.toThrow(NotFound)
    await colloquy.conversations.restore(session.conversationId)
    const [restored, ...newestFirst] = await colloquy.conversations.getEvents(session.conversationId, {
      backwards: true,
    })
    expect(restored).toMatchObject({ version: before.length + 1, event: { type: 'conversation.restored' } })
    const after = newestFirst.toReversed()
    expect(after.map(({ position: _, ...rest }) => rest)).toEqual(before.map(({ position: _, ...rest }) => rest))
    expect((await colloquy.sessions.getAllMessages(session.id)).map(m => m.content.length)).toEqual([3, 3, 300_000])
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('of two callers that purge a conversation at the same moment one succeeds, and the other gets an error', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'x' })
    const asked = await Promise.allSettled([colloquy.conversations.purge(id), colloquy.conversations.purge(id)])
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(asked.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'conversation/purged' } })
  })

  it('erasing a message keeps the rest provable', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'care' })
    const secret = await colloquy.conversations.addEvent(id, { role: 'user', content: 'the password is swordfish' })
    await colloquy.conversations.addEvent(id, { role: 'user', content: 'thanks' })
    const erased = await colloquy.conversations.erase(secret.id, 'a secret')
    expect(erased).toEqual({ conversationId: id, version: secret.version, archives: [], contents: [], checkpoints: [] })
    const [gone, thanks] = await colloquy.conversations.getMessages(id)
    expect(gone).toMatchObject({ id: secret.id, content: '', missing: { because: 'erased' } })
    expect(thanks?.content).toBe('thanks')
    expect((await colloquy.conversations.search({ text: 'swordfish' })).messages).toEqual([])
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('an erased message is left out of what a person reads, and elsewhere its place says that it is gone', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const { id, conversationId } = await sessions.getOrCreateSession({
      type: 'thread',
      agentType: 'pm',
      threadId: 'login',
    })
    const said = []
    for (const content of ['one', 'two', 'three', 'secret'])
      said.push(await sessions.addMessage(id, { role: 'user', content }))
    await conversations.erase(said[3]!.id, 'a key was in it')
    const context = await sessions.getRecentContext(id, 2)
    expect(context.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'two'],
      ['user', 'three'],
    ])
    expect((await sessions.getRecentContext(id)).map(({ content }) => content)).toEqual(['one', 'two', 'three'])
    expect((await sessions.getAllMessages(id)).at(-1)).toMatchObject({ content: '', missing: { because: 'erased' } })
    const events = await conversations.getEvents(conversationId, { facts: true })
    expect(events.at(-1)?.event).toMatchObject({ type: 'message.erased', reason: 'a key was in it' })
  })

  it('an erase lists the archives that it cannot reach', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'care' })
    const message = await colloquy.conversations.addEvent(id, { role: 'user', content: 'the password is swordfish' })
    const { archive } = await colloquy.conversations.purge(id)
    await colloquy.conversations.restore(id)
    expect((await colloquy.conversations.erase(message.id)).archives).toEqual([archive])
  })
})
