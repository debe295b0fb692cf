/** Heads are stored with the log for speed; after any writes, folding the log again gives the same ones. */
import {
  type Audience,
  type Colloquy,
  ColloquyError,
  type Message,
  type RecordedEvent,
  type SessionOptions,
} from 'colloquy'
import { type ConversationHead, evolveConversation, evolveSession, isVisible, type SessionHead } from 'colloquy/stores'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BeadState, TaskState } from '../../../src/log/events/work/work.ts'
import { sessionOf } from '../../../src/log/views/session.ts'
import { freshName } from '../../../src/testing/builders.ts'
import { freshColloquy, hour } from '../../support/colloquy.ts'

const whos: SessionOptions[] = [
  { type: 'feature', agentType: 'pm', featureId: 'login' },
  { type: 'task', agentType: 'dev', featureId: 'login', taskId: 'form', taskState: 'in_dev' },
  { type: 'thread', agentType: 'qa', threadId: 'chat', expiresInMs: hour },
  { type: 'thread', agentType: 'dev', agentName: 'holder', threadId: 'chat', sharing: 'separate', expiresInMs: null },
]

const audience: fc.Arbitrary<Audience | undefined> = fc.constantFrom(
  undefined,
  undefined,
  { to: 'everyone' as const },
  { to: 'agents' as const, agents: ['dev', 'qa'] },
  { to: 'internal' as const },
)

const command = fc.record({
  what: fc.constantFrom(
    ...['get', 'create', 'say', 'say', 'say', 'say', 'tell all', 'clear', 'reset', 'archive', 'reopen', 'delete'],
    ...['plan', 'plan', 'move task', 'move task', 'try', 'bead', 'move bead'],
    ...['annotate', 'link', 'unlink', 'complete', 'resume', 'put away', 'take out', 'rename', 'wait', 'sweep', 'erase'],
  ),
  who: fc.nat(whos.length - 1),
  role: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const),
  internal: fc.boolean(),
  audience,
  text: fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
  value: fc.oneof(fc.constant(null), fc.jsonValue({ maxDepth: 2 })),
})
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

interface Table {
  colloquy: Colloquy
  pass(milliseconds: number): void
  now(): number
  /** Every session there was. */
  known: string[]
  /** Every message, as it was when it was said: one that is erased later no longer tells its size. */
  spoken: Message[]
}

/** Carries out a command about work items; undefined for other commands. */
function doWork({ what, role: id, text, internal }: Command, { work }: Colloquy): Promise<unknown> | undefined {
  const task = { type: 'task', featureId: 'login', taskId: id } as const
  const pick = <T>(choices: readonly T[]): T => choices[text.charCodeAt(0) % choices.length]!
  const described = { title: text, ...(internal && { description: text }), priority: pick([0, 2, 9]) }
  switch (what) {
    case 'plan': {
      const planned = { taskId: id, ...described, dependencies: pick([[], ['user'], ['system']]) }
      return work.planTasks('login', internal ? { add: [planned] } : { change: [planned] })
    }
    case 'move task':
      return work.moveTask('login', id, pick(TaskState.options), { reason: text })
    case 'try':
      return work.recordAttempt(task, { outcome: pick(['done', 'failed', 'aborted']), data: { text } })
    case 'bead':
      return internal ? work.addBead({ beadId: id, ...described }) : work.describeBead(id, described)
    case 'move bead':
      return work.moveBead(id, pick(BeadState.options))
    default:
      return undefined
  }
}

/** Carries a command out; what does not fit the state of things is refused, and a refusal must be one of ours. */
async function carryOut(one: Command, { colloquy, pass, known, spoken }: Table): Promise<void> {
  const { sessions, conversations } = colloquy
  const { what, role, internal, text, value } = one
  const options = whos[one.who]!
  if (what === 'wait') return pass(hour / 2)
  if (what === 'sweep') return void (await colloquy.maintain())
  const done = doWork(one, colloquy)
  if (done) return void (await done)
  const session = what === 'create' ? await sessions.createSession(options) : await sessions.getOrCreateSession(options)
  known.push(session.id)
  // Now and then an older one than the active.
  const id = text.length % 3 === 0 ? known[one.text.charCodeAt(0) % known.length]! : session.id
  const { conversationId } = session
  const message = { role, content: text, internal, usage: { input: text.length, output: 1 } }
  switch (what) {
    case 'say':
      return void spoken.push(
        await sessions.addMessage(id, { ...message, ...(one.audience && { audience: one.audience }) }),
      )
    case 'tell all':
      return void spoken.push(await conversations.addEvent(conversationId, message))
    case 'clear':
      return void (await sessions.clearMessages(id))
    case 'reset':
      return void (await sessions.resetSession(id, { keepSystemMessage: internal }))
    case 'archive':
      return void (await sessions.archiveSession(id))
    case 'reopen':
      return void (await sessions.reopenSession(id))
    case 'delete':
      return sessions.deleteSession(id)
    case 'annotate':
      return void (await sessions.setMetadata(id, { [text]: value }))
    case 'link':
      return void (await sessions.setOutsideId(id, role, 'claude-1'))
    case 'unlink':
      return void (await sessions.setOutsideId(id, role, null))
    case 'complete':
      return void (await conversations.complete(conversationId, text))
    case 'resume':
      return void (await conversations.reopen(conversationId))
    case 'put away':
      return void (await conversations.archive(conversationId))
    case 'take out':
      return void (await conversations.restore(conversationId))
    case 'rename':
      return void (await conversations.describe(conversationId, { title: text, metadata: { [role]: value } }))
    case 'erase': {
      const [newest] = await sessions.getRecentMessages(id, 1)
      return void (newest && (await conversations.erase(newest.id)))
    }
    default:
      return
  }
}

function refold(events: readonly RecordedEvent[]) {
  let conversation: ConversationHead | undefined
  const sessions = new Map<string, SessionHead>()
  for (const event of events) {
    conversation = evolveConversation(conversation, event)
    const about = sessionOf(event)
    const next =
      about === undefined ? undefined : evolveSession(sessions.get(about), event, conversation!.info.workItem)
    if (next) sessions.set(next.id, next)
  }
  return { conversation: conversation!, sessions }
}

/** Counts a session's statistics message by message. Erased ones count with the size they had. */
function count(messages: readonly Message[], head: SessionHead) {
  const viewer = { sees: 'as-session', sessionId: head.id, agentName: head.agentName } as const
  const total = { messages: 0, tokens: 0, tokensIn: 0, tokensOut: 0 }
  const now = { ...total }
  for (const { version, audience, tokens, usage } of messages) {
    if (!isVisible(audience, viewer)) continue
    const isInWindow = version > head.windowStart || head.kept.includes(version)
    for (const sums of isInWindow ? [total, now] : [total]) {
      sums.messages += 1
      sums.tokens += tokens.count
      sums.tokensIn += usage?.input ?? 0
      sums.tokensOut += usage?.output ?? 0
    }
  }
  return { ...now, total }
}

it('[P4] folding the log again gives the stored heads, whatever is done through the front door', async () => {
  const store = await freshColloquy({ sessionExpiresInMs: 24 * hour })
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 40 }), async commands => {
      const colloquy = store.colloquy.as({ project: freshName('project') })
      const table: Table = { colloquy, pass: store.pass, now: store.now, known: [], spoken: [] }
      for (const one of commands) {
        try {
          await carryOut(one, table)
        } catch (error) {
          if (!(error instanceof ColloquyError) || error.status >= 500) throw error
        }
      }
      await expectHeadsToMatch(table)
      expect((await colloquy.verify()).damages).toEqual([])
    }),
    { numRuns: 40 },
  )
  const again = await store.reopen()
  expect((await again.verify({ allProjects: true })).damages).toEqual([])
})

async function expectHeadsToMatch({ colloquy, now, spoken }: Table): Promise<void> {
  for (const conversation of (await colloquy.conversations.listConversations({ limit: 100 })).items) {
    const events = await colloquy.conversations.getEvents(conversation.id)
    const folded = refold(events)
    const { info, version, activeAt } = folded.conversation
    expect(conversation).toEqual({ ...info, version, activeAt })

    const status = ['active', 'archived', 'expired', 'deleted'] as const
    const listed = await colloquy.sessions.listSessions({ conversationId: conversation.id, status, limit: 500 })
    expect(new Set(listed.items.map(session => session.id))).toEqual(new Set(folded.sessions.keys()))
    for (const session of listed.items) {
      const { type, expiresAt, stats, ...head } = session
      const expected = folded.sessions.get(session.id)!
      // Shown as expired from then on, whether the log says so yet or not.
      const isOver = expected.status === 'active' && expiresAt !== null && Date.parse(expiresAt) <= now()
      expect(head).toEqual({ ...expected, ...(isOver && { status: 'expired' }) })
      expect(type).toBe(head.workItem.type)
      const messages = spoken.filter(one => one.conversationId === conversation.id)
      expect(stats).toMatchObject(count(messages, expected))
    }
  }
}
