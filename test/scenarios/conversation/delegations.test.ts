/** Work handed to another agent: a conversation of its own, told of in the parent once when it goes and once when it comes back. */
import { type Colloquy, openColloquy } from 'colloquy'
import { IllegalState } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import { freshColloquy, hour } from '../../support/colloquy.ts'

async function team() {
  const store = await freshColloquy()
  const thread = { type: 'thread', threadId: 'release' } as const
  const lead = await store.colloquy.sessions.getOrCreateSession({ ...thread, agentType: 'lead' })
  const dev = await store.colloquy.sessions.getOrCreateSession({ ...thread, agentType: 'dev' })
  return Object.assign(store, { lead, dev, id: lead.conversationId })
}

const task = { from: 'lead', to: 'qa', task: 'Test the login page on three browsers' }

const seenBy = async (colloquy: Colloquy, sessionId: string) =>
  (await colloquy.sessions.getAllMessages(sessionId)).map(message => `${message.author}: ${message.content}`)

describe('a delegation', () => {
  it('a delegation creates a conversation that knows its parent, with the task as its first message', async () => {
    const { colloquy, id } = await team()
    const delegation = await colloquy.conversations.delegate(id, task)
    expect(delegation).toMatchObject({ ...task, status: 'pending', parentId: id })
    const child = await colloquy.conversations.getConversation(delegation.conversationId)
    expect(child).toMatchObject({
      title: task.task,
      workItem: { type: 'thread', threadId: child.id },
      delegated: { conversationId: id, delegationId: delegation.id, from: 'lead', to: 'qa' },
      phase: 'chat',
    })
    const [first] = await colloquy.conversations.getMessages(child.id)
    expect(first).toMatchObject({ role: 'user', author: 'lead', content: task.task, addressees: ['qa'] })
  })

  it('a delegation that is open where a branch begins reports back to both', async () => {
    const { colloquy, id } = await team()
    const { conversations } = colloquy
    const { conversationId } = await conversations.delegate(id, task)
    const branch = await conversations.branch(id)
    const second = await conversations.branch(branch.id)
    expect(await conversations.getDelegations(branch.id)).toMatchObject([{ ...task, status: 'pending' }])
    await conversations.completeDelegation(conversationId, { result: 'All three work' })
    await colloquy.maintain()
    for (const one of [id, branch.id, second.id]) {
      const ended = { ...task, status: 'completed', result: 'All three work' }
      expect(await conversations.getDelegations(one)).toMatchObject([ended])
      const [, told] = await conversations.getMessages(one)
      expect(told?.content).toBe(`qa completed the delegation "${task.task}": All three work`)
    }
  })

  it('a delegation is shown to the delegator alone, once when it goes out and once when it comes back, in its place', async () => {
    const { colloquy, id, lead, dev } = await team()
    await colloquy.sessions.addMessage(lead.id, { role: 'assistant', content: 'before' })
    const { conversationId } = await colloquy.conversations.delegate(id, task)
    await colloquy.sessions.addMessage(dev.id, { role: 'assistant', content: 'between' })
    const done = { result: 'All three work' }
    await colloquy.conversations.completeDelegation(conversationId, done)
    await colloquy.conversations.completeDelegation(conversationId, { result: 'said again' })
    await colloquy.sessions.addMessage(lead.id, { role: 'assistant', content: 'after' })

    expect(await seenBy(colloquy, lead.id)).toEqual([
      'lead: before',
      `lead: Delegated to qa: ${task.task}`,
      'dev: between',
      `qa: qa completed the delegation "${task.task}": All three work`,
      'lead: after',
    ])
    expect(await seenBy(colloquy, dev.id)).toEqual(['lead: before', 'dev: between', 'lead: after'])
    expect(await colloquy.conversations.getDelegations(id)).toMatchObject([
      { status: 'completed', result: 'All three work' },
    ])
    expect(await colloquy.conversations.getConversation(conversationId)).toMatchObject({
      status: 'completed',
      summary: 'All three work',
      delegated: { outcome: 'completed' },
    })
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it.each(['failed', 'aborted'] as const)('a delegation may end as %s', async outcome => {
    const { colloquy, id, lead } = await team()
    const { id: delegationId, conversationId } = await colloquy.conversations.delegate(id, task)
    if (outcome === 'failed') {
      await colloquy.conversations.completeDelegation(conversationId, { outcome, result: 'no browser' })
    } else await colloquy.conversations.abortDelegation(id, delegationId, 'no browser')
    expect(await colloquy.conversations.getDelegations(id)).toMatchObject([{ status: outcome, result: 'no browser' }])
    expect((await seenBy(colloquy, lead.id)).at(-1)).toBe(`qa: qa ${outcome} the delegation "${task.task}": no browser`)
  })

  it('[P3] a delegation happens once under an idempotency key', async () => {
    const { colloquy, id } = await team()
    const delegate = () => colloquy.conversations.delegate(id, task, { idempotencyKey: 'hand-over' })
    expect((await delegate()).conversationId).toBe((await delegate()).conversationId)
    expect(await colloquy.conversations.getDelegations(id)).toHaveLength(1)
    expect((await colloquy.conversations.listConversations()).items).toHaveLength(2)
  })

  it('a delegation is refused past 64 at a time, and so is ending one that was never made', async () => {
    const { colloquy, id } = await team()
    for (let number = 0; number < 64; number++) await colloquy.conversations.delegate(id, task)
    await expect(colloquy.conversations.delegate(id, task)).rejects.toThrow(IllegalState)
    await expect(colloquy.conversations.completeDelegation(id, { result: 'x' })).rejects.toThrow(/was not delegated/)
  })
})

it('[P4] erasing a result that the parent received leaves no copy of it there', async () => {
  const { colloquy, id } = await team()
  const asked = { from: 'lead', to: 'qa', title: 'Browsers', task: 'The password is swordfish' }
  const { conversationId } = await colloquy.conversations.delegate(id, asked)
  await colloquy.conversations.completeDelegation(conversationId, { result: 'It is swordfish indeed' })
  for (const message of await colloquy.conversations.getMessages(id)) await colloquy.conversations.erase(message.id)
  expect(JSON.stringify(await colloquy.conversations.getEvents(id))).not.toContain('swordfish')
  expect(await colloquy.conversations.getDelegations(id)).toMatchObject([{ task: '(erased)', result: '(erased)' }])
})

describe('a crash between the two logs', () => {
  /** Everything but the second of the two writes, as a process leaves it that dies in between. */
  async function withoutIts(second: 'child' | 'parent') {
    const table = await team()
    const { colloquy, store, id } = table
    const dying = await openColloquy({ store, project: 'shop', tokens: 'fast', sweepEveryMs: null, ids: failingIds() })
    let conversationId = ''
    if (second === 'child') {
      // The parent's write needs three ids; the fourth, for the child's first message, is never handed out.
      await expect(dying.conversations.delegate(id, task)).rejects.toThrow('died')
    } else {
      conversationId = (await colloquy.conversations.delegate(id, task)).conversationId
      // The child's end needs none; the first, for what the parent is told, is never handed out.
      ids = 0
      await expect(dying.conversations.completeDelegation(conversationId, { result: 'fine' })).rejects.toThrow('died')
    }
    await dying.close()
    return Object.assign(table, { conversationId })
  }

  let ids = 3
  function failingIds() {
    ids = 3
    let number = 0
    return () => {
      if (ids-- <= 0) throw new Error('died')
      return `dying-${process.pid}-${performance.now()}-${number++}`
    }
  }

  it('a crash before the child was created is repaired on the next read', async () => {
    const { colloquy, id } = await withoutIts('child')
    const [pending] = await colloquy.conversations.getDelegations(id)
    expect(pending).toMatchObject({ ...task, status: 'pending' })
    const [first] = await colloquy.conversations.getMessages(pending!.conversationId)
    expect(first).toMatchObject({ author: 'lead', content: task.task })
    await colloquy.conversations.getDelegations(id)
    expect(await colloquy.conversations.getMessages(pending!.conversationId)).toHaveLength(1)
  })

  it('a crash before the parent recorded the end is repaired by the sweep, once', async () => {
    const { colloquy, id, lead, pass, conversationId } = await withoutIts('parent')
    expect((await colloquy.conversations.getConversation(conversationId)).status).toBe('completed')
    expect((await seenBy(colloquy, lead.id)).filter(line => line.startsWith('qa:'))).toEqual([])
    pass(hour)
    expect(await colloquy.maintain()).toMatchObject({ endedDelegations: 1 })
    expect(await colloquy.maintain()).toMatchObject({ endedDelegations: 0 })
    expect(await colloquy.conversations.getDelegations(id)).toMatchObject([{ status: 'completed', result: 'fine' }])
    expect((await seenBy(colloquy, lead.id)).filter(line => line.startsWith('qa:'))).toHaveLength(1)
  })
})

describe('the parent', () => {
  it('the parent learns of a child that was completed like any conversation, and of one that was purged', async () => {
    const { colloquy, id } = await team()
    const [one, two] = [
      await colloquy.conversations.delegate(id, task),
      await colloquy.conversations.delegate(id, task),
    ]
    const three = await colloquy.conversations.delegate(id, task)
    await colloquy.conversations.complete(one.conversationId, 'looks fine')
    await colloquy.conversations.purge(two.conversationId)
    // The sweep archives completed conversations, and may come before any read.
    await colloquy.conversations.complete(three.conversationId, 'fine, too')
    await colloquy.conversations.archive(three.conversationId)
    expect(await colloquy.conversations.getDelegations(id)).toMatchObject([
      { status: 'completed', result: 'looks fine' },
      { status: 'aborted', result: 'its conversation was purged' },
      { status: 'completed', result: 'fine, too' },
    ])
  })

  it('a closed parent learns of the result when it is reopened', async () => {
    const { colloquy, id } = await team()
    const { conversationId } = await colloquy.conversations.delegate(id, task)
    await colloquy.conversations.complete(id)
    expect(await colloquy.conversations.completeDelegation(conversationId, { result: 'late' })).toMatchObject({
      status: 'pending',
    })
    await colloquy.conversations.reopen(id)
    expect(await colloquy.conversations.getDelegations(id)).toMatchObject([{ status: 'completed', result: 'late' }])
  })
})
