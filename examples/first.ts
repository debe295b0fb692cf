/** The first thing to try: a PM agent's session, two messages, and the log that was written. */
import assert from 'node:assert/strict'
// #region first
import { openColloquy } from 'colloquy'

// Without a store it is a file, .colloquy/colloquy.db in your project.
const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop' })

const session = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'pm', featureId: 'login' })
await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'Plan the login page' })
await colloquy.sessions.addMessage(session.id, { role: 'assistant', content: 'Three tasks: form, session, tests.' })

for (const message of await colloquy.sessions.getRecentContext(session.id)) {
  console.log(`${message.author}: ${message.content}`)
}
// #endregion first

console.log('\nThe log it wrote:')
const log = await colloquy.conversations.getEvents(session.conversationId)
for (const { version, event, actor, hash } of log) {
  console.log(`  ${version}  ${event.type.padEnd(20)} by ${actor}, hash ${hash.slice(0, 12)}…`)
}
const { clean, events } = await colloquy.verify()
console.log(`${events} events, ${clean ? 'every hash checks out' : 'damaged'}.`)

assert.deepEqual(
  log.map(({ event }) => event.type),
  ['conversation.created', 'session.created', 'message.added', 'message.added'],
)
assert.equal(clean, true)
await colloquy.close()
