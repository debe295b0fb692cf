/** A message refers to an article: a resolver gives its content, the agent is sent it, the log keeps it. */
import assert from 'node:assert/strict'
import { openColloquy, type ReferenceResolver } from 'colloquy'

const articles = new Map([
  ['npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6', 'Labels go above the fields.'],
])

// #region references
const relay: ReferenceResolver = {
  kinds: ['nostr'],
  async resolve({ target }, { signal }) {
    signal.throwIfAborted()
    const text = articles.get(target)
    return text === undefined ? undefined : { text, source: 'wss://relay.example', title: 'On forms' }
  },
}
const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop', resolvers: [relay] })
const { id } = await colloquy.conversations.createConversation({ title: 'Login page' })
const ask = await colloquy.conversations.addEvent(id, {
  role: 'user',
  content: 'Like nostr:npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6 says, and file:gone.md',
})
const view = await colloquy.conversations.buildAgentMessages(id, 'dev', { trigger: { messageId: ask.id } })
console.log(view.messages[0]?.content[0]) // what the reference says, in a fence, before the message
console.log(view.unresolved) // file:gone.md: it was not found
// #endregion references

assert.match(JSON.stringify(view.messages), /Labels go above the fields/)
assert.equal(view.unresolved.length, 1)
await colloquy.close()
