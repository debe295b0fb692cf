/** One call of each method that no other example calls, for docs/api.md. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { openColloquy } from 'colloquy'
import { team } from 'colloquy/building'
import { scriptedModel } from 'colloquy/models/scripted'

const root = mkdtempSync(join(tmpdir(), 'colloquy-example-'))
const git = (...args: string[]) => execFileSync('git', args, { cwd: root })
git('init', '--quiet', '--initial-branch=main')
writeFileSync(join(root, 'form.ts'), 'export {}\n')
git('add', '--all')
git('-c', 'user.name=You', '-c', 'user.email=you@example.invalid', 'commit', '--quiet', '-m', 'first')

const colloquy = await openColloquy({
  store: `sqlite:${join(root, 'colloquy.db')}`,
  project: 'shop',
  root,
  agents: { models: { dev: scriptedModel(() => 'Done.', 'dev') } },
  requests: { budget: 4000 },
  work: { limits: { iterations: 1 } },
})
const { sessions, conversations, work, agents, dispatcher } = colloquy
const key = { type: 'feature', featureId: 'login', agentType: 'pm' } as const

// Sessions
const session = await sessions.createSession(key)
await sessions.addMessage(session.id, {
  role: 'user',
  content: 'We decided to use a session cookie for the login page.',
})
await sessions.addMessage(session.id, {
  role: 'assistant',
  content: 'Agreed: a session cookie. Next step: write the form.',
})
await discuss('the form')
const active = await sessions.getActiveSession(key)
const { items: allSessions } = await sessions.listSessions({ status: ['active'] })
const compacting = await sessions.getCompacting(session.conversationId)
const { states } = await sessions.getSessionLinks({ type: 'feature', featureId: 'login' })
const readable = await sessions.getRecentContext(session.id, 20)
const shownToPerson = await sessions.getUserFacingMessages(session.id, { limit: 50 })
await sessions.setMetadata(session.id, { colour: 'blue', old: null })
await sessions.setOutsideId(session.id, 'claude', '8f14e45f')
const { outcome } = await sessions.forceCompact(session.id)

const checkpoint = await sessions.getCheckpoint(session.id)
const [newest] = await sessions.getCheckpointHistory(session.id)
const itemId = checkpoint!.items[0]!.id
const checkpointItem = await sessions.getCheckpointItem(session.id, itemId)
const sources = await sessions.expand(session.id, itemId)
await discuss('the cookie')
await sessions.forceCompact(session.id)
const difference = await sessions.diffCheckpoints(session.id, 1, 2)
const description = await sessions.getAgentDescription(session.id)
const metrics = await sessions.getMetrics(session.id)
const recent = await sessions.getRecentMessages(session.id, 20)
await sessions.setRequestSettings(session.id, { budget: 8_000 })
await sessions.clearMessages(session.id)
await sessions.resetSession(session.id, { keepSystemMessage: false })
await sessions.archiveSession(session.id, 'paused')
await sessions.reopenSession(session.id)
await sessions.expireSession(session.id)
await sessions.deleteSession(session.id, 'a test')

// Conversations
const { id } = await conversations.createConversation({ title: 'Login page' })
const conversation = await conversations.getConversation(id)
const ofFeature = await conversations.findConversation({ type: 'feature', featureId: 'login' })
const message = await conversations.addEvent(id, { role: 'user', author: 'owner', content: 'Build the login page' })
const preview = await conversations.previewAgentMessages(id, 'dev', { trigger: { messageId: message.id } })
const { tokens } = await conversations.stats(id)
const { items: newestConversations } = await conversations.listConversations({ limit: 20 })
await conversations.pinMessage(message.id)
const pinned = await conversations.getMessage(message.id)
const claim = await conversations.claim(id, 'dev', { trigger: { messageId: message.id } })
const expiresAt = await conversations.renewClaim(claim.fence, 60_000)
await conversations.releaseClaim(claim.fence)
const lines: string[] = []
for await (const line of conversations.export(id)) lines.push(line)
await conversations.purge(id)
await conversations.restoreLines(Readable.from(lines))
await conversations.describe(id, { title: 'Sign-in page', metadata: { team: 'shop' } })
await conversations.complete(id, 'It is built')
await conversations.reopen(id, 'a defect')
await conversations.archive(id, 'done for now')
await conversations.restore(id)
for await (const { version, event } of conversations.replay(id, { from: 1 })) console.log(version, event.event.type)
const { archive } = await conversations.purge(id)
await conversations.restoreFrom(archive)

// Phases, turns, delegations, files
await conversations.transitionPhase(id, { to: 'plan' })
const phases = await conversations.getPhaseHistory(id, { limit: 10 })
await conversations.startOrchestratorTurn(id, { agents: ['dev'], reason: 'the plan stands' })
await conversations.failTurn(id, 'no answer')
await conversations.startOrchestratorTurn(id, { agents: ['qa'], reason: 'the form stands' })
await conversations.undoTurn(id, { reason: 'too early' })
await conversations.clearLoop(id, 'the instruction was wrong').catch(error => console.log(error.message))
const { items: turns } = await conversations.getTurns(id, { limit: 10 })
await conversations.releaseRouting(id)
const delegation = await conversations.delegate(id, { from: 'dev', to: 'a11y', task: 'Check the contrast' })
await conversations.abortDelegation(id, delegation.id, 'no browser')
const path = await conversations.recordReadFile(id, { agent: 'dev', path: 'form.ts' })
const readFiles = await conversations.getReadFiles(id)
const { may } = await conversations.mayWrite(id, 'dev', 'form.ts')
await conversations.startExecution(id, 'dev')
await conversations.stopExecution(id, { agent: 'dev' })
const time = await conversations.getExecutionTime(id)

// Work
await work.addFeature({ featureId: 'search', name: 'Search' })
await work.describeFeature('search', { goal: 'People find products' })
const feature = await work.getFeature('search')
const { items: features } = await work.listFeatures({ states: ['planning'] })
await work.planTasks('search', { add: [{ taskId: 'index', title: 'Index the products' }] })
await work.moveFeature('search', 'in_progress')
const graph = await work.graph('search')
const task = await work.getTask('search', 'index')
const planned = await work.listTasks('search', { states: ['planning'] })
await work.addBead({ beadId: 'b-1', title: 'Parse replies' })
await work.describeBead('b-1', { priority: 1 })
const { items: beads } = await work.listBeads({ states: ['open'] })
await work.moveBead('b-1', 'in_progress')
const item = { type: 'task', featureId: 'search', taskId: 'index' } as const
const { work: state } = await work.stateOf(item)
await work.recordWorktree(item, { path: '.colloquy/worktrees/search', branch: 'colloquy/search' })
await work.recordAttempt(item, { outcome: 'failed', reason: 'no network' })
await work.report(item, { summary: 'The index is written' })
await work.forgetWorktree(item, 'merged')

// Agents
const running = await agents.running()
const isCancelled = await agents.cancel(session.id)
const models = agents.configuredModels()
const model = await agents.model('dev')
const live = agents.live()
const started = await agents.start({ conversationId: id, agent: 'dev' }, { message: 'Begin' })
await live.next()
await live.return?.()
const question = await agents.question(id, 'call-1').catch(() => 'There is no such question.')
const dispatches = await dispatcher.running()
const dispatchers = dispatcher.status()
const stoppedDispatchers = await dispatcher.stop()
const loop = await team(colloquy).ralph({ featureId: 'search', taskId: 'index' }, { limits: { iterations: 1 } })

await team(colloquy).stop('search', 'lunch')

// The project
const listener = colloquy.onRecorded(recorded => console.log(recorded.length))
listener()
const { events } = await colloquy.stats()
const totals = await colloquy.totals({ limit: 10 })
const { items: writes } = await colloquy.audit({ limit: 10 })
const queues = colloquy.queues()
await colloquy.orchestrate(id).catch(error => console.log(error.code))
const swept = await colloquy.maintain()
const report = await colloquy.repair()
const owner = colloquy.as({ actor: 'owner' })
const projects = await owner.projects()

assert.deepEqual([recent.length, newestConversations.length, pinned.id], [20, 2, message.id])
assert.ok(expiresAt && started && question && dispatchers.length === 0 && stoppedDispatchers === 0)
assert.ok(events > 0 && totals && writes.length > 0 && queues && swept && report && projects.length === 1)
console.log(outcome, model.name, loop.outcome)
assert.equal(active?.id, session.id)
assert.deepEqual([allSessions.length, compacting, readable.length, shownToPerson.length], [1, [], 20, 32])
assert.deepEqual(Object.values(states), [[session.id]])
assert.deepEqual([newest?.number, checkpointItem.item.id, sources.length > 0], [checkpoint?.number, itemId, true])
assert.ok(difference && description && metrics && preview && tokens > 0 && time)
assert.deepEqual([conversation.id, ofFeature?.id], [id, session.conversationId])
assert.deepEqual([phases.items.length, turns.length, path, may], [1, 2, 'form.ts', true])
assert.ok(readFiles)
assert.deepEqual([feature.featureId, features.length, graph.tasks.length, task.taskId], ['search', 1, 1, 'index'])
assert.deepEqual([planned.length, beads.length, state], [1, 1, undefined])
assert.deepEqual([running, isCancelled, models, dispatches], [[], false, [], []])
await colloquy.close()
rmSync(root, { recursive: true })

/** Messages that a compaction has something to do with. */
async function discuss(subject: string): Promise<void> {
  for (let turn = 1; turn <= 30; turn++) {
    const content = `We decided point ${turn} of ${subject}. `.repeat(20)
    await sessions.addMessage(session.id, { role: 'user', content })
  }
}
