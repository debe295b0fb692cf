/**
 * Sessions of one thread, through two handles on one store, compared with a model without lanes, sums or heads: a list
 * of messages and a few fields. After any operations in any order both agree.
 */
import { type Colloquy, type Message, openColloquy } from 'colloquy'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { freshName } from '../../../src/testing/builders.ts'
import { freshColloquy } from '../../support/colloquy.ts'

interface ModelSession {
  id: string
  conversationId: string
  agent: string
  isOpen: boolean
  /** Versions that a clear or reset put away, but for the one it kept. */
  start: number
  kept: number | undefined
  outsideId: string | undefined
}

interface Model {
  messages: Message[]
  sessions: Map<string, ModelSession>
  /** The first result of each key. */
  keys: Map<string, string>
}

const agents = ['dev', 'qa']

const step = fc.record({
  what: fc.constantFrom('say', 'say', 'say', 'tell', 'clear', 'reset', 'archive', 'reopen', 'link', 'erase', 'repeat'),
  /** Which of the two handles is asked. */
  handle: fc.nat(1),
  agent: fc.constantFrom(...agents),
  role: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const),
  internal: fc.boolean(),
  isPrivate: fc.boolean(),
  isKeyed: fc.boolean(),
  number: fc.nat(20),
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

function sees({ agent }: ModelSession, { audience }: Message): boolean {
  return audience.to === 'everyone' || (audience.to === 'agents' && audience.agents.includes(agent))
}

function windowOf(session: ModelSession, { messages }: Model): Message[] {
  return messages.filter(one => sees(session, one) && (one.version > session.start || one.version === session.kept))
}

/** Carries a step out in the store and in the model. What the model refuses the store must refuse, and the other way. */
async function take(one: Step, { sessions, conversations }: Colloquy, threadId: string, model: Model): Promise<void> {
  const { what, agent, role, internal } = one
  const options = { type: 'thread', agentType: agent, threadId } as const
  let session = model.sessions.get(agent)
  if (!session) {
    const { id, conversationId } = await sessions.getOrCreateSession(options)
    session = { id, conversationId, agent, isOpen: true, start: 0, kept: undefined, outsideId: undefined }
    model.sessions.set(agent, session)
  }
  const { id, conversationId } = session
  const audience = one.isPrivate ? { to: 'agents' as const, agents: [agent] } : { to: 'everyone' as const }
  const message = {
    role,
    internal,
    audience,
    content: `said ${freshName('word')}`,
    usage: { input: one.number, output: 1 },
  }
  const write = one.isKeyed ? { idempotencyKey: freshName('key') } : {}
  const version = async () => (await conversations.getConversation(conversationId)).version
  if (!session.isOpen && ['say', 'clear', 'reset'].includes(what)) {
    const refused = what === 'say' ? sessions.addMessage(id, message, write) : sessions.clearMessages(id, write)
    await expect(refused).rejects.toMatchObject({ code: 'session/closed' })
    return
  }
  switch (what) {
    case 'say':
    case 'tell': {
      const said =
        what === 'say'
          ? await sessions.addMessage(id, message, write)
          : await conversations.addEvent(conversationId, message, write)
      model.messages.push(said)
      return
    }
    case 'clear':
      await sessions.clearMessages(id, write)
      Object.assign(session, { start: await version(), kept: undefined })
      return
    case 'reset': {
      const first = windowOf(session, model).find(
        ({ role: of, internal: isInternal, missing }) => of === 'system' && !isInternal && !missing,
      )
      await sessions.resetSession(id, {}, write)
      Object.assign(session, { start: await version(), kept: first?.version })
      return
    }
    case 'archive':
    case 'reopen':
      await (what === 'archive' ? sessions.archiveSession(id, undefined, write) : sessions.reopenSession(id, write))
      session.isOpen = what === 'reopen'
      return
    case 'link':
      session.outsideId = one.number % 3 === 0 ? undefined : `outside-${one.number % 3}`
      await sessions.setOutsideId(id, 'claude', session.outsideId ?? null, write)
      return
    case 'erase': {
      const chosen = model.messages[one.number % (model.messages.length || 1)]
      if (!chosen || chosen.missing) return
      await conversations.erase(chosen.id)
      chosen.missing = { because: 'erased', reason: '' }
      return
    }
    default: {
      const key = `the same ${one.number % 4}`
      const known = model.keys.get(key)
      const same = { role: 'user', content: key } as const
      const again = await conversations.addEvent(conversationId, same, { idempotencyKey: `${threadId} ${key}` })
      if (known !== undefined) expect(again.id).toBe(known)
      else {
        model.keys.set(key, again.id)
        model.messages.push(again)
      }
    }
  }
}

async function expectSame({ sessions }: Colloquy, model: Model, { number }: Step): Promise<void> {
  const versions = (list: readonly Message[]) => list.map(one => one.version)
  for (const session of model.sessions.values()) {
    const { id, isOpen, outsideId } = session
    const seen = model.messages.filter(one => sees(session, one))
    const all = windowOf(session, model)
    const { status, outsideIds, stats } = await sessions.getSession(id)
    expect({ status, outsideIds }).toEqual({
      status: isOpen ? 'active' : 'archived',
      outsideIds: outsideId === undefined ? {} : { claude: outsideId },
    })
    expect(stats).toMatchObject({ ...sums(all), total: sums(seen) })
    expect(await sessions.getMetrics(id)).toMatchObject(sums(seen))
    expect(versions(await sessions.getAllMessages(id))).toEqual(versions(all))
    const talk = all.filter(one => one.role !== 'system' && !one.internal && !one.missing)
    expect(versions(await sessions.getRecentContext(id, 3))).toEqual(versions(talk.slice(-3)))
    const page = { after: number, before: number + 12, limit: 4 }
    const inside = all.filter(one => one.version > page.after && one.version < page.before)
    expect(versions(await sessions.getAllMessages(id, page))).toEqual(versions(inside.slice(0, 4)))
  }
}

function sums(messages: readonly Message[]) {
  const add = (of: (one: Message) => number) => messages.reduce((total, one) => total + of(one), 0)
  return {
    messages: messages.length,
    tokens: add(one => one.tokens.count),
    tokensIn: add(one => one.usage?.input ?? 0),
    tokensOut: add(one => one.usage?.output ?? 0),
  }
}

it('[P2][P3][P4] sessions hold what a plain list of messages would, through either of two handles', async () => {
  const { colloquy, store, folder, now } = await freshColloquy()
  const settings = { project: 'shop', tokens: 'fast', sweepEveryMs: null, clock: now, root: folder } as const
  const other = await openColloquy({ ...settings, store })
  onTestFinished(() => other.close())
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async steps => {
      const model: Model = { messages: [], sessions: new Map(), keys: new Map() }
      const threadId = freshName('thread')
      for (const one of steps) {
        const [first, second] = one.handle === 0 ? [colloquy, other] : [other, colloquy]
        await take(one, first, threadId, model)
        await expectSame(second, model, one)
      }
    }),
    { numRuns: 12 },
  )
  expect((await colloquy.verify()).damages).toEqual([])
})
