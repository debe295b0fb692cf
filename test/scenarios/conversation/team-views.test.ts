/** The state of a team in the requests of its agents: hand-offs, shared knowledge, delegated work, claims. */
import { type AgentView, type Colloquy, type OpenOptions, openColloquy } from 'colloquy'
import { AlreadyAnswered, LeaseHeld, LeaseLost } from 'colloquy/errors'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Sharing } from '../../../src/log/events/session.ts'
import { freshColloquy } from '../../support/colloquy.ts'

async function conversationStarted(options: Parameters<typeof freshColloquy>[0] = {}) {
  const store = await freshColloquy({ requests: { recall: false }, ...options })
  const { id } = await store.colloquy.conversations.createConversation({ title: 'Login page' })
  const says = (author: string, content: string, more = {}) =>
    store.colloquy.conversations.addEvent(id, {
      role: author === 'user' ? 'user' : 'assistant',
      author,
      content,
      ...more,
    })
  return Object.assign(store, { id, says })
}

const text = ({ system, messages }: Pick<AgentView, 'system' | 'messages'>) =>
  [system, ...messages.flatMap(({ content }) => content.map(part => ('text' in part ? part.text : part.type)))].join(
    '\n',
  )
const block = (view: AgentView) => text(view).split('# Messages while you were away')[1] ?? ''

describe('a phase that was handed over while the agent was away', () => {
  it('a handed-over phase comes first in the catch-up block, before the messages, once', async () => {
    const { colloquy, id, says } = await conversationStarted()
    const first = await says('user', 'Build the form')
    await colloquy.conversations.acknowledge(id, 'qa', first.version)
    await says('dev', 'I have begun.')
    const handOver = { to: 'execute', summary: 'Form done, tests missing', agent: 'dev' }
    await colloquy.conversations.transitionPhase(id, handOver)
    await says('dev', 'It is all yours.')
    const ask = await says('user', 'QA, go on')
    const trigger = { messageId: ask.id }
    const view = await colloquy.conversations.buildAgentMessages(id, 'qa', { trigger })
    const told = block(view)
    const places = ['hand-off from chat to execute by dev', handOver.summary, 'I have begun.', 'It is all yours.']
    expect(places.map(words => told.indexOf(words))).toEqual(
      places.map(words => told.indexOf(words)).toSorted((a, b) => a - b),
    )
    for (const words of places) expect(text(view).split(words)).toHaveLength(2)

    await colloquy.conversations.acknowledge(id, 'qa', view.upTo)
    const next = await says('user', 'And?')
    const later = await colloquy.conversations.buildAgentMessages(id, 'qa', { trigger: { messageId: next.id } })
    expect(block(later)).not.toContain(handOver.summary)
  })

  it('a handed-over phase is not shown to an agent that was there, nor the one before the newest', async () => {
    const { colloquy, id, says } = await conversationStarted()
    const first = await says('user', 'Build the form')
    await colloquy.conversations.acknowledge(id, 'qa', first.version)
    await colloquy.conversations.transitionPhase(id, { to: 'plan', summary: 'The older summary' })
    const { version } = await colloquy.conversations.transitionPhase(id, {
      to: 'execute',
      summary: 'The newer summary',
    })
    await colloquy.conversations.acknowledge(id, 'dev', version)
    const trigger = { messageId: (await says('user', 'Go on')).id }
    const [qa, dev] = [
      await colloquy.conversations.buildAgentMessages(id, 'qa', { trigger }),
      await colloquy.conversations.buildAgentMessages(id, 'dev', { trigger }),
    ]
    expect(block(qa)).toContain('The newer summary')
    expect(text(qa)).not.toContain('The older summary')
    expect(text(dev)).not.toContain('summary')
  })

  it('[P5] a very long hand-over leaves room for the messages', async () => {
    const { colloquy, id, says } = await conversationStarted()
    const first = await says('user', 'Build the form')
    await colloquy.conversations.acknowledge(id, 'qa', first.version)
    await colloquy.conversations.transitionPhase(id, { to: 'execute', summary: 'many words '.repeat(1500) })
    await says('dev', 'The last finding')
    const trigger = { messageId: (await says('user', 'Go on')).id }
    const view = await colloquy.conversations.buildAgentMessages(id, 'qa', { trigger, budget: 3000 })
    expect(view.totalTokens).toBeLessThanOrEqual(3000)
    expect(block(view)).toContain('The last finding')
    expect(block(view)).toContain('the log has all of it')
  })
})

describe('what sessions of one work item share', () => {
  const task = { type: 'task', featureId: 'login', taskId: 'form' } as const

  /** Dev has worked and its older messages are a checkpoint; QA comes next. */
  async function devThenQa(sharing: Sharing, options: OpenOptions = {}) {
    const requests = { recall: false, budget: 4000 }
    const { colloquy } = await freshColloquy({ ...options, sharing: { task: sharing }, requests })
    const dev = await colloquy.sessions.getOrCreateSession({ ...task, agentType: 'dev', taskState: 'in_dev' })
    const aside = { role: 'assistant', content: 'We decided to use the pepper of vault7.' } as const
    await colloquy.sessions.addMessage(dev.id, { ...aside, audience: { to: 'agents', agents: ['dev', 'pm'] } })
    for (let i = 1; i <= 20; i++) {
      await colloquy.sessions.addMessage(dev.id, { role: 'user', content: `Question ${i} ${'about it '.repeat(20)}` })
      const content = `We decided to use argon2 for passwords. ${'more of it '.repeat(20)}`
      await colloquy.sessions.addMessage(dev.id, { role: 'assistant', content })
    }
    expect(await colloquy.sessions.forceCompact(dev.id)).toMatchObject({ outcome: 'taken' })
    await colloquy.sessions.addMessage(dev.id, { role: 'assistant', content: 'A word between dev and itself' })
    const qa = await colloquy.sessions.getOrCreateSession({ ...task, agentType: 'qa', taskState: 'in_qa' })
    return { colloquy, dev, qa, request: await colloquy.sessions.buildRequest(qa.id, 'What is to be tested?') }
  }

  it('sharing by checkpoint: QA sees the checkpoint of dev, labelled, and none of its messages', async () => {
    const { request } = await devThenQa('checkpoint')
    expect(text(request)).toContain('What others on this work know')
    expect(text(request)).toMatch(/dev in in_dev, checkpoint 1 up to message \d+/)
    expect(text(request)).toContain('argon2')
    expect(text(request)).not.toContain('A word between dev and itself')
    expect(request.totalTokens).toBeLessThanOrEqual(request.budget)
  })

  it('[P12] sharing by checkpoint: QA does not get what dev learned from messages meant for others', async () => {
    const { colloquy, dev, request } = await devThenQa('checkpoint')
    expect(JSON.stringify(await colloquy.sessions.getCheckpoint(dev.id))).toContain('vault7')
    expect(text(request)).not.toContain('vault7')
  })

  it('[P12] sharing by checkpoint: QA does not get what dev put together from one message meant for others and one that was not', async () => {
    const both = { section: 'decisions', text: 'The pepper is in vault7', sources: [3, 5] }
    const plain = { section: 'decisions', text: 'Passwords go through argon2', sources: [5] }
    const model = scriptedModel(JSON.stringify({ add: [both, plain] }))
    const { colloquy, dev, request } = await devThenQa('checkpoint', { model })
    const items = (await colloquy.sessions.getCheckpoint(dev.id))!.items
    expect(items.map(({ sources }) => sources)).toEqual([both.sources, plain.sources])
    expect(text(request)).toContain(plain.text)
    expect(text(request)).not.toContain('vault7')
  })

  it('separate sessions: QA sees nothing of dev', async () => {
    const { request } = await devThenQa('separate')
    expect(text(request)).not.toContain('argon2')
    expect(text(request)).not.toContain('What others on this work know')
  })

  it('sharing by messages: QA sees what dev said as messages', async () => {
    const { request } = await devThenQa('messages')
    expect(text(request)).toContain('A word between dev and itself')
  })

  it('a shared view at an earlier version holds only what was there then', async () => {
    const { colloquy, dev, qa } = await devThenQa('checkpoint')
    const at = async (version: number) =>
      (await colloquy.conversations.at(dev.conversationId, version)).view({ sessionId: qa.id }, { trigger: 'And?' })
    const { version } = await colloquy.conversations.getConversation(dev.conversationId)
    expect(text(await at(version))).toContain('argon2')
    const events = await colloquy.conversations.getEvents(dev.conversationId)
    const taken = events.find(({ event }) => event.type === 'checkpoint.taken')!.version
    const past = await colloquy.conversations.at(dev.conversationId, taken - 1)
    expect(text(await past.view('qa', { trigger: 'And?' }))).not.toContain('argon2')
  })

  it('what dev learns later hides nothing of its earlier checkpoint: in answers to earlier messages, and in the past', async () => {
    const { colloquy, dev, qa } = await devThenQa('checkpoint')
    const { sessions, conversations } = colloquy
    const ask = await conversations.addEvent(dev.conversationId, { role: 'user', content: 'Is it ready?' })
    const trigger = { messageId: ask.id }
    const { version } = await conversations.getConversation(dev.conversationId)
    const first = /dev in in_dev, checkpoint 1 up to message \d+/
    const now = () => conversations.previewAgentMessages(dev.conversationId, { sessionId: qa.id }, { trigger })
    const then = async () =>
      (await conversations.at(dev.conversationId, version)).view({ sessionId: qa.id }, { trigger })
    const was = text(await then())
    expect(was).toMatch(first)

    for (let i = 1; i <= 20; i++)
      await sessions.addMessage(dev.id, { role: 'user', content: `Question ${i} ${'about it '.repeat(40)}` })
    expect(await sessions.forceCompact(dev.id)).toMatchObject({ outcome: 'taken', checkpoint: { number: 2 } })
    expect(text(await now())).toMatch(first)
    expect(text(await then())).toBe(was)
    await sessions.clearMessages(dev.id)
    expect(text(await then())).toBe(was)
    await sessions.deleteSession(dev.id)
    expect(text(await then())).toBe(was)
  })
})

describe('[P10] work in flight', () => {
  /** A conversation of the lead with a delegation that is out and a turn that waits. */
  async function busy() {
    const store = await conversationStarted({ requests: { recall: false, budget: 4000 } })
    const { colloquy, id, says } = store
    await says('user', 'Ship the page')
    const delegation = await colloquy.conversations.delegate(id, {
      from: 'lead',
      to: 'a11y',
      task: 'Check the contrast',
    })
    await colloquy.conversations.startOrchestratorTurn(id, {
      agents: ['dev', 'qa'],
      reason: 'build and test',
      orchestrator: 'lead',
    })
    await colloquy.conversations.addCompletionToTurn(id, { agent: 'dev', message: 'Built' })
    return Object.assign(store, { delegation })
  }
  const named = (view: AgentView) => ({
    delegation: text(view).includes('lead delegated to a11y'),
    turn: text(view).includes('turn 1 of lead'),
    done: text(view).includes('done: dev (completed)'),
    waiting: text(view).includes('waiting for: qa'),
  })

  it('[P10] work in flight is named in every request, also after compaction, until it is over', async () => {
    const { colloquy, id, says, delegation } = await busy()
    const ask = async () => {
      const trigger = { messageId: (await says('user', 'How is it going?')).id }
      const view = await colloquy.conversations.buildAgentMessages(id, 'lead', { trigger })
      await colloquy.conversations.acknowledge(id, 'lead', view.upTo)
      return view
    }
    const all = { delegation: true, turn: true, done: true, waiting: true }
    expect(named(await ask())).toEqual(all)
    for (let i = 1; i <= 30; i++) await says('user', `Remark ${i} ${'and so on '.repeat(25)}`)
    const { sessionId, upTo } = await ask()
    await colloquy.conversations.acknowledge(id, 'lead', upTo)
    await colloquy.sessions.forceCompact(sessionId!)
    const compacted = await ask()
    expect(compacted.checkpoint).toBeGreaterThanOrEqual(1)
    expect(named(compacted)).toEqual(all)

    await colloquy.conversations.completeDelegation(delegation.conversationId, { result: 'Contrast is 7:1' })
    await colloquy.conversations.addCompletionToTurn(id, { agent: 'qa', message: 'Tested' })
    expect(named(await ask())).toEqual({ delegation: false, turn: false, done: false, waiting: false })
  })
})

describe('a delegated agent', () => {
  async function delegated(sharing: Sharing) {
    const { colloquy, id, says } = await conversationStarted({ sharing: { thread: sharing } })
    await says('user', 'The brand colour is teal')
    await says('lead', 'Between us: the client is difficult', { audience: { to: 'agents', agents: ['lead'] } })
    const child = await colloquy.conversations.delegate(id, { from: 'lead', to: 'a11y', task: 'Check the contrast' })
    await says('user', 'Said after it was handed over')
    const [first] = await colloquy.conversations.getMessages(child.conversationId)
    return colloquy.conversations.buildAgentMessages(child.conversationId, 'a11y', {
      trigger: { messageId: first!.id },
    })
  }

  it('a delegated agent sees only its sub-thread where nothing is shared', async () => {
    const view = await delegated('separate')
    expect(text(view)).toContain('Check the contrast')
    expect(text(view)).not.toContain('teal')
    expect(text(view)).not.toContain('difficult')
  })

  it('[P12] a delegated agent sees earlier messages to everyone where messages are shared; nothing that was for others', async () => {
    const view = await delegated('messages')
    expect(text(view)).toContain('Check the contrast')
    expect(text(view)).toContain('The brand colour is teal')
    expect(text(view)).toContain('before the delegation')
    expect(text(view)).not.toContain('difficult')
    expect(text(view)).not.toContain('Said after it was handed over')
  })
})

describe('[P11] simultaneous agents on two handles', () => {
  async function another(store: string): Promise<Colloquy> {
    const colloquy = await openColloquy({ store, project: 'shop', tokens: 'fast', sweepEveryMs: null })
    onTestFinished(() => colloquy.close())
    return colloquy
  }

  it('on two handles each agent answers once, whichever runs it, and each gets the other’s answer once', async () => {
    // The lease is kept by the clock, so both handles go by the same one.
    const { colloquy: one, store, id, says } = await conversationStarted({ clock: Date.now })
    const two = await another(store)
    const ask = await says('user', 'Both of you: estimate it')
    const trigger = { messageId: ask.id }
    const run = async (handle: Colloquy, agent: string, answer: string) => {
      const claim = await handle.conversations.claim(id, agent, { trigger })
      const view = await handle.conversations.buildAgentMessages(id, agent, { trigger })
      const write = { fence: claim.fence }
      await handle.sessions.addMessage(claim.sessionId, { role: 'assistant', content: answer }, write)
      await handle.conversations.acknowledge(id, agent, view.upTo, write)
      await claim.release()
    }
    const outcomes = await Promise.allSettled([
      run(one, 'dev', 'dev says two days'),
      run(two, 'dev', 'dev says two days'),
      run(one, 'qa', 'qa says one day'),
      run(two, 'qa', 'qa says one day'),
    ])
    const refused = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []))
    expect(refused).toHaveLength(2)
    for (const reason of refused) {
      expect(reason instanceof LeaseHeld || reason instanceof AlreadyAnswered).toBe(true)
    }
    const said = (await two.conversations.getMessages(id)).map(message => message.content)
    expect(said.toSorted()).toEqual(['Both of you: estimate it', 'dev says two days', 'qa says one day'])
    const more = { messageId: (await says('user', 'Agree on one')).id }
    for (const [agent, other] of [
      ['dev', 'qa says one day'],
      ['qa', 'dev says two days'],
    ] as const) {
      const view = await two.conversations.buildAgentMessages(id, agent, { trigger: more })
      expect(text(view).split(other)).toHaveLength(2)
    }
  })

  it('a run that lost its claim to one on another handle can write nothing more', async () => {
    const { colloquy: one, store, id, says } = await conversationStarted({ clock: Date.now })
    const two = await another(store)
    const trigger = { messageId: (await says('user', 'Who is there?')).id }
    const slow = await one.conversations.claim(id, 'dev', { trigger, forMs: 1 })
    let quick: Awaited<ReturnType<Colloquy['conversations']['claim']>> | undefined
    while (!quick) quick = await two.conversations.claim(id, 'dev', { trigger }).catch(refusedWhileHeld)
    const write = (fence: typeof slow.fence) =>
      one.sessions.addMessage(slow.sessionId, { role: 'assistant', content: 'me' }, { fence })
    await expect(write(slow.fence)).rejects.toThrow(LeaseLost)
    expect((await write(quick.fence)).content).toBe('me')
  })
})

function refusedWhileHeld(error: unknown): undefined {
  if (!(error instanceof LeaseHeld)) throw error
}
