/** `speak.mjs PATH TEXT…`: says the texts in a conversation, searches, and prints the positions of what it wrote. */
import { sqliteStore } from 'colloquy/sqlite'

const [path, ...texts] = process.argv.slice(2)
const store = await sqliteStore(path, { clock: Date.now })
const messages = texts.map(text => ({
  type: 'message.added',
  messageId: text,
  role: 'user',
  author: 'user',
  audience: { to: 'everyone' },
  parts: [{ type: 'text', text }],
  tokens: { count: 1, by: 'test' },
}))
const begun = { type: 'conversation.created', title: 'T', workItem: { type: 'thread', threadId: 't' } }
const { events } = await store.append({
  project: 'shop',
  conversation: { id: 'c' },
  expected: 'any',
  decide: heads => (heads.conversation ? messages : [begun, ...messages]),
  origin: { actor: 'holder', channel: 'test' },
})
await store.search({ project: 'shop', text: texts[0] })
console.log(JSON.stringify(events.map(event => event.position)))
await store.close()
