/** The command line for views, history and branches: view, timeline, replay, branch, compare, merge. */
import { describe, expect, it } from 'vitest'
import { cliOn } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'

/** A conversation in which dev has answered and been away since. */
async function conversation() {
  const store = await freshColloquy()
  const { conversations } = store.colloquy
  const { id } = await conversations.createConversation({
    title: 'Login page',
    initial: { role: 'user', content: 'Build the form' },
  })
  const says = (author: string, content: string, more = {}) =>
    conversations.addEvent(id, { role: author === 'user' ? 'user' : 'assistant', author, content, ...more })
  await says('dev', 'It is built.')
  await conversations.acknowledge(id, 'dev', 3)
  await says('qa', 'The error text is missing.')
  return Object.assign(store, { id, says, cli: cliOn(store.store) })
}

describe('colloquy view', () => {
  it('colloquy view shows what an agent would be sent, with what came while it was away, and moves nothing', async () => {
    const { colloquy, id, says, cli } = await conversation()
    const ask = await says('user', 'Dev, fix it \u001b[2J')
    const { version } = await colloquy.conversations.getConversation(id)
    const trigger = { messageId: ask.id }
    const view = await colloquy.conversations.previewAgentMessages(id, 'dev', { trigger, budget: 100_000 })
    const [text, prompt, json, explained] = await Promise.all([
      cli('view', id, '--agent', 'dev'),
      cli('view', id, '--agent', 'dev', '--trigger', ask.id, '--format', 'prompt'),
      cli('view', id, '--agent', 'dev', '--json'),
      cli('view', id, '--agent', 'dev', '--explain'),
    ])
    expect(text.exitCode).toBe(0)
    expect(text.stdout).toMatch(/^system\n {2}You are/)
    expect(text.stdout).toMatch(/# Messages while you were away\n.*The error text is missing\./s)
    expect(text.stdout).toMatch(/ {2}Dev, fix it \\x1b\[2J\n$/)
    expect(text.stderr).toMatch(
      new RegExp(`^[\\d,]+ of 100,000 tokens · 1 message since version 3 · to acknowledge: ${ask.version} · --explain`),
    )
    expect(prompt.stdout).toMatch(/\n─+\n\nDev, fix it/)
    expect(json.json()).toMatchObject({
      agent: 'dev',
      conversationId: id,
      upTo: ask.version,
      catchUp: { since: 3, messages: 1, omitted: 0 },
      system: view.system,
      messages: view.messages,
    })
    expect(explained.stdout).toMatch(/^Request for dev: .*\ncatch-up +kept .*it came while the agent was away/s)
    expect((await colloquy.conversations.getConversation(id)).version).toBe(version)
    expect((await colloquy.sessions.listSessions({ conversationId: id })).items[0]).toMatchObject({ acknowledged: 3 })
  })

  it('colloquy view shows a request as it was, and as it would be for an agent that has not joined yet', async () => {
    const { colloquy, id, says, cli } = await conversation()
    await says('user', 'And a title, please')
    await colloquy.conversations.acknowledge(id, 'dev', 6)
    const [then, stranger] = await Promise.all([
      cli('view', id, '--agent', 'dev', '--at', '2'),
      cli('view', id, '--agent', 'writer', '--message', 'Write the texts', '--json'),
    ])
    expect(then.stdout).toContain('Build the form')
    expect(then.stdout).not.toContain('error text')
    expect(then.stderr).toContain('it has acknowledged nothing yet')
    expect(stranger.json()).toMatchObject({ agent: 'writer', upTo: 8 })
    expect(stranger.json()).not.toHaveProperty('sessionId')
    expect((await colloquy.sessions.listSessions({ conversationId: id })).items).toHaveLength(1)
  })

  it('colloquy view takes the id of a session, with the messages to that session alone', async () => {
    const { colloquy, cli } = await conversation()
    const task = { type: 'task', featureId: 'login', taskId: 'form' } as const
    const dev = await colloquy.sessions.getOrCreateSession({ ...task, agentType: 'dev', taskState: 'in_dev' })
    const qa = await colloquy.sessions.getOrCreateSession({ ...task, agentType: 'qa', taskState: 'in_qa' })
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: 'Only for dev' })
    await colloquy.sessions.addMessage(qa.id, { role: 'user', content: 'Only for qa' })
    const [forDev, forQa, nobody] = await Promise.all([
      cli('view', dev.id),
      cli('view', qa.id, '--json'),
      cli('view', dev.conversationId),
    ])
    expect(forDev.stdout).toMatch(/ {2}Only for dev\n$/)
    expect(forDev.stdout).not.toContain('Only for qa')
    expect(forQa.json()).toMatchObject({ agent: 'qa', sessionId: qa.id })
    expect(nobody).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--agent NAME') })
  })

  it('colloquy view says how much of the catch-up is left out', async () => {
    const { id, says, cli } = await conversation()
    for (let i = 1; i <= 40; i++) await says('qa', `Finding ${i}: ${'something is odd here '.repeat(8)}`)
    await says('user', 'Go on')
    const { stdout, stderr } = await cli('view', id, '--agent', 'dev', '--budget', '3000')
    expect(stdout).toMatch(/\[\d+ earlier messages are left out here; read them in the log/)
    expect(stderr).toMatch(/\d+ more left out of what came meanwhile/)
  })

  it('colloquy view explains itself, and what is wrong with a call', async () => {
    const { id, cli } = await conversation()
    const [help, nobody, nothing, both, empty, never] = await Promise.all([
      cli('view', '--help'),
      cli('view', id),
      cli('view', id, '--agent', 'qa'),
      cli('view', id, '--agent', 'qa', '--message', 'x', '--trigger', 'y'),
      cli('view', id, '--agent', 'qa', '--message', ' '),
      cli('view', id, '--agent', 'qa', '--message', 'x', '--at', '99'),
    ])
    expect(help.stdout).toContain('$ colloquy view ID --agent qa --at 120')
    expect([nobody, nothing, both, empty, never].map(({ exitCode }) => exitCode)).toEqual([2, 2, 2, 2, 1])
    expect(nothing.stderr).toContain('no message waits for an answer of qa; say with --message TEXT or --trigger ID')
  })
})

describe('colloquy branch, compare and merge', () => {
  it('colloquy branch, compare and merge go another way, show the difference, and take the conclusion back once', async () => {
    const { colloquy, id, says, cli } = await conversation()
    const made = await cli('branch', id, '--at', '3', '--title', 'With a queue', '--json')
    expect(made.json()).toMatchObject({ title: 'With a queue', branchOf: { conversationId: id, version: 3 } })
    const branch = String(made.json().id)
    await colloquy.conversations.addEvent(branch, { role: 'assistant', author: 'dev', content: 'A queue is better' })
    await colloquy.conversations.transitionPhase(branch, { to: 'plan' })
    await says('user', 'Go on')

    const [compared, json] = await Promise.all([cli('compare', id, branch), cli('compare', id, branch, '--json')])
    expect(compared).toMatchObject({ exitCode: 0, stderr: '' })
    expect(compared.stdout).toMatch(
      new RegExp(`^The same up to version 3 of ${id}\\.\n\nLogin page .*\n {2}2 messages`),
    )
    expect(compared.stdout).toMatch(/\nWith a queue .*\n {2}1 message since .*\n {2}#5 dev: A queue is better\n/)
    expect(compared.stdout).toMatch(/\nphase +chat +plan\n/)
    expect(json.json()).toMatchObject({ common: { conversationId: id, version: 3 }, right: { messages: 1 } })

    const merged = await cli('merge', branch)
    expect(merged.stdout).toMatch(/^"With a queue" is taken back to .*:\n {2}user: A queue is better\n$/)
    expect((await cli('merge', branch, '--json')).json()).toMatchObject({ branchId: branch })
    const messages = await colloquy.conversations.getMessages(id)
    expect(messages.filter(message => message.content === 'A queue is better')).toHaveLength(1)
    expect((await cli('branch', id)).stdout).toMatch(/^"Login page \(from version \d+\)" branches off "Login page"/)
  })

  it('colloquy branch, compare and merge explain themselves, and what is wrong with a call', async () => {
    const { colloquy, id, cli } = await conversation()
    const other = await colloquy.conversations.createConversation({ title: 'Something else' })
    const [help, late, strangers, unbranched] = await Promise.all([
      cli('branch', '--help'),
      cli('branch', id, '--at', '99'),
      cli('compare', id, other.id),
      cli('merge', id, '--json'),
    ])
    expect(help.stdout).toContain("$ colloquy branch ID --at 120 --title 'With a queue'")
    expect(late).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('must be from 1 to') })
    expect(strangers).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no common version') })
    expect(unbranched.error().message).toContain('is not a branch')
  })
})

describe('colloquy replay', () => {
  it('colloquy replay shows a conversation as it was at a version', async () => {
    const { colloquy, id, cli } = await conversation()
    await colloquy.conversations.transitionPhase(id, { to: 'plan' })
    await colloquy.conversations.startOrchestratorTurn(id, { agents: ['dev'], reason: 'go' })
    const { version } = await colloquy.conversations.getConversation(id)
    await colloquy.conversations.describe(id, { title: 'Another title' })
    const [then, json, before] = await Promise.all([
      cli('replay', id, '--at', String(version)),
      cli('replay', id, '--at', String(version), '--json'),
      cli('replay', id, '--at', '2'),
    ])
    expect(then.stdout).toMatch(new RegExp(`^Login page {2}at version ${version} of ${version + 1}\n`))
    expect(then.stdout).toMatch(/\nphase +plan\nturn +1, waiting for dev\n/)
    expect(then.stdout).toMatch(/\ndev +\S+ +active +3\n/)
    expect(then.stdout).toContain('The error text is missing.')
    expect(json.json()).toMatchObject({ version, conversation: { title: 'Login page', phase: 'plan' } })
    expect(before.stdout).not.toContain('It is built.')
  })

  it('colloquy replay goes through a conversation step by step, with what each step changed', async () => {
    const { colloquy, id, cli } = await conversation()
    await colloquy.conversations.transitionPhase(id, { to: 'plan' })
    await colloquy.conversations.complete(id, 'done')
    const [text, some, json] = await Promise.all([
      cli('replay', id),
      cli('replay', id, '--from', '2', '--to', '3'),
      cli('replay', id, '--json'),
    ])
    expect(text.stdout).toMatch(/phase\.changed .*\n +phase: chat → plan\n/)
    expect(text.stdout).toMatch(/conversation\.completed .*\n +status: active → completed\n +summary: none → done\n$/)
    expect(some.stdout.trimEnd().split('\n')).toHaveLength(2)
    const steps = json.stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(steps.map(step => step.version)).toEqual(steps.map((_, index) => index + 1))
    expect(steps.at(-1)).toMatchObject({ conversation: { status: 'completed' } })
  })

  it('colloquy replay explains itself, and what is wrong with a call', async () => {
    const { id, cli } = await conversation()
    const [help, both, late] = await Promise.all([
      cli('replay', '--help'),
      cli('replay', id, '--at', '2', '--from', '1'),
      cli('replay', id, '--at', '99'),
    ])
    expect(help.stdout).toContain('$ colloquy replay ID --at 120')
    expect([both.exitCode, late.exitCode]).toEqual([2, 1])
  })
})

describe('colloquy timeline', () => {
  it('colloquy timeline lists phases, turns, delegations, compactions, branches and clears in order, and counts messages', async () => {
    const { colloquy, id, says, cli } = await conversation()
    const { conversations, sessions } = colloquy
    await conversations.transitionPhase(id, { to: 'execute', reason: 'the plan stands', agent: 'pm' })
    await conversations.startOrchestratorTurn(id, { agents: ['dev'], reason: 'build it' })
    await conversations.addCompletionToTurn(id, { agent: 'dev', message: 'Built' })
    const delegation = await conversations.delegate(id, { from: 'dev', to: 'a11y', task: 'Check the contrast' })
    await conversations.completeDelegation(delegation.conversationId, { result: 'It is fine' })
    for (let i = 1; i <= 30; i++) await says('user', `Part ${i}: ${'words '.repeat(400)}`)
    const [dev] = (await sessions.listSessions({ conversationId: id, agentName: 'dev' })).items
    const { version } = await conversations.getConversation(id)
    await conversations.acknowledge(id, 'dev', version)
    await sessions.forceCompact(dev!.id)
    await conversations.branch(id, version, { title: 'Another way' })
    await sessions.clearMessages(dev!.id)

    const { exitCode, stdout, stderr } = await cli('timeline', id)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/^Login page {2}active {2}execute · \d+ messages\n/)
    const kinds = stdout.split('\n').flatMap(line => line.match(/^ *#\d+ {2}\S+ \S+ {2}(\S+)/)?.[1] ?? [])
    expect(kinds).toEqual([
      'created',
      'joined',
      'phase',
      'turn',
      'done',
      'delegated',
      'returned',
      'branch',
      'compacted',
      'cleared',
    ])
    expect(stdout).toContain('chat → execute: the plan stands (pm)')
    expect(stdout).toContain('→ dev: build it')
    expect(stdout).toMatch(/dev → a11y: .*\n(.*\n)?.*returned +a11y to dev/)
    expect(stdout).toMatch(/\n +31 messages\n.*branch +"Another way" goes another way/)
    expect(stdout).toMatch(/compacted +dev, checkpoint 1 up to #\d+/)
    expect(stdout).toContain('dev starts again')
  })

  it('every version in colloquy timeline is a line, a message that is counted, or part of the workings', async () => {
    const { colloquy, id, says, cli } = await conversation()
    for (let turn = 1; turn <= 6; turn++) {
      await colloquy.conversations.startOrchestratorTurn(id, { agents: ['dev'], reason: `task number ${turn}` })
      await says('user', 'Well?')
      await colloquy.conversations.addCompletionToTurn(id, { agent: 'dev', message: `answer ${turn} to that` })
    }
    const { messages } = await colloquy.conversations.stats(id)
    const whole = (await cli('timeline', id, '--json')).json() as unknown as Timeline
    const counted = (page: Timeline) => page.entries.reduce((sum, one) => sum + one.messagesBefore, page.messagesAfter)
    expect(whole).toMatchObject({ conversationId: id, messages, next: null })
    expect(counted(whole)).toBe(messages)

    const first = (await cli('timeline', id, '--limit', '5', '--json')).json() as unknown as Timeline
    expect(first.entries).toEqual(whole.entries.slice(-5))
    const rest = (await cli('timeline', id, '--before', String(first.next), '--json')).json() as unknown as Timeline
    expect([...rest.entries, ...first.entries].map(one => one.version)).toEqual(whole.entries.map(one => one.version))
    expect((await cli('timeline', id, '--limit', '5')).stdout).toContain(`… --before ${first.next} shows`)
  })

  it('colloquy timeline explains itself, and what is wrong with a call', async () => {
    const { cli } = await conversation()
    const [help, none] = await Promise.all([cli('timeline', '--help'), cli('timeline', 'nowhere')])
    expect(help.stdout).toContain('$ colloquy timeline ID --before 120')
    expect(none).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('not-found') })
  })
})

interface Timeline {
  entries: Array<{ version: number; kind: string; messagesBefore: number }>
  messagesAfter: number
  next: number | null
}
