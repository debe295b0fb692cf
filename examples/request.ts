/** A request inside its budget, with an account of every part; older messages become a checkpoint. */
import assert from 'node:assert/strict'
import { openColloquy } from 'colloquy'

// #region request
const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop', requests: { budget: 4000 } })
const session = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'dev', featureId: 'login' })

for (let turn = 1; turn <= 60; turn++) {
  const about = `about src/form-${turn}.ts `.repeat(8)
  await colloquy.sessions.addMessage(session.id, { role: 'user', content: `Question ${turn} ${about}` })
  await colloquy.sessions.addMessage(session.id, { role: 'assistant', content: `Answer ${turn} ${about}` })
}

const request = await colloquy.sessions.buildRequest(session.id, 'What is left to do?')
console.log(`${request.totalTokens} of ${request.budget} tokens, checkpoint ${request.checkpoint}`)
for (const { what, fate, tokens, why } of request.ledger.entries.slice(0, 3)) {
  console.log(`  ${what}: ${fate}, ${tokens} tokens (${why})`)
}
// #endregion request

// #region describe
await colloquy.sessions.setAgentDescription(session.id, {
  agentType: 'dev',
  role: 'You write TypeScript for a shop.',
  instructions: ['Answer in one sentence.'],
  allowedTools: [], // names of the tools that you offer it
})
await colloquy.sessions.updateContext(session.id, { root: process.cwd() }) // folders, CLAUDE.md and the like, commits
const preview = await colloquy.sessions.previewRequest(session.id, 'What is left to do?')
console.log(preview.system.split('\n')[0]) // You write TypeScript for a shop.
// #endregion describe

assert.match(preview.system, /^You write TypeScript for a shop\./)
assert.ok(preview.totalTokens <= preview.budget)
assert.ok(request.totalTokens <= request.budget)
assert.equal(request.checkpoint, 1)
assert.equal(request.omitted, 0)
await colloquy.close()
