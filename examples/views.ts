/** Three agents on one conversation: each one's view, what it missed, and a branch that tries another way. */
import assert from 'node:assert/strict'
import { openColloquy } from 'colloquy'
import { AlreadyAnswered } from 'colloquy/errors'

const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop' })
const { conversations, sessions } = colloquy
const { id } = await conversations.createConversation({
  title: 'Login page',
  initial: { role: 'user', author: 'owner', content: 'Build the login page' },
})
await conversations.addEvent(id, { role: 'assistant', author: 'dev', content: 'The form is built.' })
await conversations.acknowledge(id, 'dev', 3)

// #region view
await conversations.addEvent(id, { role: 'assistant', author: 'qa', content: 'The error text is missing.' })
const ask = await conversations.addEvent(id, { role: 'user', author: 'owner', content: 'Dev, please fix it' })

const view = await conversations.buildAgentMessages(id, 'dev', { trigger: { messageId: ask.id } })
console.log(view.catchUp) // { since: 3, messages: 1, omitted: 0 }: what qa said stands in a block of its own
// send view.system and view.messages; when the agent has taken them in:
await conversations.acknowledge(id, 'dev', view.upTo)
// #endregion view

// #region claim
const question = await conversations.addEvent(id, { role: 'user', author: 'owner', content: 'Is it fixed?' })
const trigger = { messageId: question.id }
const claim = await conversations.claim(id, 'dev', { trigger }) // a second run is refused: LeaseHeld
const { upTo } = await conversations.buildAgentMessages(id, 'dev', { trigger })
await sessions.addMessage(claim.sessionId, { role: 'assistant', content: 'It is.' }, { fence: claim.fence })
await conversations.acknowledge(id, 'dev', upTo, { fence: claim.fence })
await claim.release()

const again = await conversations.claim(id, 'dev', { trigger }).catch(error => error)
console.log(again instanceof AlreadyAnswered) // true: it is not answered twice
// #endregion claim

// #region branch
const then = await conversations.at(id, ask.version) // state, sessions, messages and views as they were
console.log(then.conversation.phase, (await then.messages()).length)

const branch = await conversations.branch(id, ask.version, { title: 'With a toast' })
await conversations.addEvent(branch.id, { role: 'assistant', author: 'dev', content: 'A toast is better.' })
const { common, left, right } = await conversations.compare(id, branch.id)
console.log(`the same up to ${common.version}; since then ${left.messages} and ${right.messages} messages`)
await conversations.merge(branch.id) // its conclusion, as a message that says where it comes from
// #endregion branch

const last = (await conversations.getMessages(id)).at(-1)
assert.deepEqual(view.catchUp, { since: 3, messages: 1, omitted: 0 })
assert.ok(again instanceof AlreadyAnswered)
assert.equal((await then.messages()).length, 4)
assert.equal(common.version, ask.version)
assert.equal(right.messages, 1)
assert.equal(last?.content, 'A toast is better.')
await colloquy.close()
