/** A feature planned into tasks, a task on its way, and beads; what can be done next, and what a session is told of it. */
import assert from 'node:assert/strict'
import { openColloquy } from 'colloquy'
import { MoveRefused, PlanRefused } from 'colloquy/errors'

const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop' })
const { work } = colloquy

// #region plan
await work.addFeature({ featureId: 'login', name: 'Login page', goal: 'People can log in' })
const graph = await work.planTasks('login', {
  add: [
    { taskId: 'api', title: 'Endpoints', description: 'POST /login gives a cookie' },
    { taskId: 'form', title: 'Login form', dependencies: ['api'] },
  ],
})
console.log(graph.summary) // 2 tasks: 2 planning. Ready: api. form waits for api.

const circle = { change: [{ taskId: 'api', dependencies: ['form'] }] }
await work.planTasks('login', circle).catch(error => {
  if (error instanceof PlanRefused) console.log(error.cycle) // [ 'api', 'form', 'api' ]
})
// #endregion plan

// #region move
await work.moveTask('login', 'api', 'in_dev')
const item = { type: 'task', featureId: 'login', taskId: 'api' } as const
const session = await work.sessionOf(item, 'dev') // the dev's session for the state the task is in
await colloquy.sessions.buildRequest(session.id, 'Begin')
const context = await colloquy.sessions.getContext(session.id)
console.log(context?.task?.state, context?.dagSummary) // in_dev, and the graph as it is now

await work.moveTask('login', 'api', 'merged').catch(error => {
  if (error instanceof MoveRefused) console.log(error.legal) // [ 'dev_complete', 'planning', 'failed', 'blocked' ]
})
// #endregion move

// #region beads
await work.addBead({ beadId: 'b-1', title: 'Parse replies that are not JSON', priority: 1 })
await work.addBead({ beadId: 'b-2', title: 'Ask once more', dependencies: ['b-1'], priority: 0 })
const ready = await work.ready()
console.log(ready.map(({ title, agent, state }) => `${agent}: ${title} (${state})`))
// #endregion beads

assert.equal(graph.summary, '2 tasks: 2 planning. Ready: api. form waits for api.')
assert.equal(context?.task?.state, 'in_dev')
assert.equal(context?.dagSummary, '2 tasks: 1 in_dev, 1 planning. form waits for api.')
assert.deepEqual(
  ready.map(({ title }) => title),
  ['Parse replies that are not JSON', 'Endpoints'],
)
await colloquy.close()
