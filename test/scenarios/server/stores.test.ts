/** `colloquy serve` on a file and on a server: every endpoint answers, and as the contract describes it. */
import { join } from 'node:path'
import { type CallOptions, type Client, connect } from 'colloquy/client'
import { type Endpoint, endpoints } from 'colloquy/server'
import { describe, expect, it } from 'vitest'
import { freshSchema } from '../../support/postgres.ts'
import { folderWith } from '../../support/repository.ts'
import { startServe } from '../../support/serve-process.ts'

/** Called elsewhere, or no JSON document. */
const elsewhere = new Set(['operations.events'])
const resources = new Set(['projects', 'conversations', 'past', 'sessions', 'teams', 'runs', 'loom', 'operations'])

/** The same client; each answer is held against the contract. */
function checkedClient(client: Client, called: Set<string>, problems: string[]): Client {
  const groups = new Map<string, Record<string, unknown>>()
  for (const { resource, name, endpoint } of endpoints) {
    const call = (client[resource] as Record<string, (input?: unknown, options?: CallOptions) => Promise<unknown>>)[
      name
    ]!
    const group = groups.get(resource) ?? {}
    group[name] = async (input?: unknown, options?: CallOptions) => {
      const answer = await call(input, options)
      called.add(`${resource}.${name}`)
      const { success, error } = (endpoint as Endpoint).answer.safeParse(answer)
      if (!success) problems.push(`${resource}.${name} does not answer as described: ${error.message}`)
      return answer
    }
    groups.set(resource, group)
  }
  return Object.assign({}, client, Object.fromEntries(groups)) as Client
}

const stores = {
  sqlite: async (folder: string) => `sqlite:${join(folder, 'colloquy.db')}`,
  postgres: async () => (await freshSchema()).url,
}

describe.each(Object.entries(stores))('colloquy serve on %s', (_, storeIn) => {
  it('colloquy serve answers every endpoint of the contract', async () => {
    const folder = folderWith({
      'package.json': '{}',
      'notes.md': 'Notes',
      'colloquy.config.yaml': 'agents: { model: "scripted:answers.jsonl" }',
      'answers.jsonl': [
        { calls: [{ name: 'ask', input: { question: 'Blue or green?' } }] },
        { text: 'Blue it is.', usage: { input: 10, output: 5, cost: 0.01 } },
      ]
        .map(line => JSON.stringify(line))
        .join('\n'),
    })
    const args = ['serve', '--port', '0', '--json', '--project', 'shop', '--store', await storeIn(folder)]
    const { child, told, token, ended } = await startServe(args, { cwd: folder })
    const called = new Set<string>()
    const problems: string[] = []
    const client = checkedClient(connect({ url: told.url, token, project: 'shop' }), called, problems)

    await operations(client)
    const { sessionId, conversationId } = await sessions(client)
    await conversations(client)
    await past(client, { sessionId, conversationId })
    await teams(client, conversationId)
    await runs(client, { sessionId, conversationId })
    await projects(client)
    await loom(client)
    expect(await client.operations.verify()).toMatchObject({ clean: true })

    expect(problems).toEqual([])
    const all = endpoints.filter(({ resource }) => resources.has(resource)).map(one => `${one.resource}.${one.name}`)
    expect(all.filter(name => !called.has(name) && !elsewhere.has(name))).toEqual([])
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  })
})

async function operations({ operations }: Client): Promise<void> {
  await operations.health()
  await operations.ready()
  expect(String(await operations.metrics())).toContain('colloquy_subscribers 0')
  expect(await operations.describe()).toMatchObject({ openapi: '3.1.0' })
  expect(String(await operations.docs())).toContain('<h1>')
  await operations.whoami()
  await operations.maintain()
  expect((await operations.jobs()).items.length).toBeGreaterThan(0)
  expect((await operations.nodes()).items).toMatchObject([{ isHere: true }])
}

async function sessions({ sessions }: Client) {
  const task = { type: 'task', agentType: 'dev', featureId: 'login', taskId: 'form' } as const
  const { id: sessionId, conversationId } = await sessions.getOrCreate({ body: task })
  expect((await sessions.active({ query: task }))?.id).toBe(sessionId)
  await sessions.list({ query: { conversationId } })
  await sessions.setMetadata({ sessionId, body: { metadata: { colour: 'blue' } } })
  await sessions.configure({ sessionId, body: { budget: 20_000 } })
  await sessions.link({ sessionId, system: 'elsewhere', body: { id: 'x-1' } })
  for (let number = 0; number < 12; number++) {
    const talk = 'Some more words on how one could go about it, which nobody will need again. '.repeat(20)
    const content = `We decided: page ${number} uses colour ${number}. ${talk}`
    await sessions.addMessage({ sessionId, body: { role: number % 2 ? 'assistant' : 'user', content } })
  }
  for (const kind of ['all', 'talk', 'user-facing'] as const) {
    expect((await sessions.messages({ sessionId, query: { kind } })).items).toHaveLength(12)
  }
  await sessions.updateContext({ sessionId, body: { gatherProject: true, dagSummary: 'One task' } })
  expect((await sessions.context({ sessionId }))?.dagSummary).toBe('One task')
  const description = await sessions.description({ sessionId })
  await sessions.describe({ sessionId, body: { ...description, allowedTools: ['ask'] } })
  const built = await sessions.request({ sessionId, body: { message: 'What next?' } })
  const preview = await sessions.preview({ sessionId, body: { message: 'What next?' } })
  expect(preview.messages.length).toBe(built.messages.length)
  for (const messages of [6, 2]) {
    expect(await sessions.compact({ sessionId, body: { keep: { messages } } })).toMatchObject({ outcome: 'taken' })
  }
  const { items } = await sessions.checkpoints({ sessionId })
  await sessions.compareCheckpoints({ sessionId, first: items[1]!.number, second: items[0]!.number })
  const [item] = (await sessions.checkpoint({ sessionId }))!.items
  await sessions.checkpointItem({ sessionId, itemId: item!.id })
  await sessions.metrics({ sessionId })
  expect((await sessions.compacting({ conversationId })).items).toEqual([])
  const { id: other } = await sessions.getOrCreate({ query: { fresh: true }, body: { ...task, agentName: 'second' } })
  await sessions.clear({ sessionId: other })
  await sessions.reset({ sessionId: other })
  expect((await sessions.archive({ sessionId: other })).status).toBe('archived')
  expect((await sessions.reopen({ sessionId: other })).status).toBe('active')
  expect((await sessions.expire({ sessionId: other })).status).toBe('expired')
  await sessions.delete({ sessionId: other })
  await sessions.get({ sessionId })
  return { sessionId, conversationId }
}

async function conversations({ conversations, exportLines }: Client): Promise<void> {
  const initial = { role: 'user', content: 'Build it' } as const
  const { id: conversationId } = await conversations.create({ body: { title: 'Login page', initial } })
  const { id: messageId } = await conversations.say({ conversationId, body: { role: 'assistant', content: 'Done' } })
  await conversations.list({ query: { status: 'active' } })
  await conversations.get({ conversationId })
  await conversations.describe({ conversationId, body: { title: 'Sign-in page' } })
  await conversations.events({ conversationId })
  expect((await conversations.messages({ conversationId })).items).toHaveLength(2)
  await conversations.message({ messageId })
  await conversations.pin({ messageId, body: { pinned: true } })
  await conversations.stats({ conversationId })
  const branch = await conversations.branch({ conversationId, body: { version: 2 } })
  await conversations.say({ conversationId: branch.id, body: { role: 'user', content: 'Another way' } })
  await conversations.compare({ conversationId, other: branch.id })
  await conversations.merge({ conversationId: branch.id, body: { conclusion: 'No' } })
  await conversations.at({ conversationId, version: 2 })
  await conversations.erase({ messageId })
  await conversations.complete({ conversationId })
  await conversations.reopen({ conversationId })
  await conversations.archive({ conversationId })
  await conversations.restore({ conversationId })
  const archive = String(await conversations.export({ conversationId: branch.id }))
  expect(archive).toContain('\n')
  const lines: string[] = []
  for await (const line of exportLines({ conversationId })) lines.push(line)
  await conversations.purge({ conversationId: branch.id, body: { confirm: branch.id } })
  expect((await conversations.restoreArchive({ body: { archive } })).id).toBe(branch.id)
  await conversations.purge({ conversationId: branch.id, body: { confirm: branch.id } })
  expect((await conversations.restore({ conversationId: branch.id })).id).toBe(branch.id)
}

async function past({ past }: Client, { sessionId, conversationId }: { sessionId: string; conversationId: string }) {
  const then = { conversationId, version: 6 }
  expect((await past.messages(then)).items.length).toBeGreaterThan(0)
  await past.session({ ...then, sessionId })
  const { items, next } = await past.replay({ conversationId, query: { limit: 3 } })
  expect([items.length, next]).toEqual([3, '4'])
  await past.request({ conversationId, version: 20, sessionId })
  await past.view({ ...then, body: { agent: 'dev', trigger: 'And now?' } })
}

async function teams({ teams, conversations }: Client, of: string): Promise<void> {
  const { id: conversationId } = await conversations.create({ body: { title: 'Team' } })
  const { id: messageId } = await conversations.say({ conversationId, body: { role: 'user', content: 'Plan it' } })
  const view = await teams.view({ conversationId, body: { agent: 'pm', trigger: { messageId } } })
  await teams.previewView({ conversationId, body: { agent: 'pm', trigger: 'Hello' } })
  await teams.acknowledge({ conversationId, body: { agent: 'pm', upTo: view.upTo } })
  const { fence } = await teams.claim({ conversationId, body: { agent: 'pm' } })
  await teams.renewClaim({ conversationId, body: { fence } })
  await teams.releaseClaim({ conversationId, body: { fence } })
  expect((await teams.phase({ conversationId })).phase).toBe('chat')
  await teams.transition({ conversationId, body: { to: 'plan', message: 'Enough talk', reason: 'It is clear' } })
  expect((await teams.phases({ conversationId })).items).toHaveLength(1)
  const route = { agents: ['dev'], reason: 'It is theirs', orchestrator: 'pm' }
  await teams.startTurn({ conversationId, body: route })
  await teams.completeTurn({ conversationId, body: { agent: 'dev', message: 'Done' } })
  await teams.startTurn({ conversationId, body: { ...route, agents: ['qa'] } })
  await teams.failTurn({ conversationId, body: { reason: 'No' } })
  await teams.startTurn({ conversationId, body: { ...route, agents: ['harness'] } })
  await teams.undoTurn({ conversationId })
  expect((await teams.turns({ conversationId })).items.length).toBeGreaterThan(1)
  await teams.routing({ conversationId })
  await teams.clearLoop({ conversationId })
  await teams.releaseRouting({ conversationId, body: { orchestrator: 'pm' } })
  const first = await teams.delegate({ conversationId, body: { from: 'pm', to: 'dev', task: 'The form' } })
  await teams.completeDelegation({ conversationId: first.conversationId, body: { result: 'There it is' } })
  const second = await teams.delegate({ conversationId, body: { from: 'pm', to: 'qa', task: 'Tests' } })
  await teams.abortDelegation({ conversationId, delegationId: second.id, body: { reason: 'Later' } })
  expect((await teams.delegations({ conversationId })).items).toHaveLength(2)
  await teams.recordReadFile({ conversationId, body: { agent: 'dev', path: 'notes.md' } })
  expect(await teams.readFiles({ conversationId })).toEqual({ dev: ['notes.md'] })
  expect((await teams.mayWrite({ conversationId, query: { agent: 'dev', path: 'notes.md' } })).may).toBe(true)
  const { executionId } = await teams.startExecution({ conversationId, body: { agent: 'dev' } })
  await teams.stopExecution({ conversationId, body: { agent: 'dev', executionId } })
  await teams.executionTime({ conversationId: of })
}

async function runs(client: Client, { sessionId, conversationId }: { sessionId: string; conversationId: string }) {
  const { runs } = client
  const live = client.live({ types: ['question.asked', 'run.ended'], from: 'start' })
  expect(await runs.start({ sessionId, body: { message: 'Paint it' } })).toMatchObject({ state: 'running' })
  await live.next()
  expect((await runs.list()).items).toHaveLength(1)
  const [question] = (await runs.questions()).items
  expect((await runs.allQuestions()).items).toEqual([question])
  await runs.answer({ questionId: question!.id, body: { answer: 'blue', conversationId } })
  await live.next()
  await live.return(undefined)
  const run = await runs.startAgent({ conversationId, query: { wait: true }, body: { agent: 'qa', message: 'Is it?' } })
  expect(run).toMatchObject({ state: 'ended', outcome: 'done', text: 'Blue it is.' })
  expect(await runs.stop({ sessionId })).toEqual({ stopped: false })
  expect((await runs.models()).items).toEqual([{ name: 'scripted:answers.jsonl' }])
}

async function projects({ projects }: Client): Promise<void> {
  expect((await projects.list()).items).toEqual([{ id: 'shop' }])
  expect((await projects.stats()).events).toBeGreaterThan(50)
  expect((await projects.totals()).project).toMatchObject({ calls: 2, cost: 0.02 })
  expect((await projects.audit({ query: { actor: 'pm' } })).items.length).toBeGreaterThanOrEqual(0)
  await projects.workItems()
  const item = { type: 'task', featureId: 'login', taskId: 'form' } as const
  expect((await projects.workItem({ query: item })).conversation).not.toBeNull()
  expect((await projects.search({ query: { text: 'paint' } })).messages).toHaveLength(1)
}

async function loom({ loom, sessions }: Client): Promise<void> {
  const { id } = await sessions.getOrCreate({ body: { type: 'bead', agentType: 'dev', beadId: 'b-1' } })
  await loom.list({ query: { project_id: 'shop' } })
  await loom.get({ id })
  await loom.ofBead({ id: 'b-1' })
  await loom.reset({ id, body: { keep_system_message: true } })
  await loom.delete({ id })
}
