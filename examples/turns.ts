/** An orchestrator routes to two agents, one of which hands work on; phases and a hand-over on the way. */
import assert from 'node:assert/strict'
import { openColloquy } from 'colloquy'

const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop' })
const { conversations } = colloquy
const { id } = await conversations.createConversation({
  title: 'Login page',
  initial: { role: 'user', author: 'owner', content: 'Build the login page' },
})

// #region phases
await conversations.transitionPhase(id, {
  to: 'plan',
  expectedPhase: 'chat', // refused if another caller moved it meanwhile
  reason: 'the request is clear',
  summary: 'One page, two fields, no sign-up',
  agent: 'pm',
})
const { phase, legal, summary } = await conversations.getPhase(id)
console.log(`${phase}, may go to ${legal.join(', ')}; handed over: ${summary}`)
// #endregion phases

// #region turns
await conversations.startOrchestratorTurn(id, {
  agents: ['dev', 'qa'],
  phase: 'execute', // moves there in the same write
  reason: 'the plan stands',
  instruction: 'Build the form; write its tests',
})
await conversations.addCompletionToTurn(id, { agent: 'dev', message: 'The form is done' })
// an agent's own `complete` call is its completion, too
await conversations.addEvent(id, {
  role: 'assistant',
  author: 'qa',
  parts: [{ type: 'tool-call', callId: 'call-1', name: 'complete', input: { response: 'Four tests pass' } }],
})
const { user_request, routing_history, current_routing } = await conversations.buildOrchestratorRoutingContext(id)
console.log(user_request, routing_history[0]?.completions, current_routing)
// #endregion turns

// #region delegation
const delegation = await conversations.delegate(id, { from: 'qa', to: 'a11y', task: 'Check the contrast of the form' })
// … in delegation.conversationId, a conversation of its own …
await conversations.completeDelegation(delegation.conversationId, { result: 'Contrast is 7:1' })
const [returned] = await conversations.getDelegations(id)
console.log(`${returned?.to}: ${returned?.status}, ${returned?.result}`)
// #endregion delegation

assert.deepEqual(legal, ['chat', 'brainstorm', 'execute'])
assert.equal(user_request, 'Build the login page')
assert.deepEqual(
  routing_history[0]?.completions.map(({ agent, message }) => `${agent}: ${message}`),
  ['dev: The form is done', 'qa: Four tests pass'],
)
assert.equal(current_routing, null)
assert.equal(returned?.result, 'Contrast is 7:1')
await colloquy.close()
