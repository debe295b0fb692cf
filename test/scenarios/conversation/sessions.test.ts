/** Sessions as their users see them: found, filled, cleared, put away, and never losing a message. */

import { openColloquy } from 'colloquy'
import { NotFound, SessionClosed } from 'colloquy/errors'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { TokenCount } from '../../../src/log/events/message.ts'
import { freshColloquy, hour } from '../../support/colloquy.ts'

const feature = { type: 'feature', agentType: 'pm', featureId: 'login' } as const
const task = { type: 'task', agentType: 'dev', featureId: 'login', taskId: 'form', taskState: 'in_dev' } as const
const contentsOf = (messages: ReadonlyArray<{ content: string }>) => messages.map(message => message.content)

describe('finding a session', () => {
  it('finding a session returns the same one for the same agent, work item and state', async () => {
    const { colloquy } = await freshColloquy()
    const first = await colloquy.sessions.getOrCreateSession(task)
    const again = await colloquy.sessions.getOrCreateSession(task)
    const otherState = await colloquy.sessions.getOrCreateSession({ ...task, taskState: 'in_qa' })
    const otherAgent = await colloquy.sessions.getOrCreateSession({ ...task, agentName: 'dev-2' })
    expect(again.id).toBe(first.id)
    expect(new Set([first.id, otherState.id, otherAgent.id]).size).toBe(3)
  })

  it('finding a session creates one when a hundred callers ask at once', async () => {
    const { colloquy } = await freshColloquy()
    const sessions = await Promise.all(Array.from({ length: 100 }, () => colloquy.sessions.getOrCreateSession(feature)))
    expect(new Set(sessions.map(session => session.id)).size).toBe(1)
    expect((await colloquy.sessions.listSessions()).items).toHaveLength(1)
  })

  it('[P3] finding a session is refused at a wrong version or with a misspelt option, whether the session exists or not', async () => {
    const { colloquy } = await freshColloquy()
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(feature)
    const { version } = await colloquy.conversations.getConversation(conversationId)
    const asked = (write: object) => colloquy.sessions.getOrCreateSession(feature, write)
    await expect(asked({ expectedVersion: version - 1 })).rejects.toMatchObject({ code: 'log/version-conflict' })
    await expect(asked({ idempotencykey: 'once' })).rejects.toMatchObject({ code: 'input/invalid' })
    expect((await asked({ expectedVersion: version })).id).toBe(id)
    expect((await asked({})).id).toBe(id)
    expect((await colloquy.conversations.getConversation(conversationId)).version).toBe(version)
  })

  it.each(['pm', 'dev', 'qa', 'harness', 'merge', 'translator-für-日本語'])(
    'a session may have the agent type %s',
    async agentType => {
      const { colloquy } = await freshColloquy()
      const session = await colloquy.sessions.getOrCreateSession({ ...feature, agentType })
      expect(session).toMatchObject({ agentType, agentName: agentType, type: 'feature', status: 'active' })
    },
  )

  it('the sessions of one work item share one conversation', async () => {
    const { colloquy } = await freshColloquy()
    const dev = await colloquy.sessions.getOrCreateSession(task)
    const qa = await colloquy.sessions.getOrCreateSession({ ...task, agentType: 'qa', taskState: 'in_qa' })
    const pm = await colloquy.sessions.getOrCreateSession(feature)
    expect(qa.conversationId).toBe(dev.conversationId)
    expect(pm.conversationId).not.toBe(dev.conversationId)
  })

  it('sessions may belong to features, tasks, beads and threads', async () => {
    const { colloquy } = await freshColloquy()
    const bead = await colloquy.sessions.getOrCreateSession({ type: 'bead', agentType: 'worker', beadId: 'loom-c0f.2' })
    const thread = await colloquy.sessions.getOrCreateSession({
      type: 'thread',
      agentType: 'pm',
      threadId: 'a/b "c".d',
    })
    expect(bead.workItem).toEqual({ type: 'bead', beadId: 'loom-c0f.2' })
    expect(thread.workItem).toEqual({ type: 'thread', threadId: 'a/b "c".d' })
  })

  it('a work item and its states are linked to the sessions that worked on it', async () => {
    const { colloquy } = await freshColloquy()
    const first = await colloquy.sessions.getOrCreateSession(task)
    const second = await colloquy.sessions.createSession(task)
    const qa = await colloquy.sessions.getOrCreateSession({ ...task, agentType: 'qa', taskState: 'in_qa' })
    const links = await colloquy.sessions.getSessionLinks({ type: 'task', featureId: 'login', taskId: 'form' })
    expect(links).toEqual({
      conversationId: first.conversationId,
      states: { in_dev: [first.id, second.id], in_qa: [qa.id] },
    })
  })

  it('a work item is linked to its sessions by state whatever the state is called, oldest first', async () => {
    const { colloquy } = await freshColloquy()
    const task = { type: 'task', featureId: 'login', taskId: 'form' } as const
    const made: Record<string, string[]> = Object.create(null)
    for (const taskState of ['constructor', '__proto__', 'constructor', '__proto__']) {
      const { id } = await colloquy.sessions.createSession({ ...task, agentType: 'dev', taskState })
      made[taskState] = [...(made[taskState] ?? []), id]
    }
    const { states } = await colloquy.sessions.getSessionLinks(task)
    expect(Object.entries(states).sort()).toEqual(Object.entries(made).sort())
  })

  it('creating a session archives the active one, and says which it replaces', async () => {
    const { colloquy } = await freshColloquy()
    const old = await colloquy.sessions.getOrCreateSession(feature)
    const fresh = await colloquy.sessions.createSession(feature)
    expect(fresh.replaces).toBe(old.id)
    expect((await colloquy.sessions.getSession(old.id)).status).toBe('archived')
    expect((await colloquy.sessions.getActiveSession(feature))?.id).toBe(fresh.id)
  })

  it('sessions are listed in pages', async () => {
    const { colloquy } = await freshColloquy()
    for (let i = 0; i < 7; i++) await colloquy.sessions.getOrCreateSession({ ...feature, featureId: `f${i}` })
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await colloquy.sessions.listSessions({ limit: 3, ...(cursor && { cursor }) })
      seen.push(...page.items.map(session => (session.workItem.type === 'feature' ? session.workItem.featureId : '')))
      cursor = page.next
    } while (cursor)
    expect(seen).toEqual(['f6', 'f5', 'f4', 'f3', 'f2', 'f1', 'f0'])
  })

  it('a long page of sessions yields to other work while it is put together', async () => {
    const { colloquy } = await freshColloquy()
    const features = Array.from({ length: 120 }, (_, index) => ({ ...feature, featureId: `feature ${index}` }))
    await Promise.all(features.map(one => colloquy.sessions.getOrCreateSession(one)))
    let turns = 0
    const listed = colloquy.sessions.listSessions({ limit: 120 })
    const ended = listed.then(() => true)
    while (!(await Promise.race([ended, new Promise(resolve => setImmediate(resolve, false))]))) turns++
    expect((await listed).items).toHaveLength(120)
    expect(turns).toBeGreaterThan(0)
  })
})

describe('messages', () => {
  it('messages come back as they were added, with everything they carried', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const first = await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'Plan the login page' })
    await colloquy.sessions.addMessage(session.id, {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'Look first.' },
        { type: 'text', text: 'I read the file.' },
        { type: 'tool-call', callId: 'c1', name: 'read', input: { path: 'a.ts', lines: [1, 2] } },
        { type: 'tool-result', callId: 'c1', name: 'read', output: 'text', isError: false },
        { type: 'file', name: 'mock.png', mediaType: 'image/png', path: 'docs/mock.png' },
      ],
      agentType: 'pm',
      featureId: 'login',
      taskId: 'form',
      iteration: 3,
      addressees: ['dev'],
      mentions: ['qa'],
      replyTo: first.id,
      pinned: true,
      usage: { input: 1000, output: 50, cacheRead: 900 },
      metadata: { mood: 'good' },
      envelope: { sig: 'abc' },
    })
    const [, answer] = await colloquy.sessions.getAllMessages(session.id)
    expect(answer).toMatchObject({
      role: 'assistant',
      author: 'pm',
      content: 'I read the file.',
      sessionId: session.id,
      iteration: 3,
      addressees: ['dev'],
      mentions: ['qa'],
      replyTo: first.id,
      pinned: true,
      usage: { input: 1000, output: 50, cacheRead: 900 },
      metadata: { mood: 'good' },
      envelope: { sig: 'abc' },
    })
    expect(answer?.parts).toHaveLength(5)
    expect(answer?.tokens.count).toBeGreaterThan(0)
  })

  it('messages take metadata in the form of the recorded sessions into their own fields', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const message = await colloquy.sessions.addMessage(session.id, {
      role: 'assistant',
      content: 'Done.',
      metadata: {
        agentType: 'pm',
        featureId: 'login',
        iteration: 2,
        internal: true,
        tokens: { input: 10, output: 4 },
        toolUse: { name: 'CreateTask', input: { title: 'form' }, result: { id: 't1' } },
        colour: 'red',
      },
    })
    expect(message).toMatchObject({
      agentType: 'pm',
      featureId: 'login',
      iteration: 2,
      internal: true,
      usage: { input: 10, output: 4 },
    })
    expect(message.metadata).toEqual({ colour: 'red' })
    expect(message.parts.map(part => part.type)).toEqual(['text', 'tool-call', 'tool-result'])
  })

  it('messages are chosen by kind: recent context has no internal and no system ones', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const add = (role: 'user' | 'assistant' | 'system', content: string, internal = false) =>
      colloquy.sessions.addMessage(session.id, { role, content, internal })
    await add('system', 'You are a PM')
    await add('user', 'hello')
    await add('assistant', 'thinking aloud', true)
    await add('assistant', 'hi')
    expect(contentsOf(await colloquy.sessions.getRecentContext(session.id))).toEqual(['hello', 'hi'])
    expect(contentsOf(await colloquy.sessions.getUserFacingMessages(session.id))).toEqual([
      'You are a PM',
      'hello',
      'hi',
    ])
    expect(contentsOf(await colloquy.sessions.getAllMessages(session.id))).toEqual([
      'You are a PM',
      'hello',
      'thinking aloud',
      'hi',
    ])
  })

  it('messages come ten at a time by default for context, and in pages on demand', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    for (let i = 1; i <= 25; i++) await colloquy.sessions.addMessage(session.id, { role: 'user', content: `m${i}` })
    expect(contentsOf(await colloquy.sessions.getRecentContext(session.id))).toEqual(
      Array.from({ length: 10 }, (_, i) => `m${16 + i}`),
    )
    const newest = await colloquy.sessions.getRecentMessages(session.id, 3)
    const before = await colloquy.sessions.getRecentMessages(session.id, 3, { before: newest[0]!.version })
    const after = await colloquy.sessions.getAllMessages(session.id, { after: before[2]!.version, limit: 2 })
    expect([contentsOf(newest), contentsOf(before), contentsOf(after)]).toEqual([
      ['m23', 'm24', 'm25'],
      ['m20', 'm21', 'm22'],
      ['m23', 'm24'],
    ])
  })

  it('messages of two sessions on one work item stay apart, but those to everyone are seen by both', async () => {
    const { colloquy } = await freshColloquy()
    const dev = await colloquy.sessions.getOrCreateSession(task)
    const qa = await colloquy.sessions.getOrCreateSession({ ...task, agentType: 'qa', taskState: 'in_qa' })
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: 'for dev' })
    await colloquy.sessions.addMessage(qa.id, { role: 'user', content: 'for qa' })
    await colloquy.conversations.addEvent(dev.conversationId, { role: 'user', author: 'owner', content: 'for all' })
    expect(contentsOf(await colloquy.sessions.getAllMessages(dev.id))).toEqual(['for dev', 'for all'])
    expect(contentsOf(await colloquy.sessions.getAllMessages(qa.id))).toEqual(['for qa', 'for all'])
  })

  it('messages of a thread are shared by its sessions', async () => {
    const { colloquy } = await freshColloquy()
    const thread = { type: 'thread', threadId: 'release' } as const
    const pm = await colloquy.sessions.getOrCreateSession({ ...thread, agentType: 'pm' })
    const dev = await colloquy.sessions.getOrCreateSession({ ...thread, agentType: 'dev' })
    await colloquy.sessions.addMessage(pm.id, { role: 'assistant', content: 'we ship on Friday' })
    expect(contentsOf(await colloquy.sessions.getAllMessages(dev.id))).toEqual(['we ship on Friday'])
  })

  it('messages survive a restart', async () => {
    const kept = await freshColloquy()
    const session = await kept.colloquy.sessions.getOrCreateSession(feature)
    await kept.colloquy.sessions.addMessage(session.id, { role: 'user', content: 'remember me' })
    const again = await kept.reopen()
    expect(contentsOf(await again.sessions.getAllMessages(session.id))).toEqual(['remember me'])
    expect((await again.sessions.getOrCreateSession(feature)).id).toBe(session.id)
  })
})

describe('[P4] nothing is deleted by use', () => {
  it('clearing a session starts its window again and leaves the log whole', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'old' })
    const cleared = await colloquy.sessions.clearMessages(session.id)
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'new' })
    expect(cleared.stats.messages).toBe(0)
    expect(contentsOf(await colloquy.sessions.getAllMessages(session.id))).toEqual(['new'])
    expect(contentsOf(await colloquy.conversations.getMessages(session.conversationId))).toEqual(['old', 'new'])
  })

  it.each([
    [true, ['You are a PM', 'after']],
    [false, ['after']],
  ])('resetting a session with keepSystemMessage %s', async (keepSystemMessage, expected) => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.sessions.addMessage(session.id, { role: 'system', content: 'You are a PM' })
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'before' })
    await colloquy.sessions.addMessage(session.id, { role: 'system', content: 'a later note' })
    await colloquy.sessions.resetSession(session.id, { keepSystemMessage })
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'after' })
    expect(contentsOf(await colloquy.sessions.getAllMessages(session.id))).toEqual(expected)
    expect((await colloquy.sessions.getSession(session.id)).stats.messages).toBe(expected.length)
    await colloquy.sessions.resetSession(session.id, { keepSystemMessage })
    expect(contentsOf(await colloquy.sessions.getAllMessages(session.id))).toEqual(expected.slice(0, -1))
  })

  it('resetting a session keeps the first system message that still has content', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const { id } = await sessions.getOrCreateSession(feature)
    const secret = await sessions.addMessage(id, { role: 'system', content: 'Answer in verse. The password is 1234.' })
    await sessions.resetSession(id)
    await conversations.erase(secret.id)
    await sessions.addMessage(id, { role: 'system', content: 'Answer in verse' })
    await sessions.addMessage(id, { role: 'system', content: 'a later note' })
    await sessions.resetSession(id)
    expect(contentsOf(await sessions.getAllMessages(id))).toEqual(['Answer in verse'])
    const { systemPrompt } = await sessions.previewRequest(id, 'Go on', { strategy: { name: 'sliding_window' } })
    expect(systemPrompt).toContain('Answer in verse')
  })

  it('an archived session can be read, takes nothing more, and can be reopened', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'said' })
    await colloquy.sessions.archiveSession(session.id)
    await expect(colloquy.sessions.addMessage(session.id, { role: 'user', content: 'more' })).rejects.toThrow(
      SessionClosed,
    )
    expect(contentsOf(await colloquy.sessions.getAllMessages(session.id))).toEqual(['said'])
    await colloquy.sessions.reopenSession(session.id)
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'more' })
    expect(contentsOf(await colloquy.sessions.getAllMessages(session.id))).toEqual(['said', 'more'])
  })

  it('an archived session is reopened in place of a successor whose time is over', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { sessions } = colloquy
    const old = await sessions.getOrCreateSession(feature)
    const fresh = await sessions.createSession(feature)
    pass(25 * hour)
    expect(await sessions.reopenSession(old.id)).toMatchObject({ id: old.id, status: 'active' })
    expect(await sessions.getSession(fresh.id)).toMatchObject({ status: 'expired' })
    expect((await sessions.getOrCreateSession(feature)).id).toBe(old.id)
    expect((await colloquy.verify()).damages).toEqual([])
  })

  it('an archived session with an active successor cannot be reopened', async () => {
    const { colloquy } = await freshColloquy()
    const old = await colloquy.sessions.getOrCreateSession(feature)
    const fresh = await colloquy.sessions.createSession(feature)
    await expect(colloquy.sessions.reopenSession(old.id)).rejects.toMatchObject({
      code: 'state/illegal',
      facts: { rivalId: fresh.id },
    })
  })

  it('a deleted session is hidden while the log keeps what it said', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'still there' })
    await colloquy.sessions.deleteSession(session.id)
    await expect(colloquy.sessions.getSession(session.id)).rejects.toThrow(NotFound)
    expect((await colloquy.sessions.listSessions()).items).toEqual([])
    expect(contentsOf(await colloquy.conversations.getMessages(session.conversationId))).toEqual(['still there'])
    expect((await colloquy.sessions.getOrCreateSession(feature)).id).not.toBe(session.id)
  })
})

describe('a message that is on its way when the store is closed', () => {
  it('a message that is being counted when the store is closed is kept, also when it is the first', async () => {
    const { colloquy, store, now } = await freshColloquy({ tokens: 'exact' })
    const { id } = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.close()
    let answer = (_: TokenCount) => {}
    const ask = () => new Promise<TokenCount>(resolve => (answer = resolve))
    const slow = { name: 'slow', count: () => 1, ask }
    const again = await openColloquy({ store, project: 'shop', sweepEveryMs: null, clock: now, tokens: slow })
    const saying = again.sessions.addMessage(id, { role: 'user', content: 'in time' })
    const closing = again.close()
    answer({ count: 2, by: 'slow' })
    await closing
    expect(await saying).toMatchObject({ content: 'in time', tokens: { count: 2, by: 'slow' } })
    const exact = await openColloquy({ store, project: 'shop', sweepEveryMs: null, clock: now })
    const first = exact.sessions.addMessage(id, { role: 'user', content: 'the first' })
    await exact.close()
    expect(await first).toMatchObject({ content: 'the first' })
  })
})

describe('the session before a new one', () => {
  const key = { ...feature, expiresInMs: 60_000 }

  /** An old one that was put away, and the one after it, which the agent has taken something in with, gone for want of use. */
  async function two({ sweeps }: { sweeps: boolean }) {
    const { colloquy, pass } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const old = await sessions.getOrCreateSession(key)
    pass(1000)
    const last = await sessions.createSession(key)
    const { version } = await sessions.addMessage(last.id, { role: 'user', content: 'hello' })
    await conversations.acknowledge(last.conversationId, { sessionId: last.id }, version)
    pass(hour)
    if (sweeps) await colloquy.maintain()
    return { sessions, old, last, version, pass }
  }

  it.each([false, true])(
    'the predecessor of a session is the one used last, whatever is noted on older ones (swept before: %s)',
    async sweeps => {
      const touches: Array<(one: Awaited<ReturnType<typeof two>>) => Promise<unknown>> = [
        ({ sessions, old }) => sessions.setMetadata(old.id, { seen: true }),
        ({ sessions, old }) => sessions.setOutsideId(old.id, 'claude', 'x'),
        ({ sessions, old }) => sessions.deleteSession(old.id),
      ]
      for (const touch of touches) {
        const one = await two({ sweeps })
        await touch(one)
        const next = await one.sessions.getOrCreateSession(key)
        expect(next).toMatchObject({ replaces: one.last.id, acknowledged: one.version })
      }
    },
  )

  it('the predecessor of a session is an older one that was reopened since', async () => {
    const { sessions, old, pass } = await two({ sweeps: true })
    await sessions.reopenSession(old.id)
    pass(hour)
    expect((await sessions.getOrCreateSession(key)).replaces).toBe(old.id)
  })

  it('the predecessor of a session is the newest, also when the clock was set back before it was created', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const old = await sessions.getOrCreateSession(key)
    await sessions.archiveSession(old.id)
    pass(-6 * hour)
    const last = await sessions.getOrCreateSession(key)
    const { version } = await sessions.addMessage(last.id, { role: 'user', content: 'hello' })
    await conversations.acknowledge(last.conversationId, { sessionId: last.id }, version)
    await sessions.expireSession(last.id)
    expect(await sessions.getOrCreateSession(key)).toMatchObject({ replaces: last.id, acknowledged: version })
  })
})

describe('what two programs do at the same moment', () => {
  /** The second one writes at once; the first has written several things just before, so its next write waits a turn. */
  async function two() {
    const { colloquy: first, store, now, pass } = await freshColloquy()
    const second = await openColloquy({ store, project: 'shop', tokens: 'fast', sweepEveryMs: null, clock: now })
    onTestFinished(() => second.close())
    const other = await first.sessions.getOrCreateSession({ ...feature, featureId: 'other' })
    const busy = () =>
      Promise.all([1, 2].map(() => first.sessions.addMessage(other.id, { role: 'user', content: 'busy' })))
    return { first, second, busy, pass }
  }

  it('a reset by one program keeps a system message that another adds at that moment, and brings none back that was cleared', async () => {
    const { first, second, busy } = await two()
    const { id } = await first.sessions.getOrCreateSession(feature)
    const contents = async () => (await second.sessions.getAllMessages(id)).map(message => message.content)
    await first.sessions.addMessage(id, { role: 'user', content: 'hello' })
    await busy()
    const system = { role: 'system', content: 'rules' } as const
    await Promise.all([first.sessions.resetSession(id), second.sessions.addMessage(id, system)])
    expect(await contents()).toEqual(['rules'])
    await busy()
    await Promise.all([second.sessions.clearMessages(id), first.sessions.resetSession(id)])
    expect(await contents()).toEqual([])
  })

  it('a session that is deleted while its predecessor is reopened stays deleted', async () => {
    const { first, second, pass } = await two()
    const asked = { ...feature, expiresInMs: 1000 }
    const before = await first.sessions.getOrCreateSession(asked)
    await first.sessions.archiveSession(before.id)
    const after = await first.sessions.getOrCreateSession(asked)
    pass(hour)
    await Promise.all([second.sessions.deleteSession(after.id), first.sessions.reopenSession(before.id)])
    await expect(second.sessions.getSession(after.id)).rejects.toMatchObject({ code: 'not-found' })
    expect((await first.sessions.getSession(before.id)).status).toBe('active')
  })
})

describe('expiry', () => {
  it('expiry slides with use', async () => {
    const { colloquy, pass } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    for (let i = 0; i < 4; i++) {
      pass(20 * hour)
      await colloquy.sessions.addMessage(session.id, { role: 'user', content: `day ${i}` })
    }
    expect((await colloquy.sessions.getOrCreateSession(feature)).id).toBe(session.id)
  })

  it('expiry replaces a session on its next use and keeps it in the log', async () => {
    const { colloquy, pass } = await freshColloquy()
    const old = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.sessions.addMessage(old.id, { role: 'user', content: 'yesterday' })
    pass(25 * hour)
    await expect(colloquy.sessions.addMessage(old.id, { role: 'user', content: 'late' })).rejects.toMatchObject({
      code: 'session/closed',
      facts: { sessionStatus: 'expired' },
    })
    expect(await colloquy.sessions.getActiveSession(feature)).toBeUndefined()
    const fresh = await colloquy.sessions.getOrCreateSession(feature)
    expect(fresh).toMatchObject({ replaces: old.id, stats: { messages: 0 } })
    expect((await colloquy.sessions.getSession(old.id)).status).toBe('expired')
    expect(contentsOf(await colloquy.sessions.getAllMessages(old.id))).toEqual(['yesterday'])
  })

  it.each([
    ['noticed by whoever comes next', false],
    ['marked by the sweep first', true],
  ])('expiry makes no difference to what comes after: %s', async (_, isSwept) => {
    const { colloquy, pass } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const thread = { type: 'thread', agentType: 'dev', threadId: 'login' } as const
    const old = await sessions.getOrCreateSession(thread)
    const { version } = await sessions.addMessage(old.id, { role: 'user', content: 'before it went away' })
    await conversations.acknowledge(old.conversationId, 'dev', version)
    pass(25 * hour)
    if (isSwept) expect(await colloquy.maintain()).toMatchObject({ expired: 1 })
    const fresh = await sessions.getOrCreateSession(thread)
    expect(fresh).toMatchObject({ replaces: old.id, acknowledged: version })
    const { id } = await conversations.addEvent(old.conversationId, { role: 'user', content: 'while it was away' })
    const view = await conversations.buildAgentMessages(old.conversationId, 'dev', { trigger: { messageId: id } })
    expect(view.catchUp).toMatchObject({ since: version })
  })

  it('the expiry of the last but one session leaves nothing to the successor of one that was archived', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { sessions } = colloquy
    await sessions.getOrCreateSession(task)
    pass(25 * hour)
    await colloquy.maintain()
    const second = await sessions.getOrCreateSession(task)
    await sessions.archiveSession(second.id)
    expect((await sessions.getOrCreateSession(task)).replaces).toBeUndefined()
    const otherState = await sessions.getOrCreateSession({ ...task, taskState: 'in_qa' })
    expect(otherState.replaces).toBeUndefined()
  })

  it('expiry can be set per session, or switched off', async () => {
    const { colloquy, pass } = await freshColloquy({ sessionExpiresInMs: null })
    const endless = await colloquy.sessions.getOrCreateSession(feature)
    const short = await colloquy.sessions.getOrCreateSession({ ...task, expiresInMs: hour })
    pass(1000 * hour)
    expect((await colloquy.sessions.getOrCreateSession(feature)).id).toBe(endless.id)
    expect((await colloquy.sessions.getOrCreateSession({ ...task, expiresInMs: hour })).id).not.toBe(short.id)
  })

  it('marking a session as expired is no use of it', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { id } = await colloquy.sessions.getOrCreateSession(feature)
    const { timestamp } = await colloquy.sessions.addMessage(id, { role: 'user', content: 'hello' })
    pass(30 * hour)
    expect(await colloquy.maintain()).toMatchObject({ expired: 1 })
    const session = await colloquy.sessions.getSession(id)
    expect(session).toMatchObject({ status: 'expired', stats: { lastActivityAt: timestamp } })
    expect(session.expiresAt).toBe(new Date(Date.parse(timestamp) + 24 * hour).toISOString())
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('a session whose time is over reads as expired, before it was marked', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { sessions } = colloquy
    const { id } = await sessions.getOrCreateSession(feature)
    pass(25 * hour)
    expect(await sessions.getSession(id)).toMatchObject({ status: 'expired' })
    expect((await sessions.listSessions({ status: ['active'] })).items).toEqual([])
    expect((await sessions.listSessions()).items).toMatchObject([{ id, status: 'expired' }])
    expect(await sessions.reopenSession(id)).toMatchObject({ id, status: 'active' })
    await sessions.addMessage(id, { role: 'user', content: 'still here' })
  })

  it('expiry is the same for a reader and a writer in a branch that was made after the clock was set back', async () => {
    const { colloquy, pass } = await freshColloquy({ sessionExpiresInMs: hour })
    const { sessions, conversations } = colloquy
    const { conversationId } = await sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: 'plan' })
    await conversations.addEvent(conversationId, { role: 'user', content: 'Said when the clock was hours ahead' })
    pass(-6 * hour)
    const branch = await conversations.branch(conversationId)
    const thread = { type: 'thread', agentType: 'pm', threadId: branch.id } as const
    const first = await sessions.getOrCreateSession(thread)
    pass(2 * hour)
    expect((await sessions.getSession(first.id)).status).toBe('expired')
    const next = await sessions.getOrCreateSession(thread)
    await sessions.addMessage(next.id, { role: 'user', content: 'Go on' })
    expect(next.replaces).toBe(first.id)
  })

  it('expiry is not undone by metadata or an outside id, whether it is marked or not', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { sessions } = colloquy
    const session = await sessions.getOrCreateSession(feature)
    pass(25 * hour)
    expect(await sessions.setMetadata(session.id, { seen: true })).toMatchObject({ status: 'expired' })
    expect(await sessions.setOutsideId(session.id, 'claude', 'a')).toMatchObject({ outsideIds: { claude: 'a' } })
    expect(await sessions.getSession(session.id)).toMatchObject({ status: 'expired', metadata: { seen: true } })
    expect(await sessions.getOrCreateSession(feature)).toMatchObject({ replaces: session.id })
    const other = await sessions.getOrCreateSession({ ...feature, featureId: 'other' })
    pass(25 * hour)
    expect(await sessions.setOutsideId(other.id, 'claude', 'b')).toMatchObject({ status: 'expired' })
  })

  it('expiry is not undone by a request that is built for the session, nor by a compaction', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { sessions } = colloquy
    const session = await sessions.getOrCreateSession(feature)
    for (let i = 0; i < 40; i++)
      await sessions.addMessage(session.id, { role: 'user', content: `Step ${i}. `.repeat(50) })
    pass(25 * hour)
    await sessions.buildRequest(session.id, 'What next?')
    expect(await sessions.getSession(session.id)).toMatchObject({ status: 'expired' })

    const { id } = await sessions.getOrCreateSession(feature)
    expect(id).not.toBe(session.id)
    for (let i = 0; i < 40; i++) await sessions.addMessage(id, { role: 'user', content: `Step ${i}. `.repeat(50) })
    pass(25 * hour)
    expect(await sessions.forceCompact(id, { keep: { messages: 2 } })).toMatchObject({ outcome: 'taken' })
    expect(await sessions.getSession(id)).toMatchObject({ status: 'expired', stats: { compactions: 1 } })
  })

  it('a filter by status goes by expiry, whether it is marked or not', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { sessions } = colloquy
    const make = async (threadId: string) =>
      (await sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId })).id
    const marked = await make('marked')
    pass(25 * hour)
    await colloquy.maintain()
    const over = await make('over')
    pass(20 * hour)
    const used = await make('used')
    pass(20 * hour)
    const ids = async (status: 'active' | 'expired') =>
      (await sessions.listSessions({ status: [status] })).items.map(({ id }) => id)
    expect(await ids('expired')).toEqual([over, marked])
    expect(await ids('active')).toEqual([used])
  })

  it('expiry leaves no page of active sessions empty or short while there are more', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { sessions } = colloquy
    const make = async (name: string, count: number, expiresInMs: number) => {
      for (let index = 0; index < count; index++)
        await sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: `${name}${index}`, expiresInMs })
    }
    await make('lasting', 5, 1000 * hour)
    await make('short', 10, hour)
    await make('newest', 1, 1000 * hour)
    pass(2 * hour)
    const threads = (list: Awaited<ReturnType<typeof sessions.listSessions>>) =>
      list.items.map(({ workItem }) => 'threadId' in workItem && workItem.threadId)
    const first = await sessions.listSessions({ status: ['active'], limit: 3 })
    expect(threads(first)).toEqual(['newest0', 'lasting4', 'lasting3'])
    const rest = await sessions.listSessions({ status: ['active'], limit: 10, cursor: first.next! })
    expect(threads(rest)).toEqual(['lasting2', 'lasting1', 'lasting0'])
    expect(rest.next).toBeUndefined()
  })

  it('expiry is marked by the maintenance sweep, once, and only where it is due', async () => {
    const { colloquy, pass } = await freshColloquy()
    const idle = await colloquy.sessions.getOrCreateSession(feature)
    const used = await colloquy.sessions.getOrCreateSession(task)
    pass(20 * hour)
    await colloquy.sessions.addMessage(used.id, { role: 'user', content: 'still at it' })
    pass(10 * hour)
    expect(await colloquy.maintain()).toMatchObject({ expired: 1, archived: 0, skipped: false })
    expect(await colloquy.maintain()).toMatchObject({ expired: 0 })
    expect((await colloquy.sessions.getSession(idle.id)).status).toBe('expired')
    expect((await colloquy.sessions.getSession(used.id)).status).toBe('active')
  })
})

describe('what is kept beside', () => {
  it('free metadata of a session is merged, and keys set to null are removed', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession({ ...feature, metadata: { a: 1, b: { c: [1] } } })
    await colloquy.sessions.setMetadata(session.id, { a: null, d: 'x' })
    expect((await colloquy.sessions.getSession(session.id)).metadata).toEqual({ b: { c: [1] }, d: 'x' })
  })

  it('a session is not changed by what a caller does with an answer', async () => {
    const { colloquy } = await freshColloquy()
    const { sessions, conversations } = colloquy
    const { id, conversationId } = await sessions.getOrCreateSession({ ...feature, metadata: { a: 1, list: [1] } })
    const answers = [
      await sessions.getSession(id),
      (await sessions.listSessions()).items[0]!,
      await sessions.setOutsideId(id, 'claude', 'real'),
    ]
    for (const session of answers) {
      Object.assign(session.metadata, { x: 1 })
      ;(session.metadata.list as number[]).push(2)
      Object.assign(session.outsideIds, { claude: 'made up' })
      Object.assign(session.workItem, { featureId: 'other' })
    }
    const conversation = await conversations.getConversation(conversationId)
    Object.assign(conversation.metadata, { y: 1 })
    Object.assign(conversation.workItem, { featureId: 'other' })

    await sessions.setMetadata(id, { b: 2 })
    await conversations.describe(conversationId, { metadata: { b: 2 } })
    expect(await sessions.getSession(id)).toMatchObject({
      metadata: { a: 1, b: 2, list: [1] },
      outsideIds: { claude: 'real' },
      workItem: { featureId: 'login' },
    })
    expect((await sessions.getSession(id)).metadata).toEqual({ a: 1, b: 2, list: [1] })
    expect((await conversations.getConversation(conversationId)).metadata).toEqual({ b: 2 })
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('a session keeps the ids that it has in other systems', async () => {
    const kept = await freshColloquy()
    const session = await kept.colloquy.sessions.getOrCreateSession(feature)
    await kept.colloquy.sessions.setOutsideId(session.id, 'claude', 'a-claude-session')
    const again = await kept.reopen()
    expect((await again.sessions.getSession(session.id)).outsideIds).toEqual({ claude: 'a-claude-session' })
    await again.sessions.setOutsideId(session.id, 'claude', null)
    expect((await again.sessions.getSession(session.id)).outsideIds).toEqual({})
  })

  it('the statistics of a session count exactly, whatever happened', async () => {
    const { colloquy } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const add = (content: string) =>
      colloquy.sessions.addMessage(session.id, { role: 'assistant', content, usage: { input: 10, output: 3 } })
    const sizes = [await add('one'), await add('two and a half'), await add('three')].map(m => m.tokens.count)
    const sum = (list: number[]) => list.reduce((total, one) => total + one, 0)
    expect((await colloquy.sessions.getSession(session.id)).stats).toMatchObject({
      messages: 3,
      tokens: sum(sizes),
      tokensIn: 30,
      tokensOut: 9,
    })
    await colloquy.sessions.clearMessages(session.id)
    const last = await add('four')
    expect((await colloquy.sessions.getSession(session.id)).stats).toMatchObject({
      messages: 1,
      tokens: last.tokens.count,
      tokensIn: 10,
      tokensOut: 3,
      lastActivityAt: last.timestamp,
      total: { messages: 4, tokens: sum(sizes) + last.tokens.count, tokensIn: 40, tokensOut: 12 },
    })
    expect(await colloquy.stats()).toMatchObject({ conversations: 1, sessions: 1, messages: 4, input: 40, output: 12 })
  })

  it('a message that a reset kept counts once, in statistics and in metrics', async () => {
    const { colloquy } = await freshColloquy()
    const { id } = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.sessions.addMessage(id, {
      role: 'system',
      content: 'You are the pm',
      usage: { input: 5, output: 1 },
    })
    await colloquy.sessions.addMessage(id, { role: 'user', content: 'Plan the login page' })
    await colloquy.sessions.resetSession(id)
    const { total } = (await colloquy.sessions.getSession(id)).stats
    expect(total).toMatchObject({ messages: 2, tokensIn: 5, tokensOut: 1 })
    expect(await colloquy.sessions.getMetrics(id)).toMatchObject(total)
  })
})
