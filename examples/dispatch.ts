/** Beads given to agents: one is done, one is parked and cleared by a person. And an orchestrator that routes. */
import assert from 'node:assert/strict'
import { openColloquy } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'

let isKeySet = false
const model = scriptedModel(({ messages }) => {
  const isAboutKey = JSON.stringify(messages).includes('Bead key:')
  if (isAboutKey && !isKeySet) return { calls: [{ name: 'park', input: { reason: 'Which key?' } }] }
  return { calls: [{ name: 'complete', input: { summary: 'Built and tested' } }] }
})
const lines: string[] = []

// #region dispatch
const colloquy = await openColloquy({
  store: 'sqlite::memory:', // on postgres:// many processes share the queue
  project: 'shop',
  agents: { model },
  dispatch: { concurrency: 2, perModel: { 'anthropic:claude-opus-4-7': 4 }, guards: { hopLimit: 10 } },
})
await colloquy.work.addBead({ beadId: 'form', title: 'The form', priority: 1 })
await colloquy.work.addBead({ beadId: 'key', title: 'Sign the cookie' })
await colloquy.work.addBead({ beadId: 'tests', title: 'Test the cookie', dependencies: ['key'] })

const dispatcher = colloquy.dispatcher.start({
  once: true, // ends when there is nothing left to do; without it, when it is stopped
  onUpdate: update => lines.push(`${update.type} ${update.title}`),
})
const counts = await dispatcher.over
for (const { title, reason } of await colloquy.dispatcher.parked()) console.log(`${title}: ${reason}`)
// Sign the cookie: Which key?
// Test the cookie: it waits for bead key (Sign the cookie), which is parked
// #endregion dispatch
const parked = await colloquy.dispatcher.parked()
isKeySet = true

// #region clear
await colloquy.dispatcher.clear({ type: 'bead', beadId: 'key' }, 'it is in the vault now')
const again = await colloquy.dispatcher.once()
// #endregion clear

assert.deepEqual([counts.started, counts.done, parked.length], [2, 1, 2])
assert.deepEqual([again.started, again.done], [2, 2])
assert.ok(lines.includes('ended The form'))
assert.equal((await colloquy.work.getBead('tests')).state, 'done')
await colloquy.close()

const router = scriptedModel([
  '{"agents":["dev","qa"],"phase":"execute","reason":"the plan stands","instruction":"Build it; write its tests"}',
  '{"agents":["END"],"reason":"built and tested"}',
])
const agent = scriptedModel('My part is done.')

// #region orchestrate
const team = await openColloquy({
  store: 'sqlite::memory:',
  project: 'shop',
  agents: {
    model: agent,
    models: { orchestrator: router },
    orchestrator: { agents: { dev: 'writes code', qa: 'tests it' } },
    // With autorun: true, defaultAgent: 'orchestrator' this happens to every message that names no agent.
  },
})
const { id } = await team.conversations.createConversation({ title: 'Login page' })
const routed = await team.orchestrate(id, {
  message: 'Build the login page',
  onTurn: ({ agents, reason }) => console.log(`→ ${agents.join(', ')}: ${reason}`), // → dev, qa: the plan stands
})
console.log(routed.outcome, routed.turns, routed.reason) // ended 1 built and tested
// #endregion orchestrate

assert.deepEqual([routed.outcome, routed.turns, routed.reason], ['ended', 1, 'built and tested'])
await team.close()
