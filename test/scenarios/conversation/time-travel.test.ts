/** Time travel: any past state, branches by reference, and the way back. */
import type { Colloquy, Message } from 'colloquy'
import { ConversationClosed, InvalidInput } from 'colloquy/errors'
import { type ConversationHead, evolveConversation, evolveSession, type SessionHead } from 'colloquy/stores'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sessionOf } from '../../../src/log/views/session.ts'
import { freshColloquy, hour } from '../../support/colloquy.ts'

/** Its sessions share checkpoints only, and expire after a day. */
const slowBead = { type: 'bead', beadId: 'slow', agentType: 'dev' } as const

async function conversationStarted(options: Parameters<typeof freshColloquy>[0] = {}) {
  const { colloquy, reopen } = await freshColloquy({ requests: { recall: false }, ...options })
  const { id } = await colloquy.conversations.createConversation({ title: 'Login page' })
  return { colloquy, id, reopen, says: saying(colloquy) }
}

function saying(colloquy: Colloquy) {
  return (id: string, author: string, content: string, more: object = {}) =>
    colloquy.conversations.addEvent(id, {
      role: author === 'user' ? 'user' : 'assistant',
      author,
      content,
      ...more,
    })
}

const byId = (a: SessionHead, b: SessionHead) => a.id.localeCompare(b.id)
const contents = (messages: readonly Message[]) => messages.map(message => message.content)

describe('at', () => {
  it('time travel gives state, sessions and messages as they were', async () => {
    const { colloquy, id, says } = await conversationStarted()
    await says(id, 'user', 'one')
    const dev = await colloquy.conversations.acknowledge(id, 'dev', 2)
    const { version } = await says(id, 'user', 'two')
    await colloquy.conversations.describe(id, { title: 'Another title' })
    await colloquy.conversations.acknowledge(id, 'dev', version)
    await colloquy.conversations.complete(id, 'done')

    const then = await colloquy.conversations.at(id, version)
    expect(then.conversation).toMatchObject({ title: 'Login page', status: 'active' })
    expect(then.sessions).toMatchObject([{ id: dev.id, acknowledged: 2 }])
    expect(contents(await then.messages())).toEqual(['one', 'two'])
    expect((await colloquy.conversations.getConversation(id)).title).toBe('Another title')
  })

  it('time travel gives the view an agent had, although it has acknowledged more since', async () => {
    const { colloquy, id, says } = await conversationStarted()
    await says(id, 'user', 'one')
    await colloquy.conversations.acknowledge(id, 'dev', 2)
    await says(id, 'qa', 'a finding')
    const ask = await says(id, 'user', 'Dev?')
    const trigger = { messageId: ask.id }
    const view = await colloquy.conversations.buildAgentMessages(id, 'dev', { trigger })
    const { version } = await colloquy.conversations.getConversation(id)
    await says(id, 'dev', 'Here')
    await colloquy.conversations.acknowledge(id, 'dev', view.upTo)
    await colloquy.conversations.buildAgentMessages(id, 'dev', { trigger })

    const then = await colloquy.conversations.at(id, version)
    const again = await then.view('dev', { trigger })
    expect(again.messages).toEqual(view.messages)
    expect(again.system).toBe(view.system)
  })

  it('time travel renders a request again from its manifest, byte for byte, after later messages and compactions', async () => {
    const { colloquy, id, says } = await conversationStarted({ requests: { recall: false, budget: 4000 } })
    for (let i = 0; i < 12; i++) await says(id, 'user', `Part ${i}: ${'words '.repeat(40)}`)
    const ask = await says(id, 'user', 'And now?')
    const sent = await colloquy.conversations.buildAgentMessages(id, 'dev', { trigger: { messageId: ask.id } })
    const { version } = await colloquy.conversations.getConversation(id)
    for (let i = 0; i < 12; i++) await says(id, 'user', `Later ${i}: ${'words '.repeat(40)}`)
    await colloquy.sessions.forceCompact(sent.sessionId!)

    const then = await (await colloquy.conversations.at(id, version)).request(sent.sessionId!)
    expect(then).toMatchObject({ isExact: true, manifest: { type: 'request.built', tokens: sent.totalTokens } })
    expect(then!.request.messages).toEqual(sent.messages)
    expect(then!.request.system).toBe(sent.system)
  })

  it.each([0, -1, 1.5, 99])('time travel refuses version %s', async version => {
    const { colloquy, id } = await conversationStarted()
    await expect(colloquy.conversations.at(id, version)).rejects.toThrow(InvalidInput)
  })

  it('time travel agrees with the log at every version of a long conversation, and in a branch of it', async () => {
    const { colloquy, id } = await conversationStarted()
    const { conversations } = colloquy
    const grow = async (id: string, events: number) => {
      const writes: Promise<unknown>[] = []
      for (let i = 0; i < events; i++) {
        writes.push(
          i % 3 === 0
            ? conversations.addEvent(id, { role: 'user', content: `word ${i}`, pinned: i % 99 === 0 })
            : i % 3 === 1
              ? conversations.describe(id, { metadata: { [`key-${i % 30}`]: i } })
              : conversations.describe(id, { title: `Title ${i}` }),
        )
        if (i % 50 === 0) writes.push(conversations.acknowledge(id, `agent-${i % 7}`, 1))
      }
      await Promise.all(writes)
    }
    await grow(id, 1300)
    const branch = await conversations.branch(id, 1100)
    await grow(branch.id, 700)
    const { version: last } = await conversations.getConversation(branch.id)
    const events = await conversations.getEvents(branch.id, { limit: 5000 })
    for (const version of [1, 255, 256, 513, 700, 768, 769, 1023, 1024, 1025, 1100, 1101, 1535, 1536, 1537, last]) {
      const past = await conversations.at(branch.id, version)
      // The branch's own events are folded from the branch point.
      const own = events.filter(one => one.version <= version && one.conversationId === past.conversation.id)
      let head: ConversationHead | undefined
      const sessions = new Map<string, SessionHead>()
      for (const event of own) {
        head = evolveConversation(head, event)
        const about = sessionOf(event)
        const session = about && evolveSession(sessions.get(about), event, head!.info.workItem)
        if (session) sessions.set(session.id, session)
      }
      expect(past.conversation, String(version)).toEqual(head!.info)
      expect(past.sessions.toSorted(byId)).toEqual([...sessions.values()].sort(byId))
    }
    const before = await conversations.at(id, 1299)
    // Landmarks are derived: without the index they are kept again, and the answer is the same.
    await colloquy.repair()
    expect((await conversations.at(id, 1299)).conversation).toEqual(before.conversation)
  })

  it('a conversation replays step by step', async () => {
    const { colloquy, id, says } = await conversationStarted()
    await says(id, 'user', 'one')
    await colloquy.conversations.describe(id, { title: 'New' })
    const steps: unknown[] = []
    for await (const { version, event, conversation } of colloquy.conversations.replay(id)) {
      steps.push([version, event.event.type, conversation.title])
    }
    expect(steps).toEqual([
      [1, 'conversation.created', 'Login page'],
      [2, 'message.added', 'Login page'],
      [3, 'conversation.annotated', 'New'],
    ])
  })
})

describe('branch', () => {
  it('a branch shares the messages up to a version, goes on by itself, and leaves the parent alone', async () => {
    const { colloquy, id, says } = await conversationStarted()
    await says(id, 'user', 'one')
    const { version } = await says(id, 'user', 'two')
    await says(id, 'user', 'three')
    const branch = await colloquy.conversations.branch(id, version, { title: 'Another way' })
    expect(branch).toMatchObject({
      title: 'Another way',
      branchOf: { conversationId: id, version },
      version: version + 1,
    })
    await says(branch.id, 'user', 'four instead')
    expect(contents(await colloquy.conversations.getMessages(branch.id))).toEqual(['one', 'two', 'four instead'])
    expect(contents(await colloquy.conversations.getMessages(id))).toEqual(['one', 'two', 'three'])
    expect(await colloquy.conversations.stats(branch.id)).toMatchObject({ messages: 3 })
    const versions = (await colloquy.conversations.getEvents(branch.id)).map(event => event.version)
    expect(versions).toEqual([1, 2, 3, 4, 5])
    expect((await colloquy.verify()).damages).toEqual([])
  })

  it('an agent goes on in a branch from where it was at that version: cursor, checkpoint, its own words', async () => {
    const { colloquy, id, says } = await conversationStarted({ requests: { recall: false, budget: 4000 } })
    const session = await colloquy.sessions.getOrCreateSession({
      type: 'thread',
      threadId: id,
      agentType: 'dev',
      sharing: 'separate',
    })
    for (let i = 0; i < 20; i++) {
      await colloquy.sessions.addMessage(session.id, { role: 'user', content: `Ask ${i} ${'words '.repeat(30)}` })
      await colloquy.sessions.addMessage(session.id, { role: 'assistant', content: `Answer ${i}` })
    }
    await colloquy.sessions.forceCompact(session.id)
    const { version } = await colloquy.conversations.getConversation(id)
    await colloquy.conversations.acknowledge(id, 'dev', version)
    const { version: then } = await colloquy.conversations.getConversation(id)
    const before = await colloquy.sessions.previewRequest(session.id, 'Go on')
    await says(id, 'user', 'something later')

    const branch = await colloquy.conversations.branch(id, then)
    const ask = await says(branch.id, 'user', 'Go on')
    const view = await colloquy.conversations.buildAgentMessages(branch.id, 'dev', { trigger: { messageId: ask.id } })
    expect(view.checkpoint).toBe(1)
    expect(view.catchUp).toMatchObject({ since: version, messages: 0 })
    expect(view.system.replaceAll(/<<\S+|\S+>>/g, '')).toBe(before.system.replaceAll(/<<\S+|\S+>>/g, ''))
    expect(JSON.stringify(view.messages)).toContain('Answer 19')
    expect(JSON.stringify(view.messages)).not.toContain('something later')
  })

  it('an agent that was on a task in some state goes on in a branch: a branch has no state', async () => {
    const { colloquy } = await conversationStarted()
    const task = { type: 'task', featureId: 'login', taskId: 'form', agentType: 'dev', taskState: 'in_dev' } as const
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(task)
    await colloquy.sessions.addMessage(id, { role: 'assistant', content: 'The form is done.' })
    const branch = await colloquy.conversations.branch(conversationId)
    const there = { type: 'thread', threadId: branch.id, agentType: 'dev' } as const
    const session = await colloquy.sessions.getOrCreateSession(there)
    expect(session.continues).toEqual([id])
    expect(contents(await colloquy.sessions.getAllMessages(session.id))).toEqual(['The form is done.'])
  })

  it('an agent goes on in a branch once: a new session there, or one after expiry, begins again', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(slowBead)
    await colloquy.sessions.addMessage(id, { role: 'assistant', content: 'said before' })
    const branch = await colloquy.conversations.branch(conversationId)
    const there = { type: 'thread', threadId: branch.id, agentType: 'dev', sharing: 'separate' } as const
    const first = await colloquy.sessions.createSession(there)
    expect(first.stats).toMatchObject({ messages: 1 })
    const second = await colloquy.sessions.createSession(there)
    expect(second.stats.total).toMatchObject({ messages: 0 })
    pass(25 * hour)
    const third = await colloquy.sessions.getOrCreateSession(there)
    expect(third).toMatchObject({ replaces: second.id, stats: { total: { messages: 0 } } })
  })

  it('an agent goes on in a branch once, however many callers ask for its session at the same moment', async () => {
    const { colloquy } = await freshColloquy()
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(slowBead)
    await colloquy.sessions.addMessage(id, { role: 'assistant', content: 'said before' })
    const branch = await colloquy.conversations.branch(conversationId)
    const there = { type: 'thread', threadId: branch.id, agentType: 'dev', sharing: 'separate' } as const
    const made = await Promise.all([1, 2, 3].map(() => colloquy.sessions.createSession(there)))
    const goingOn = made.filter(session => session.continues)
    expect(goingOn).toMatchObject([{ continues: [id] }])
    expect(goingOn[0]!.replaces).toBeUndefined()
  })

  it('an agent that was on several states goes on in a branch from its session for none, where it has one', async () => {
    const { colloquy } = await conversationStarted()
    const task = { type: 'task', featureId: 'login', taskId: 'form', agentType: 'dev' } as const
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(task)
    const { id: newest } = await colloquy.sessions.getOrCreateSession({ ...task, taskState: 'in_dev' })
    const goneOnFrom = async () => {
      const branch = await colloquy.conversations.branch(conversationId)
      const there = { type: 'thread', threadId: branch.id, agentType: 'dev' } as const
      return (await colloquy.sessions.getOrCreateSession(there)).continues
    }
    expect(await goneOnFrom()).toEqual([id])
    await colloquy.sessions.archiveSession(id)
    expect(await goneOnFrom()).toEqual([newest])
  })

  it('an agent whose session expired goes on in a branch, marked or not; one that was archived does not', async () => {
    const { colloquy, pass } = await freshColloquy()
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(slowBead)
    const { version } = await colloquy.sessions.addMessage(id, { role: 'assistant', content: 'mine' })
    await colloquy.conversations.acknowledge(conversationId, { sessionId: id }, version)
    const inBranch = async () => {
      const branch = await colloquy.conversations.branch(conversationId)
      return colloquy.sessions.getOrCreateSession({ type: 'thread', threadId: branch.id, agentType: 'dev' })
    }
    pass(25 * hour)
    expect(await inBranch()).toMatchObject({ continues: [id], acknowledged: version })
    expect(await colloquy.maintain()).toMatchObject({ expired: 1 })
    expect(await inBranch()).toMatchObject({ continues: [id], acknowledged: version })
    await colloquy.sessions.archiveSession(id)
    const anew = await inBranch()
    expect([anew.continues, anew.acknowledged]).toEqual([undefined, undefined])
  })

  it('an agent goes on in a branch of a branch, also if it was not on the one between', async () => {
    const { colloquy, says } = await conversationStarted()
    const { id, conversationId } = await colloquy.sessions.getOrCreateSession(slowBead)
    const { version } = await colloquy.sessions.addMessage(id, { role: 'assistant', content: 'mine' })
    await colloquy.conversations.acknowledge(conversationId, { sessionId: id }, version)
    const between = await colloquy.conversations.branch(conversationId)
    await says(between.id, 'user', 'in between')
    const branch = await colloquy.conversations.branch(between.id)
    const there = { type: 'thread', threadId: branch.id, agentType: 'dev' } as const
    const session = await colloquy.sessions.getOrCreateSession(there)
    expect(session).toMatchObject({ continues: [id], acknowledged: version })
    expect(contents(await colloquy.sessions.getAllMessages(session.id))).toEqual(['mine', 'in between'])
  })

  it('a branch shows an agent that is not on it yet what it would be sent there, now and at a version', async () => {
    const { colloquy, id, says } = await conversationStarted()
    await says(id, 'user', 'said in the parent')
    const branch = await colloquy.conversations.branch(id)
    const ask = await says(branch.id, 'user', 'Go on')
    const trigger = { messageId: ask.id }
    const preview = await colloquy.conversations.previewAgentMessages(branch.id, 'dev', { trigger })
    const then = await colloquy.conversations.at(branch.id, ask.version)
    const past = await then.view('dev', { trigger })
    const built = await colloquy.conversations.buildAgentMessages(branch.id, 'dev', { trigger })
    expect(JSON.stringify(built.messages)).toContain('said in the parent')
    expect(preview.messages).toEqual(built.messages)
    expect(past.messages).toEqual(built.messages)
  })

  it('a branch of a branch shows the past before and after its own branch point', async () => {
    const { colloquy, id, says } = await conversationStarted()
    await says(id, 'user', 'one')
    await says(id, 'user', 'two')
    const first = await colloquy.conversations.branch(id, 3)
    const { version } = await says(first.id, 'user', 'three')
    const early = await colloquy.conversations.branch(first.id, 2)
    const late = await colloquy.conversations.branch(first.id, version)
    await says(late.id, 'user', 'four')
    expect(early.branchOf).toEqual({ conversationId: id, version: 2 })
    expect(contents(await colloquy.conversations.getMessages(early.id))).toEqual(['one'])
    expect(contents(await colloquy.conversations.getMessages(late.id))).toEqual(['one', 'two', 'three', 'four'])
    expect(contents(await colloquy.conversations.getMessages(late.id, { limit: 2, before: version + 1 }))).toEqual([
      'two',
      'three',
    ])
    expect(contents(await colloquy.conversations.getMessages(late.id, { limit: 2, after: 2 }))).toEqual([
      'two',
      'three',
    ])
    const found = await colloquy.conversations.search({ text: 'two', conversationId: late.id })
    expect(found.messages.map(hit => hit.version)).toEqual([3])
  })

  it('a branch takes over the pins of that time, and only those', async () => {
    const { colloquy, id, says } = await conversationStarted()
    await says(id, 'user', 'pinned early', { pinned: true })
    const later = await says(id, 'user', 'pinned late')
    await colloquy.conversations.pinMessage(later.id)
    const branch = await colloquy.conversations.branch(id, later.version)
    expect(branch.pins).toEqual([2])
  })

  it('a branch survives a restart, and its parent being completed', async () => {
    const { colloquy, id, says, reopen } = await conversationStarted()
    await says(id, 'user', 'one')
    const branch = await colloquy.conversations.branch(id)
    await colloquy.conversations.complete(id)
    const again = await reopen()
    await saying(again)(branch.id, 'user', 'two')
    expect(contents(await again.conversations.getMessages(branch.id))).toEqual(['one', 'two'])
    await expect(saying(again)(id, 'user', 'no')).rejects.toThrow(ConversationClosed)
  })
})

describe('compare and merge', () => {
  it('comparing two branches gives what they share and what each added since', async () => {
    const { colloquy, id, says } = await conversationStarted()
    await says(id, 'user', 'one')
    const branch = await colloquy.conversations.branch(id)
    await says(id, 'user', 'left')
    await says(branch.id, 'user', 'right')
    await says(branch.id, 'dev', 'right again')
    await colloquy.conversations.complete(branch.id, 'It works')
    const compared = await colloquy.conversations.compare(id, branch.id)
    expect(compared.common).toEqual({ conversationId: id, version: 2 })
    expect(compared.left).toMatchObject({ messages: 1 })
    expect(contents(compared.right.newest)).toEqual(['right', 'right again'])
    expect(compared.differences.find(({ field }) => field === 'status')).toEqual({
      field: 'status',
      left: 'active',
      right: 'completed',
    })
  })

  it('merging takes the conclusion of a branch back, once, and says where it comes from', async () => {
    const { colloquy, id, says } = await conversationStarted()
    await says(id, 'user', 'Which library?')
    const branch = await colloquy.conversations.branch(id)
    await says(branch.id, 'dev', 'Use zod: it is smallest.')
    const message = await colloquy.conversations.merge(branch.id)
    expect(message).toMatchObject({
      conversationId: id,
      content: 'Use zod: it is smallest.',
      metadata: { mergedFrom: { conversationId: branch.id, version: 4 } },
    })
    expect((await colloquy.conversations.merge(branch.id)).id).toBe(message.id)
    expect(await colloquy.conversations.getConversation(branch.id)).toMatchObject({
      mergedInto: { conversationId: id, messageId: message.id },
    })
    expect(await colloquy.conversations.stats(id)).toMatchObject({ messages: 2 })
    const same = { conclusion: message.content, author: 'user' }
    expect((await colloquy.conversations.merge(branch.id, same)).id).toBe(message.id)
    const others = { conclusion: message.content, author: 'qa' }
    expect(await colloquy.conversations.merge(branch.id, others)).toMatchObject({ author: 'qa' })
  })

  it('[P3] an older conclusion that is merged again by its key does not pass for the newest', async () => {
    const { colloquy, id } = await conversationStarted()
    const { conversations } = colloquy
    const branch = await conversations.branch(id)
    const older = () => conversations.merge(branch.id, { conclusion: 'Use zod' }, { idempotencyKey: 'older' })
    const first = await older()
    const second = await conversations.merge(branch.id, { conclusion: 'Use valibot' }, { idempotencyKey: 'newer' })
    const { version, mergedInto } = await conversations.getConversation(branch.id)
    expect(mergedInto).toEqual({ conversationId: id, messageId: second.id })
    expect((await older()).id).toBe(first.id)
    expect(await conversations.getConversation(branch.id)).toMatchObject({ version, mergedInto })
  })
})

describe('any tree of branches', () => {
  it('[P2] any tree of branches reads like copies would: every page, every sum, every past version', async () => {
    const { colloquy } = await freshColloquy()
    const action = fc.record({ on: fc.nat(), do: fc.constantFrom('say', 'say', 'say', 'branch'), at: fc.nat() })
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 30 }), async actions => {
        const root = await colloquy.conversations.createConversation({ title: 'root' })
        /** A copy of each conversation: the text of each version, undefined for other events. */
        const copies = new Map<string, Array<string | undefined>>([[root.id, [undefined]]])
        let said = 0
        for (const { on, do: what, at } of actions) {
          const id = [...copies.keys()][on % copies.size]!
          const copy = copies.get(id)!
          if (what === 'say') {
            const content = `text ${++said}`
            await colloquy.conversations.addEvent(id, { role: 'user', content })
            copy.push(content)
          } else {
            const version = 1 + (at % copy.length)
            const branch = await colloquy.conversations.branch(id, version)
            copies.set(branch.id, [...copy.slice(0, version), undefined])
          }
        }
        for (const [id, copy] of copies) {
          const expected = copy.filter(text => text !== undefined)
          expect(contents(await colloquy.conversations.getMessages(id, { limit: 1000 }))).toEqual(expected)
          expect(contents(await colloquy.conversations.getMessages(id, { limit: 2 }))).toEqual(expected.slice(-2))
          expect(contents(await colloquy.conversations.getMessages(id, { limit: 2, after: 0 }))).toEqual(
            expected.slice(0, 2),
          )
          expect((await colloquy.conversations.stats(id)).messages).toBe(expected.length)
          const versions = (await colloquy.conversations.getEvents(id)).map(event => event.version)
          expect(versions).toEqual(copy.map((_, index) => index + 1))
          const middle = Math.ceil(copy.length / 2)
          const then = await colloquy.conversations.at(id, middle)
          expect(contents(await then.messages())).toEqual(copy.slice(0, middle).filter(text => text !== undefined))
        }
      }),
      { numRuns: 25 },
    )
    expect((await colloquy.verify()).clean).toBe(true)
  })
})
