/** Resources of the server through real HTTP: with the typed client, and with plain requests. */
import { describe, expect, it } from 'vitest'
import { freshServer } from '../../support/server.ts'

const json = { 'content-type': 'application/json' }

describe('sessions and messages over HTTP', () => {
  it('a session over HTTP is created, records messages and reads them back', async () => {
    const { client, colloquy } = await freshServer()
    const session = await client.sessions.getOrCreate({
      body: { type: 'feature', agentType: 'pm', featureId: 'login' },
    })
    const same = await client.sessions.getOrCreate({ body: { type: 'feature', agentType: 'pm', featureId: 'login' } })
    expect(same.id).toBe(session.id)
    const { sessionId } = { sessionId: session.id }
    await client.sessions.addMessage({ sessionId, body: { role: 'user', content: 'Plan the login page' } })
    await client.sessions.addMessage({ sessionId, body: { role: 'assistant', content: 'Three tasks', internal: true } })
    const { items } = await client.sessions.messages({ sessionId })
    expect(items.map(({ content }) => content)).toEqual(['Plan the login page', 'Three tasks'])
    expect((await client.sessions.messages({ sessionId, query: { kind: 'user-facing' } })).items).toHaveLength(1)
    expect((await client.sessions.get({ sessionId })).stats).toMatchObject({ messages: 2 })
    const [recorded] = (await colloquy.conversations.getEvents(session.conversationId)).slice(-1)
    expect(recorded).toMatchObject({ actor: 'owner', channel: 'http', requestId: expect.stringMatching(/./) })
  })

  it('a session over HTTP does everything that the library does', async () => {
    const { client } = await freshServer()
    const { id: sessionId } = await client.sessions.getOrCreate({
      body: { type: 'task', agentType: 'dev', featureId: 'login', taskId: 'form', taskState: 'in_dev' },
    })
    const say = (content: string, role: 'user' | 'system' = 'user') =>
      client.sessions.addMessage({ sessionId, body: { role, content } })
    await say('You are a developer.', 'system')
    await say('Build the form')
    expect((await client.sessions.reset({ sessionId })).stats.messages).toBe(1)
    expect((await client.sessions.clear({ sessionId })).stats.messages).toBe(0)
    await say('Again')
    const described = { agentType: 'dev', role: 'Developer', instructions: ['Be brief'], allowedTools: [] }
    expect(await client.sessions.describe({ sessionId, body: described })).toEqual(described)
    expect(await client.sessions.description({ sessionId })).toEqual(described)
    await client.sessions.updateContext({ sessionId, body: { feature: { id: 'login', name: 'Login page' } } })
    expect(await client.sessions.context({ sessionId })).toMatchObject({ feature: { name: 'Login page' } })
    const request = await client.sessions.request({ sessionId, body: { message: 'What is left?', budget: 4000 } })
    expect(request).toMatchObject({ budget: 4000, strategy: 'checkpoint' })
    expect(request.systemPrompt).toContain('Developer')
    expect(request.messages.at(-1)).toMatchObject({ role: 'user' })
    const preview = await client.sessions.preview({ sessionId, body: { message: 'What is left?' } })
    expect(preview.budget).toBe(100_000)
    expect(await client.sessions.metrics({ sessionId })).toMatchObject({ level: 'ok', latched: false })
    expect(await client.sessions.checkpoint({ sessionId })).toBeNull()
    expect(await client.sessions.compact({ sessionId })).toMatchObject({ outcome: expect.any(String) })
    expect((await client.sessions.checkpoints({ sessionId })).items).toEqual(expect.any(Array))
    const linked = await client.sessions.link({ sessionId, system: 'claude', body: { id: 'c-1' } })
    expect(linked.outsideIds).toEqual({ claude: 'c-1' })
    await client.sessions.setMetadata({ sessionId, body: { metadata: { colour: 'blue' } } })
    await client.sessions.configure({ sessionId, body: { budget: 5000 } })
    expect((await client.sessions.preview({ sessionId, body: { message: 'x' } })).budget).toBe(5000)
    expect((await client.sessions.archive({ sessionId })).status).toBe('archived')
    expect((await client.sessions.reopen({ sessionId })).status).toBe('active')
    expect((await client.sessions.expire({ sessionId })).status).toBe('expired')
    await expect(say('too late')).rejects.toMatchObject({ code: 'session/closed', status: 409 })
    expect(await client.sessions.delete({ sessionId })).toMatchObject({ status: 'deleted' })
    await expect(client.sessions.get({ sessionId })).rejects.toMatchObject({ code: 'not-found', status: 404 })
  })

  it('[P3] a message over HTTP is recorded once under one key, and not on a wrong version', async () => {
    const { client, send } = await freshServer()
    const { id: sessionId } = await client.sessions.getOrCreate({
      body: { type: 'thread', agentType: 'dev', threadId: 't' },
    })
    const body = { role: 'user', content: 'Once' } as const
    const first = await client.sessions.addMessage({ sessionId, body }, { idempotencyKey: 'k-1' })
    const again = await client.sessions.addMessage({ sessionId, body }, { idempotencyKey: 'k-1' })
    expect(again.id).toBe(first.id)
    const other = { role: 'user', content: 'Something else' } as const
    await expect(
      client.sessions.addMessage({ sessionId, body: other }, { idempotencyKey: 'k-1' }),
    ).rejects.toMatchObject({ code: 'log/key-reused', status: 409 })
    await expect(
      client.sessions.addMessage({ sessionId, body: other }, { expectedVersion: first.version - 1 }),
    ).rejects.toMatchObject({ code: 'log/version-conflict', facts: { actual: first.version } })
    await client.sessions.addMessage({ sessionId, body: other }, { expectedVersion: first.version })
    expect((await client.sessions.messages({ sessionId })).items).toHaveLength(2)
    const refused = await send(`/api/v1/projects/shop/sessions/${sessionId}/compact`, {
      method: 'POST',
      headers: { ...json, 'idempotency-key': 'k-2' },
    })
    expect(refused.status).toBe(400)
  })
})

describe('conversations over HTTP', () => {
  it('a conversation over HTTP shows its past: messages, sessions, views and requests as of a version, and step by step', async () => {
    const { client } = await freshServer()
    const session = await client.sessions.getOrCreate({ body: { type: 'feature', agentType: 'pm', featureId: 'f' } })
    const { id: sessionId, conversationId } = session
    const say = (content: string) => client.sessions.addMessage({ sessionId, body: { role: 'user', content } })
    await say('First')
    const built = await client.sessions.request({ sessionId, body: { message: 'First' } })
    const { version } = await client.conversations.get({ conversationId })
    const second = await say('Second')
    await client.sessions.clear({ sessionId })
    const then = { conversationId, version }
    expect((await client.past.messages(then)).items.map(({ content }) => content)).toEqual(['First'])
    expect((await client.past.session({ ...then, sessionId })).windowStart).toBe(0)
    expect((await client.sessions.get({ sessionId })).windowStart).toBeGreaterThan(version)
    const sent = await client.past.request({ ...then, sessionId })
    expect(sent).toMatchObject({ version, isExact: true, request: { totalTokens: built.totalTokens } })
    expect(await client.past.request({ ...then, version: version - 1, sessionId })).toBeNull()
    const view = await client.past.view({ ...then, body: { agent: 'pm', trigger: 'And now?' } })
    expect(JSON.stringify(view.messages)).toContain('First')
    expect(JSON.stringify(view.messages)).not.toContain('Second')
    const steps = []
    for (let from: string | undefined = '1'; from !== undefined; ) {
      const page = await client.past.replay({ conversationId, query: { from, limit: 2 } })
      steps.push(...page.items)
      from = page.next
    }
    expect(steps.map(step => step.version)).toEqual(steps.map((_, at) => at + 1))
    expect(steps.at(-1)!.version).toBe((await client.conversations.get({ conversationId })).version)
    await expect(client.past.session({ ...then, version: 1, sessionId: 'none' })).rejects.toMatchObject({ status: 404 })
    await expect(client.past.messages({ ...then, version: second.version + 99 })).rejects.toMatchObject({ status: 400 })
  })

  it('sessions, branches and words are found over HTTP by work item, participant and agent', async () => {
    const { client } = await freshServer()
    const item = { type: 'task', featureId: 'f', taskId: 't' } as const
    expect(await client.sessions.active({ query: { ...item, agentType: 'dev' } })).toBeNull()
    const { id: sessionId, conversationId } = await client.sessions.getOrCreate({ body: { ...item, agentType: 'dev' } })
    await client.sessions.getOrCreate({ body: { type: 'bead', beadId: 'b', agentType: 'dev' } })
    expect((await client.sessions.active({ query: { ...item, agentType: 'dev' } }))?.id).toBe(sessionId)
    expect((await client.sessions.list({ query: item })).items.map(({ id }) => id)).toEqual([sessionId])
    await client.sessions.addMessage({ sessionId, body: { role: 'user', author: 'ada', content: 'Paint it blue' } })
    const branch = await client.conversations.branch({ conversationId, body: { title: 'Other' } })
    const branches = await client.conversations.list({ query: { branchesOf: conversationId } })
    expect(branches.items.map(({ id }) => id)).toEqual([branch.id])
    const by = (query: Record<string, string>) => client.projects.search({ query: { text: 'blue', ...query } })
    expect((await by({ participant: 'ada', agent: 'dev', ...item })).messages).toHaveLength(1)
    expect((await by({ type: 'bead', beadId: 'b' })).messages).toHaveLength(0)
    expect((await by({ participant: 'nobody' })).messages).toHaveLength(0)
    await expect(client.sessions.list({ query: { taskId: 't' } })).rejects.toMatchObject({ code: 'input/invalid' })
  })

  it('a conversation over HTTP is created, used, listed in pages, completed, branched, compared, merged, exported, purged and restored', async () => {
    const { client } = await freshServer()
    const conversation = await client.conversations.create({
      body: { title: 'Login page', initial: { role: 'user', content: 'Build it' } },
    })
    const conversationId = conversation.id
    await client.conversations.say({ conversationId, body: { role: 'assistant', author: 'dev', content: 'Done' } })
    for (const title of ['b', 'c']) await client.conversations.create({ body: { title } })
    const page = await client.conversations.list({ query: { limit: 2 } })
    expect(page.items).toHaveLength(2)
    const rest = await client.conversations.list({ query: { limit: 2, cursor: page.next! } })
    expect(new Set([...page.items, ...rest.items].map(({ id }) => id)).size).toBe(3)
    const events = await client.conversations.events({ conversationId, query: { limit: 2 } })
    expect(events).toMatchObject({ items: [{ version: 1 }, { version: 2 }], next: '3' })
    const branch = await client.conversations.branch({ conversationId, body: { version: 2, title: 'Another way' } })
    await client.conversations.say({ conversationId: branch.id, body: { role: 'user', content: 'Without a form' } })
    const compared = await client.conversations.compare({ conversationId, other: branch.id })
    expect(compared.common).toMatchObject({ version: 2 })
    const merged = await client.conversations.merge({ conversationId: branch.id, body: { conclusion: 'No form' } })
    expect(merged.conversationId).toBe(conversationId)
    const past = await client.conversations.at({ conversationId, version: 2 })
    expect(past.messages.map(({ content }) => content)).toEqual(['Build it'])
    expect(await client.conversations.stats({ conversationId })).toMatchObject({ messages: 3 })
    await client.conversations.describe({ conversationId, body: { title: 'Sign-in page' } })
    expect((await client.conversations.complete({ conversationId, body: { summary: 'ok' } })).status).toBe('completed')
    expect((await client.conversations.reopen({ conversationId })).status).toBe('active')
    expect((await client.conversations.archive({ conversationId })).status).toBe('archived')
    expect((await client.conversations.restore({ conversationId })).title).toBe('Sign-in page')
    const [other] = rest.items.concat(page.items).filter(({ title }) => title === 'b')
    const lines: string[] = []
    for await (const line of client.exportLines({ conversationId: other!.id })) lines.push(line)
    expect(lines.length).toBeGreaterThan(2)
    await expect(
      client.conversations.purge({ conversationId: other!.id, body: { confirm: 'something else' } }),
    ).rejects.toMatchObject({ errors: [{ field: 'body.confirm' }] })
    await client.conversations.purge({ conversationId: other!.id, body: { confirm: other!.id } })
    await expect(client.conversations.get({ conversationId: other!.id })).rejects.toMatchObject({ status: 410 })
    expect((await client.conversations.restore({ conversationId: other!.id })).title).toBe('b')
  })

  it('a repeated query gets a 304, and its version as ETag', async () => {
    const { client, send } = await freshServer()
    const { id } = await client.conversations.create({ body: { title: 'x' } })
    const path = `/api/v1/projects/shop/conversations/${id}`
    const { headers } = await send(path)
    expect(headers.etag).toBe('"1"')
    expect(await send(path, { headers: { 'if-none-match': '"1"' } })).toMatchObject({ status: 304, text: '' })
    const list = await send('/api/v1/projects/shop/conversations')
    expect(
      (await send('/api/v1/projects/shop/conversations', { headers: { 'if-none-match': list.headers.etag as string } }))
        .status,
    ).toBe(304)
    await send(path, { method: 'PATCH', headers: { ...json, 'if-match': '"1"' }, body: '{"title":"y"}' })
    expect((await send(path, { headers: { 'if-none-match': '"1"' } })).status).toBe(200)
    const late = await send(path, { method: 'PATCH', headers: { ...json, 'if-match': '"1"' }, body: '{"title":"z"}' })
    expect(late).toMatchObject({ status: 409 })
    expect(late.json()).toMatchObject({ code: 'log/version-conflict', facts: { expected: 1, actual: 2 } })
  })

  it('secrets are kept out of the log where a project wants that, and the event says so', async () => {
    const secret = `sk-ant-${'aB3'.repeat(12)}`
    const { client, colloquy } = await freshServer({ open: { redact: true } })
    const { id: conversationId } = await client.conversations.create({ body: { title: 'x' } })
    const body = { role: 'user', content: `The key is ${secret}.` } as const
    const said = await client.conversations.say({ conversationId, body })
    expect(said).toMatchObject({ content: 'The key is [redacted anthropic-key].' })
    const [, recorded] = await colloquy.conversations.getEvents(conversationId)
    expect(recorded?.event).toMatchObject({ redacted: [{ kind: 'anthropic-key', count: 1 }] })
    expect(JSON.stringify(recorded)).not.toContain(secret)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('a message is erased and pinned over HTTP', async () => {
    const { client } = await freshServer()
    const { id: conversationId } = await client.conversations.create({ body: { title: 'x' } })
    const { id: messageId } = await client.conversations.say({
      conversationId,
      body: { role: 'user', content: 'secret' },
    })
    expect((await client.conversations.pin({ messageId, body: { pinned: true } })).pins).toEqual([2])
    await client.conversations.erase({ messageId, body: { reason: 'a secret' } })
    expect(await client.conversations.message({ messageId })).toMatchObject({
      content: '',
      missing: { because: 'erased' },
    })
  })
})

describe('teams over HTTP', () => {
  it('a team over HTTP routes, completes, moves through phases, delegates, claims and acknowledges', async () => {
    const { client } = await freshServer()
    const { id: conversationId } = await client.conversations.create({
      body: { title: 'Login page', initial: { role: 'user', content: 'Build the login page' } },
    })
    const turn = await client.teams.startTurn({
      conversationId,
      body: { agents: ['dev'], phase: 'execute', reason: 'the plan stands' },
    })
    expect(turn.missing).toEqual(['dev'])
    await client.teams.completeTurn({ conversationId, body: { agent: 'dev', message: 'The form is done' } })
    const routing = await client.teams.routing({ conversationId })
    expect(routing).toMatchObject({ user_request: 'Build the login page', current_routing: null })
    expect((await client.teams.turns({ conversationId })).items).toHaveLength(1)
    await client.teams.releaseRouting({ conversationId })
    expect(await client.teams.phase({ conversationId })).toMatchObject({ phase: 'execute' })
    await client.teams.transition({ conversationId, body: { to: 'verification', reason: 'built' } })
    await expect(client.teams.transition({ conversationId, body: { to: 'plan' } })).rejects.toMatchObject({
      code: 'phase/refused',
      facts: { legal: ['chores', 'execute', 'chat'] },
    })
    expect((await client.teams.phases({ conversationId })).items).toHaveLength(2)
    const delegation = await client.teams.delegate({ conversationId, body: { from: 'dev', to: 'qa', task: 'Test it' } })
    await client.teams.completeDelegation({
      conversationId: delegation.conversationId,
      body: { result: 'Four tests pass' },
    })
    expect((await client.teams.delegations({ conversationId })).items[0]).toMatchObject({ result: 'Four tests pass' })
    const claim = await client.teams.claim({ conversationId, body: { agent: 'dev' } })
    await expect(client.teams.claim({ conversationId, body: { agent: 'dev' } })).rejects.toMatchObject({
      code: 'lease/held',
    })
    await client.teams.renewClaim({ conversationId, body: { fence: claim.fence } })
    const view = await client.teams.view({ conversationId, body: { agent: 'dev', trigger: 'Go on' } })
    expect(view.agent).toBe('dev')
    const write = { fence: claim.fence }
    await client.teams.acknowledge({ conversationId, body: { agent: 'dev', upTo: view.upTo } }, write)
    await client.teams.releaseClaim({ conversationId, body: { fence: claim.fence } })
    await expect(
      client.teams.acknowledge({ conversationId, body: { agent: 'dev', upTo: view.upTo } }, write),
    ).rejects.toMatchObject({ code: 'lease/lost' })
    const { executionId } = await client.teams.startExecution({ conversationId, body: { agent: 'dev' } })
    const time = await client.teams.stopExecution({ conversationId, body: { agent: 'dev', executionId } })
    expect(time.isActive).toBe(false)
  })
})

describe('projects over HTTP', () => {
  it('the audit of a project says who did what through what, newest first, in pages', async () => {
    const { client, colloquy } = await freshServer()
    const { id: first } = await client.conversations.create({ body: { title: 'One' } })
    await colloquy
      .as({ actor: 'somebody', channel: 'library' })
      .conversations.addEvent(first, { role: 'user', content: 'x' })
    const { id: second } = await client.conversations.create({ body: { title: 'Two' } })
    for (let number = 0; number < 5; number++) {
      await client.conversations.say({ conversationId: second, body: { role: 'user', content: `Message ${number}` } })
    }
    const all: unknown[] = []
    let cursor: string | undefined
    do {
      const page = await client.projects.audit({ query: { limit: 3, ...(cursor && { cursor }) } })
      expect(page.items.length).toBeLessThanOrEqual(3)
      all.push(...page.items)
      cursor = page.next
    } while (cursor)
    expect(all).toHaveLength(8)
    expect(new Set(all.map(one => JSON.stringify(one))).size).toBe(8)
    const others = await client.projects.audit({ query: { actor: 'somebody' } })
    expect(others.items).toMatchObject([
      { conversationId: first, version: 2, channel: 'library', type: 'message.added' },
    ])
    expect(
      (await client.projects.audit({ query: { conversation: second, type: 'message.added' } })).items,
    ).toHaveLength(5)
  })

  it('totals of a project sum up tokens and cost by agent, model and conversation, and count on from there', async () => {
    const { client } = await freshServer()
    const { id: conversationId } = await client.conversations.create({ body: { title: 'One' } })
    const answered = (author: string, cost: number | undefined, model: string) =>
      client.conversations.say({
        conversationId,
        body: {
          role: 'assistant',
          author,
          content: 'Done',
          usage: { input: 100, output: 10, ...(cost !== undefined && { cost }) },
          metadata: { model },
        },
      })
    await answered('dev', 0.5, 'house:small')
    expect((await client.projects.totals()).project).toMatchObject({ input: 100, output: 10, cost: 0.5, calls: 1 })
    await answered('qa', undefined, 'house:large')
    await answered('dev', 0.25, 'house:small')
    expect(await client.projects.totals()).toMatchObject({
      project: { messages: 3, input: 300, output: 30, cost: 0.75, calls: 3, unpriced: 1 },
      agents: { dev: { cost: 0.75, calls: 2 }, qa: { cost: 0, unpriced: 1 } },
      models: { 'house:small': { calls: 2 }, 'house:large': { calls: 1 } },
      conversations: { [conversationId]: { calls: 3 } },
    })
  })

  it('a project over HTTP is searched, its work items are found, and projects are kept apart', async () => {
    const { client } = await freshServer()
    await client.sessions.getOrCreate({ body: { type: 'bead', agentType: 'dev', beadId: 'b/1' } })
    const { id } = await client.sessions.getOrCreate({ body: { type: 'bead', agentType: 'qa', beadId: 'b/1' } })
    await client.sessions.addMessage({ sessionId: id, body: { role: 'user', content: 'Forgotten passwords' } })
    const other = await client.sessions.getOrCreate({
      project: 'other/place',
      body: { type: 'thread', agentType: 'dev', threadId: 't' },
    })
    expect(other.project).toBe('other/place')
    expect((await client.projects.search({ query: { text: 'password' } })).messages).toHaveLength(1)
    expect((await client.projects.search({ project: 'other/place', query: { text: 'password' } })).messages).toEqual([])
    const item = await client.projects.workItem({ query: { type: 'bead', beadId: 'b/1' } })
    expect(item.states['']).toHaveLength(2)
    expect((await client.projects.workItems({ query: { type: 'bead' } })).items).toHaveLength(1)
    expect((await client.projects.list()).items.map(({ id }) => id).sort()).toEqual(['other/place', 'shop'])
    expect(await client.projects.stats()).toMatchObject({ conversations: 1, sessions: 2 })
    expect(await client.operations.verify()).toMatchObject({ clean: true })
    expect(await client.operations.maintain()).toMatchObject({ expired: 0 })
    expect((await client.operations.jobs()).items).toMatchObject([{ name: 'maintenance', project: 'shop', runs: 1 }])
  })
})

describe('what is wrong is told', () => {
  it('an invalid request gets problem details that name every field', async () => {
    const { send } = await freshServer()
    const answer = await send('/api/v1/projects/shop/sessions?fresh=perhaps', {
      method: 'POST',
      headers: json,
      body: '{"type":"bead","agentType":"","colour":1}',
    })
    expect(answer).toMatchObject({ status: 400, headers: { 'content-type': 'application/problem+json' } })
    const { code, errors, requestId } = answer.json() as {
      code: string
      errors: { field: string }[]
      requestId: string
    }
    expect(code).toBe('input/invalid')
    expect(errors.map(({ field }) => field).sort()).toEqual([
      'body.agentType',
      'body.beadId',
      'body.colour',
      'query.fresh',
    ])
    expect(answer.headers['x-request-id']).toBe(requestId)
  })

  it.each([
    ['bad JSON', '{"role":', 400, 'input/not-json'],
    ['JSON nested too deep', `${'['.repeat(200)}${']'.repeat(200)}`, 400, 'input/invalid'],
    [
      'a body larger than the limit',
      JSON.stringify({ role: 'user', content: 'x'.repeat(5000) }),
      413,
      'input/body-too-large',
    ],
  ])('an invalid request gets the right problem: %s', async (_, body, status, code) => {
    const { send } = await freshServer({ configuration: { limits: { bodyBytes: 4000 } } })
    const answer = await send('/api/v1/projects/shop/conversations', { method: 'POST', headers: json, body })
    expect(answer.status).toBe(status)
    expect(answer.json()).toMatchObject({ code })
    if (status === 413) expect(answer.headers.connection).toBe('close')
    const chunked = await send('/api/v1/projects/shop/conversations', {
      method: 'POST',
      headers: { ...json, 'transfer-encoding': 'chunked' },
      body,
    })
    expect(chunked.status).toBe(status)
  })

  it('a request that is not JSON, not found, or not accepted gets a problem', async () => {
    const { send } = await freshServer()
    const text = await send('/api/v1/projects/shop/conversations', {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{}',
    })
    expect(text).toMatchObject({ status: 415 })
    expect((await send('/api/v1/nowhere')).json()).toMatchObject({ status: 404, code: 'route/unknown' })
    const wrong = await send('/api/v1/projects', { method: 'DELETE' })
    expect(wrong).toMatchObject({ status: 405, headers: { allow: 'GET' } })
  })
})
