/** The command line for looking around: list, show, log, search, stats. */
import type { Colloquy } from 'colloquy'
import { describe, expect, it } from 'vitest'
import { archiveLines } from '../../../src/testing/archives.ts'
import { asyncItems } from '../../../src/testing/builders.ts'
import { cliOn } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'

/** A feature with a session and three messages. */
async function talkedAboutLogin(colloquy: Colloquy) {
  const session = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'pm', featureId: 'login' })
  await colloquy.sessions.addMessage(session.id, {
    role: 'user',
    author: 'owner',
    addressees: ['pm'],
    content: 'Plan the login page',
  })
  await colloquy.sessions.addMessage(session.id, {
    role: 'assistant',
    content: 'Three tasks: form, session, tests.',
    usage: { input: 100, output: 20 },
  })
  await colloquy.sessions.addMessage(session.id, {
    role: 'assistant',
    parts: [
      { type: 'tool-call', callId: 'c1', name: 'read_file', input: { path: 'src/login.ts' } },
      { type: 'tool-result', callId: 'c1', name: 'read_file', output: 'line one\nline two' },
    ],
  })
  return session
}

describe('colloquy list', () => {
  it('colloquy list shows conversations, the most recent first, without archived ones', async () => {
    const { colloquy, store, pass } = await freshColloquy()
    const session = await talkedAboutLogin(colloquy)
    pass(120_000)
    const newer = await colloquy.conversations.createConversation({ title: 'Invoices are wrong' })
    const old = await colloquy.conversations.createConversation({ title: 'Put away' })
    await colloquy.conversations.archive(old.id)
    const cli = cliOn(store)

    const [text, json, archived] = await Promise.all([
      cli('list'),
      cli('list', '--json'),
      cli('list', '--json', '--status', 'archived'),
    ])

    expect(text.exitCode).toBe(0)
    const [heading, first, second, ...rest] = text.stdout.trimEnd().split('\n')
    expect(heading).toMatch(/^ID +TITLE +STATUS +MESSAGES +VERSION +ACTIVE$/)
    expect(first).toMatch(new RegExp(`^${newer.id} +Invoices are wrong +active +0 +1 `))
    expect(second).toMatch(new RegExp(`^${session.conversationId} +Feature login +active +3 +5 `))
    expect(rest).toEqual([])
    expect(json.json()).toMatchObject({
      items: [
        { id: newer.id, messages: 0 },
        { title: 'Feature login', messages: 3 },
      ],
    })
    expect(archived.json()).toMatchObject({ items: [{ id: old.id, status: 'archived' }] })
  })

  it('colloquy list goes on where the page before ended', async () => {
    const { colloquy, store, pass } = await freshColloquy()
    for (const title of ['one', 'two', 'three']) {
      await colloquy.conversations.createConversation({ title })
      pass(60_000)
    }
    const cli = cliOn(store)
    const first = await cli('list', '--json', '--limit', '2')
    const { next } = first.json()
    const [second, text] = await Promise.all([
      cli('list', '--json', '--limit', '2', '--cursor', String(next)),
      cli('list', '--limit', '2'),
    ])
    expect(first.json()).toMatchObject({ items: [{ title: 'three' }, { title: 'two' }] })
    expect(second.json()).toEqual({ items: [expect.objectContaining({ title: 'one' })] })
    expect(text.stderr).toContain(`--cursor ${next}`)
  })

  it('colloquy list shows sessions by agent and status', async () => {
    const { colloquy, store } = await freshColloquy({ sessionExpiresInMs: null })
    const pm = await talkedAboutLogin(colloquy)
    const dev = await colloquy.sessions.getOrCreateSession({
      type: 'task',
      agentType: 'dev',
      featureId: 'login',
      taskId: 'form',
      taskState: 'in_dev',
    })
    await colloquy.sessions.archiveSession(dev.id)
    const cli = cliOn(store)
    const [all, active] = await Promise.all([
      cli('list', '--sessions', '--status', 'all'),
      cli('list', '--sessions', '--status', 'active', '--json'),
    ])
    expect(all.stdout).toMatch(new RegExp(`${dev.id} +dev +task form of login \\(in_dev\\) +archived`))
    expect(all.stdout).toMatch(new RegExp(`${pm.id} +pm +feature login +active +3`))
    expect(active.json()).toMatchObject({ items: [{ id: pm.id, stats: { messages: 3 } }] })
  })

  it('colloquy list names the other projects of the store when there is nothing in this one', async () => {
    const { colloquy, store } = await freshColloquy({ project: 'elsewhere' })
    await colloquy.conversations.createConversation({ title: 'there' })
    const cli = cliOn(store)
    const [{ exitCode, stdout, stderr }, searched] = await Promise.all([cli('list'), cli('search', 'there')])
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' })
    expect(stderr).toContain('found in project "shop". It also has: elsewhere')
    expect(searched).toMatchObject({ exitCode: 0, stdout: '' })
    expect(searched.stderr).toContain('Nothing found in project "shop". It also has: elsewhere')
  })

  it('colloquy list says which filter found nothing, and not that nothing exists', async () => {
    const { colloquy, store } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'done' })
    await colloquy.conversations.archive(id)
    const cli = cliOn(store)
    const asked = [
      [],
      ['--status', 'completed', '--type', 'bead'],
      ['--sessions', '--agent', 'qa'],
      ['--status', 'all'],
    ]
    const runs = await Promise.all(asked.map(args => cli('list', ...args)))
    expect(runs.map(({ stderr }) => stderr)).toEqual([
      'No active or completed conversations found in project "shop".\n',
      'No completed conversations about a bead found in project "shop".\n',
      'No active or expired sessions of qa found in project "shop".\n',
      '',
    ])
  })

  it('colloquy list says that a conversation does not exist, and not that it has no sessions', async () => {
    const { store } = await freshColloquy()
    const { exitCode, stderr } = await cliOn(store)('list', '--sessions', '--conversation', 'nope')
    expect(exitCode).toBe(1)
    expect(stderr).toContain('[not-found]')
  })
})

describe('colloquy show', () => {
  it('colloquy show prints a session with who said what to whom, tools folded to a line each', async () => {
    const { colloquy, store } = await freshColloquy()
    const session = await talkedAboutLogin(colloquy)
    const { stdout } = await cliOn(store)('show', session.id)
    expect(stdout).toContain('pm on feature login')
    expect(stdout).toMatch(/#3 {2}owner → pm {2}user · 2026-11-15 10:00/)
    expect(stdout).toContain('\n  Plan the login page\n')
    expect(stdout).toContain('[call read_file {"path":"src/login.ts"}]')
    expect(stdout).toContain('[result read_file line one line two]')
    const all = await cliOn(store)('show', session.id, '--limit', String(Number.MAX_SAFE_INTEGER))
    expect(all.stdout).toBe(stdout)
  })

  it('colloquy show prints a conversation by its id, the newest messages first cut to a limit', async () => {
    const { colloquy, store } = await freshColloquy()
    const { conversationId, id } = await talkedAboutLogin(colloquy)
    const cli = cliOn(store)
    const [text, json] = await Promise.all([
      cli('show', conversationId, '--limit', '1'),
      cli('show', conversationId, '--json'),
    ])
    expect(text.stdout).toContain('1 of 3 messages; --before 5 shows earlier ones.')
    const last = await cli('show', conversationId, '--limit', '2', '--before', '5')
    expect(last.stdout).toContain('\n2 of 3 messages.\n')
    expect(text.stdout).not.toContain('Plan the login page')
    expect(json.json()).toMatchObject({
      kind: 'conversation',
      conversation: { id: conversationId, version: 5 },
      sessions: [{ id }],
      messages: [{ version: 3, author: 'owner' }, { version: 4 }, { version: 5 }],
    })
    expect(json.json()).not.toHaveProperty('nextSessions')
  })

  it('colloquy show says in JSON, too, that a conversation has more sessions, and where to go on', async () => {
    const { colloquy, store } = await freshColloquy()
    const { conversationId } = await talkedAboutLogin(colloquy)
    for (let number = 0; number < 10; number++) {
      await colloquy.sessions.getOrCreateSession({ type: 'feature', featureId: 'login', agentType: `a${number}` })
    }
    const cli = cliOn(store)
    const shown = (await cli('show', conversationId, '--json')).json()
    expect(shown.sessions).toHaveLength(10)
    const cursor = ['--cursor', String(shown.nextSessions)]
    const rest = await cli('list', '--sessions', '--conversation', conversationId, ...cursor, '--json')
    expect(rest.json()).toMatchObject({ items: [{ agentName: 'pm' }] })
  })

  it('colloquy show cuts a long message and prints it whole on request', async () => {
    const { colloquy, store } = await freshColloquy()
    const session = await talkedAboutLogin(colloquy)
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index}`)
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: lines.join('\n') })
    const cli = cliOn(store)
    const [short, full] = await Promise.all([cli('show', session.id), cli('show', session.id, '--full')])
    expect(short.stdout).not.toContain('line 30')
    expect(short.stdout).toContain('--full shows them')
    expect(full.stdout).toContain('line 59')
  })

  it('colloquy show reports a message that a newer version wrote as unknown, not as damaged', async () => {
    const { colloquy, store } = await freshColloquy()
    const { project } = colloquy
    const lane = { audienceKey: 'everyone', audience: { to: 'everyone' }, kind: 'talk' }
    const adds = { messages: 1, tokens: 3, input: 0, output: 0 }
    const lines = archiveLines({ project, conversationId: 'c' }, [
      { type: 'conversation.created', schema: 1, body: { title: 'T', workItem: { type: 'thread', threadId: 't' } } },
      { type: 'message.added', schema: 9, body: { scroll: 'unknown form' }, messageId: 'm', lane, adds },
    ])
    await colloquy.conversations.restoreLines(asyncItems(lines))
    const { stdout } = await cliOn(store)('show', 'c')
    expect(stdout).toContain('(not known to this version: it was written by a newer version (schema 9))')
    expect(stdout).not.toContain('damaged')
  })

  it('colloquy show says where it looked when nothing has the id', async () => {
    const { store } = await freshColloquy()
    const { exitCode, stderr } = await cliOn(store)('show', 'nobody')
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(
      /^colloquy: There is no conversation "nobody".*\[not-found\]\nLooked in project "shop" of sqlite:/,
    )
  })
})

describe('colloquy log', () => {
  it('colloquy log prints the events of a range, one a line', async () => {
    const { colloquy, store } = await freshColloquy()
    const { conversationId } = await talkedAboutLogin(colloquy)
    const cli = cliOn(store)
    const [text, json] = await Promise.all([
      cli('log', conversationId, '--from', '3'),
      cli('log', conversationId, '--from', '2', '--to', '4', '--limit', '2', '--json'),
    ])
    expect(text.stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(
        /^3 {2}2026-11-15 10:00 {2}message\.added +local\/library +owner → pm: Plan the login page$/,
      ),
      expect.stringMatching(/^4 .* pm: Three tasks: form, session, tests\.$/),
      expect.stringMatching(/^5 .* pm: \[call read_file .*\] \[result read_file line one line two\]$/),
    ])
    const events = json.stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(events).toMatchObject([
      { version: 2, event: { type: 'session.created' } },
      { version: 3, event: { type: 'message.added' } },
    ])
  })

  it('colloquy log says so when the range begins behind the end', async () => {
    const { colloquy, store } = await freshColloquy()
    const { conversationId } = await talkedAboutLogin(colloquy)
    const { exitCode, stdout, stderr } = await cliOn(store)('log', conversationId, '--from', '999')
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' })
    expect(stderr).toContain(`Nothing there: ${conversationId} is at version 5.`)
  })

  it('colloquy log names the conversation when it is given a session', async () => {
    const { colloquy, store } = await freshColloquy()
    const session = await talkedAboutLogin(colloquy)
    const { exitCode, stderr } = await cliOn(store)('log', session.id)
    expect(exitCode).toBe(1)
    expect(stderr).toContain(`It is a session of conversation ${session.conversationId}.`)
  })
})

describe('colloquy search', () => {
  it('colloquy search finds messages by their words and titles like them', async () => {
    const { colloquy, store } = await freshColloquy()
    const { conversationId } = await talkedAboutLogin(colloquy)
    const cli = cliOn(store)
    const [text, json, coloured] = await Promise.all([
      cli('search', 'planning', 'login'),
      cli('search', '--json', '--offset', '0', 'login'),
      cliOn(store, { env: { FORCE_COLOR: '1' } })('search', 'planning'),
    ])
    expect(text.stdout).toContain(`${conversationId} #3\n  Plan the login page\n`)
    expect(text.stdout).toContain('Conversations with a title like it:\n  Feature login')
    expect(json.json()).toMatchObject({ messages: expect.any(Array), conversations: [{ conversationId }] })
    expect(coloured.stdout).toContain('\u001b[33mPlan\u001b[39m')
  })

  it('colloquy search filters by author, role, time and archive', async () => {
    const { colloquy, store } = await freshColloquy()
    const { conversationId } = await talkedAboutLogin(colloquy)
    const other = await colloquy.conversations.createConversation({
      title: 'Old',
      initial: { role: 'user', author: 'bo', content: 'the login again' },
    })
    await colloquy.conversations.archive(other.id)
    const cli = cliOn(store)
    const found = async (...args: string[]) => {
      const { messages } = (await cli('search', 'login', '--json', ...args)).json()
      return (messages as Array<{ author: string }>).map(hit => hit.author).sort()
    }
    const answers = await Promise.all([
      found('--author', 'bo'),
      found('--archived'),
      found('--no-archived', '--role', 'user'),
      found('--conversation', conversationId, '--role', 'user'),
      found('--until', '2026-11-14'),
      found('--since', '2026-11-15', '--author', 'owner'),
    ])
    expect(answers).toEqual([['bo'], ['bo'], ['owner'], ['owner'], [], ['owner']])
  })

  it('colloquy search finds conversations by participant, agent and topic, without words too', async () => {
    const { colloquy, store } = await freshColloquy()
    const { conversationId } = await talkedAboutLogin(colloquy)
    const other = await colloquy.conversations.createConversation({
      title: 'Old',
      initial: { role: 'user', author: 'bo', content: 'the login again' },
    })
    const cli = cliOn(store)
    const found = async (...args: string[]) => {
      const { messages, conversations } = (await cli('search', '--json', ...args)).json()
      const idsIn = (hits: unknown) => (hits as Array<{ conversationId: string }>).map(hit => hit.conversationId)
      return [...new Set([...idsIn(messages), ...idsIn(conversations)])]
    }
    const answers = await Promise.all([
      found('login', '--participant', 'bo'),
      found('--participant', 'bo'),
      found('--agent', 'pm'),
      found('login', '--feature', 'login'),
      found('--thread', 'login'),
      found('--since', '2026-11-15', '--offset', '1'),
    ])
    expect(answers).toEqual([[other.id], [other.id], [conversationId], [conversationId], [], [conversationId]])
    const [text, ...refused] = await Promise.all([
      cli('search', '--participant', 'bo'),
      cli('search'),
      cli('search', '--feature', 'x', '--bead', 'y'),
      cli('search', '--task', 'x'),
      cli('search', '--author', 'bo'),
      cli('search', '--role', 'user', '--participant', 'bo'),
    ])
    expect(text.stdout).toMatch(/^Conversations:\n {2}Old {2}active/)
    for (const { exitCode } of refused) expect(exitCode).toBe(2)
  })

  it('colloquy search says that there is more than it shows, and where that begins', async () => {
    const { colloquy, store } = await freshColloquy()
    for (const title of ['One', 'Two', 'Three']) {
      await colloquy.conversations.createConversation({ title, initial: { role: 'user', content: 'the login' } })
    }
    const cli = cliOn(store)
    const runs = await Promise.all([
      cli('search', 'login', '--limit', '2'),
      cli('search', '--participant', 'user', '--limit', '1', '--offset', '1'),
      cli('search', 'login', '--limit', '2', '--offset', '2'),
      cli('search', '--participant', 'user', '--limit', '3'),
      cli('search', 'login', '--limit', String(Number.MAX_SAFE_INTEGER)),
    ])
    expect(runs.map(({ stderr }) => stderr)).toEqual([
      'There are more: --offset 2\n',
      'There are more: --offset 2\n',
      '',
      '',
      '',
    ])
    const shown = runs.map(({ stdout }) => stdout.split('\n').filter(line => /One|Two|Three/.test(line)).length)
    expect(shown).toEqual([2, 1, 1, 3, 3])
    const { messages } = (await cli('search', 'login', '--limit', '2', '--json')).json()
    expect(messages).toHaveLength(2)
  })
})

describe('colloquy stats', () => {
  it('colloquy stats counts a project, a conversation and a session', async () => {
    const { colloquy, store } = await freshColloquy()
    const { id, conversationId } = await talkedAboutLogin(colloquy)
    await colloquy.sessions.clearMessages(id)
    const cli = cliOn(store)
    const [project, conversation, session, text] = await Promise.all([
      cli('stats', '--json'),
      cli('stats', conversationId, '--json'),
      cli('stats', id, '--json'),
      cli('stats', id),
    ])
    expect(project.json()).toMatchObject({ kind: 'project', stats: { conversations: 1, sessions: 1, messages: 3 } })
    expect(conversation.json()).toMatchObject({ kind: 'conversation', stats: { events: 6, messages: 3, input: 100 } })
    expect(session.json()).toMatchObject({ kind: 'session', stats: { messages: 0, total: { messages: 3 } } })
    expect(text.stdout).toMatch(/messages +0 in its window, 3 in all/)
  })
})
