/**
 * The main flows through the front door on PostgreSQL. What each of them promises in full, the other scenarios say;
 * `COLLOQUY_TEST_STORE=postgres` runs those on a server too.
 */

import type { Message, OpenOptions } from 'colloquy'
import { ConversationPurged, IllegalState, TurnOpen } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../../../src/testing/builders.ts'
import { freshColloquy, hour } from '../../support/colloquy.ts'
import { freshSchema } from '../../support/postgres.ts'

const contents = (messages: readonly Message[]) => messages.map(message => message.content)

async function onServer(options: OpenOptions = {}) {
  const { url } = await freshSchema()
  const store = await freshColloquy({ ...options, store: url })
  const { conversations } = store.colloquy
  const { id } = await conversations.createConversation({ title: 'Login page' })
  const says = (author: string, content: string, to = id) =>
    store.colloquy.conversations.addEvent(to, { role: author === 'user' ? 'user' : 'assistant', author, content })
  return Object.assign(store, { id, says })
}

describe('on PostgreSQL', () => {
  it('a session on PostgreSQL is found by its key, survives a restart, and expires without use', async () => {
    const { colloquy, reopen, pass } = await onServer({ sessionExpiresInMs: hour })
    const key = { type: 'feature', agentType: 'pm', featureId: 'login' } as const
    const found = await Promise.all([1, 2, 3].map(() => colloquy.sessions.getOrCreateSession(key)))
    expect(new Set(found.map(session => session.id)).size).toBe(1)
    const [{ id }] = found as [(typeof found)[0]]
    await colloquy.sessions.addMessage(id, { role: 'user', content: 'Plan it' }, { idempotencyKey: 'once' })
    await colloquy.sessions.addMessage(id, { role: 'user', content: 'Plan it' }, { idempotencyKey: 'once' })
    const again = await reopen()
    expect(contents(await again.sessions.getAllMessages(id))).toEqual(['Plan it'])
    pass(2 * hour)
    expect(await again.maintain()).toMatchObject({ skipped: false, expired: 1 })
    expect((await again.sessions.getSession(id))?.status).toBe('expired')
  })

  it('[P5] [P10] requests on PostgreSQL stay inside the budget over compactions, and compacted messages are found again', async () => {
    const { colloquy } = await onServer({ requests: { budget: 4000 } })
    const dev = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'dev', featureId: 'login' })
    for (let turn = 1; turn <= 30; turn++) {
      const about = `about part${turn} of src/module-${turn}.ts `.repeat(8)
      await colloquy.sessions.addMessage(dev.id, { role: 'user', content: `Question ${turn} ${about}` })
      await colloquy.sessions.addMessage(dev.id, { role: 'assistant', content: `We decided on tool${turn}. ${about}` })
      const { totalTokens, budget } = await colloquy.sessions.buildRequest(dev.id, 'Next?')
      expect(totalTokens).toBeLessThanOrEqual(budget)
    }
    const checkpoint = (await colloquy.sessions.getCheckpoint(dev.id))!
    expect(checkpoint.number).toBeGreaterThan(1)
    const recalled = await colloquy.sessions.buildRequest(dev.id, 'What did we decide on part2 of src/module-2.ts?')
    expect(recalled.system + JSON.stringify(recalled.messages)).toContain('tool2')
    expect(await colloquy.sessions.getAllMessages(dev.id)).toHaveLength(60)
    expect((await colloquy.verify()).damages).toEqual([])
  })

  it('[P7] every agent on PostgreSQL has its own view: what came while it was away, once, the trigger last', async () => {
    const { colloquy, id, says } = await onServer()
    const view = async (trigger: Message) =>
      colloquy.conversations.buildAgentMessages(id, 'dev', { trigger: { messageId: trigger.id } })
    const first = await view(await says('user', 'Build the form'))
    await says('dev', 'It is built.')
    await colloquy.conversations.acknowledge(id, 'dev', first.upTo)
    await says('qa', 'The error text is missing.')
    const next = await view(await says('user', 'Go on'))
    const shown = JSON.stringify(next.messages)
    expect(shown.split('The error text is missing.')).toHaveLength(2)
    expect(next.messages.at(-1)?.content.at(-1)).toEqual({ type: 'text', text: 'Go on' })
    const { version } = await colloquy.conversations.getConversation(id)
    await says('qa', 'later')
    const then = await colloquy.conversations.at(id, version)
    expect(contents(await then.messages())).toEqual([
      'Build the form',
      'It is built.',
      'The error text is missing.',
      'Go on',
    ])
  })

  it('[P2] a branch on PostgreSQL reads as one line, is searched as one, and merges into its parent', async () => {
    const { colloquy, id, says } = await onServer()
    await says('user', 'Shall the button be crimson?')
    const { version } = await says('pm', 'Two ways are open')
    await says('user', 'It shall be turquoise')
    const branch = await colloquy.conversations.branch(id, version, { title: 'Another way' })
    await says('user', 'It shall be crimson', branch.id)
    const second = await colloquy.conversations.branch(branch.id, version + 2)
    await says('user', 'Or violet', second.id)
    const line = ['Shall the button be crimson?', 'Two ways are open', 'It shall be crimson', 'Or violet']
    expect(contents(await colloquy.conversations.getMessages(second.id))).toEqual(line)
    expect(await colloquy.conversations.stats(second.id)).toMatchObject({ messages: 4 })
    const found = await colloquy.conversations.search({ text: 'crimson', conversationId: second.id })
    expect(found.messages.map(hit => hit.conversationId).sort()).toEqual([id, branch.id].sort())
    const later = await colloquy.conversations.search({ text: 'turquoise', conversationId: second.id })
    expect(later.messages).toEqual([])
    await colloquy.conversations.complete(branch.id, 'Crimson it is')
    expect(await colloquy.conversations.merge(branch.id)).toMatchObject({
      conversationId: id,
      content: 'Crimson it is',
    })
    expect((await colloquy.verify()).damages).toEqual([])
  })

  it('phases, turns and delegations on PostgreSQL are refused, timed out and maintained by the sweep', async () => {
    const { colloquy, id, pass } = await onServer()
    const { conversations } = colloquy
    await conversations.transitionPhase(id, { to: 'execute', reason: 'the plan stands' })
    expect(await errorOf(() => conversations.transitionPhase(id, { to: 'reflection' }))).toMatchObject({
      code: 'phase/refused',
    })
    const turn = { agents: ['dev', 'qa'], reason: 'both are needed', orchestrator: 'router' }
    await conversations.startOrchestratorTurn(id, turn)
    expect(await errorOf(() => conversations.startOrchestratorTurn(id, turn))).toBeInstanceOf(TurnOpen)
    const done = () => conversations.addCompletionToTurn(id, { agent: 'dev', message: 'done' })
    await Promise.all([done(), done()])
    expect(await conversations.addCompletionToTurn(id, { agent: 'qa', message: 'fine' })).toMatchObject({
      status: 'completed',
      completions: [{ agent: 'dev' }, { agent: 'qa' }],
    })
    const task = { from: 'lead', to: 'qa', task: 'Test the login page' }
    const delegation = await conversations.delegate(id, task)
    await conversations.complete(delegation.conversationId, 'All is well')
    await conversations.startOrchestratorTurn(id, { ...turn, timeoutMs: hour })
    pass(2 * hour)
    expect(await colloquy.maintain()).toMatchObject({ timedOutTurns: 1 })
    expect(await colloquy.maintain()).toMatchObject({ timedOutTurns: 0 })
    expect(await conversations.getDelegations(id)).toMatchObject([{ status: 'completed', result: 'All is well' }])
    expect((await colloquy.verify()).damages).toEqual([])
  })

  it('totals on PostgreSQL leave out an erased message, and count each once however many callers ask at the same moment', async () => {
    const { colloquy, says } = await onServer()
    const agents = async () =>
      Object.entries((await colloquy.totals()).agents).map(([name, { messages }]) => [name, messages])
    const secret = await says('Jane Secret', 'hello')
    await says('dev', 'one')
    expect(await agents()).toEqual([
      ['Jane Secret', 1],
      ['dev', 1],
    ])
    await says('dev', 'two')
    const both = await Promise.all([agents(), agents()])
    for (const found of both) expect(found).toContainEqual(['dev', 2])
    expect(await agents()).toContainEqual(['dev', 2])
    await colloquy.conversations.erase(secret.id)
    expect(await agents()).toEqual([['dev', 2]])
  })

  it('[P4] conversations on PostgreSQL are erased, purged and restored, a parent not before its branch', async () => {
    const { colloquy, id, says } = await onServer()
    const { conversations } = colloquy
    const secret = await says('user', 'the password is xylophone')
    const { version } = await says('user', 'Go on')
    const branch = await conversations.branch(id, version)
    await says('user', 'elsewhere', branch.id)
    await conversations.erase(secret.id, 'asked to')
    expect((await conversations.search({ text: 'xylophone' })).messages).toEqual([])
    const before = await conversations.getEvents(branch.id)
    expect(await errorOf(() => conversations.purge(id))).toBeInstanceOf(IllegalState)
    await conversations.purge(branch.id)
    await conversations.purge(id)
    expect(await errorOf(() => conversations.getConversation(id))).toBeInstanceOf(ConversationPurged)
    expect(await errorOf(() => conversations.restore(branch.id))).toBeInstanceOf(IllegalState)
    await conversations.restore(id)
    await conversations.restore(branch.id)
    const after = await conversations.getEvents(branch.id, { to: before.at(-1)!.version })
    expect(after.map(event => event.hash)).toEqual(before.map(event => event.hash))
    expect((await colloquy.verify()).damages).toEqual([])
  })
})
