/** The first thing to try: two agents on one conversation, and the request for the one that was away. */
import assert from 'node:assert/strict'
// #region first
import { openColloquy } from 'colloquy'

// Without `store` it is a file: .colloquy/colloquy.db in your project.
const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop', requests: { budget: 4000 } })
const { conversations } = colloquy

const { id } = await conversations.createConversation({ title: 'Login page' })
await conversations.addEvent(id, { role: 'user', author: 'anna', content: 'Build the login page' })
const done = await conversations.addEvent(id, { role: 'assistant', author: 'dev', content: 'The form is built.' })
await conversations.acknowledge(id, 'dev', done.version) // dev has read this far, and goes away

for (let number = 1; number <= 60; number++) {
  const content = `Test ${number} failed: with a wrong password the form says nothing.`
  await conversations.addEvent(id, { role: 'assistant', author: 'qa', content })
}
const ask = await conversations.addEvent(id, { role: 'user', author: 'anna', content: 'Dev, what is left to do?' })

const request = await conversations.buildAgentMessages(id, 'dev', { trigger: { messageId: ask.id } })
console.log(request.catchUp) // { since: 3, messages: 20, omitted: 40 }: the newest 20 fit, 40 are counted
console.log(`${request.totalTokens} of ${request.budget} tokens`)
// Send request.system and request.messages to dev's model. When it has read them:
await conversations.acknowledge(id, 'dev', request.upTo)
// #endregion first

console.log('\nThe log it wrote ends with:')
const log = await conversations.getEvents(id)
for (const { version, event, actor, hash } of log.slice(-4)) {
  console.log(`  ${version}  ${event.type.padEnd(20)} by ${actor}, hash ${hash.slice(0, 12)}…`)
}
const { clean, events } = await colloquy.verify()
console.log(`${events} events, ${clean ? 'every hash is right' : 'damaged'}.`)

assert.equal(request.catchUp?.since, done.version)
assert.equal(request.catchUp.messages, 20)
assert.equal(request.catchUp.omitted, 40)
assert.ok(request.totalTokens <= request.budget)
assert.equal(clean, true)
await colloquy.close()
