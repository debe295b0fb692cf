/** A server over a store, and a program that talks to it: a session, a message, live events. */
import assert from 'node:assert/strict'
import { openColloquy } from 'colloquy'
import { connect } from 'colloquy/client'
import { createServer, listen, newToken } from 'colloquy/server'

// #region serve
const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop' })
const token = newToken() // `colloquy serve` keeps it in a file beside the store
const server = createServer({ colloquy, owner: { token, name: 'owner' } })
const running = await listen(server, { port: 0, token })
// #endregion serve

// #region client
const client = connect({ url: running.url, token, project: 'shop' })
const session = await client.sessions.getOrCreate({ body: { type: 'feature', agentType: 'pm', featureId: 'login' } })
await client.sessions.addMessage({ sessionId: session.id, body: { role: 'user', content: 'Plan the login page' } })

for await (const event of client.live({ from: 'start', session: session.id })) {
  console.log(event.name, event.action, event.position) // keep the position: from: position goes on there
  if (event.action === 'message_added') break
}
// #endregion client

const { items } = await client.sessions.messages({ sessionId: session.id })
assert.deepEqual(
  items.map(({ content }) => content),
  ['Plan the login page'],
)
await running.stop()
await colloquy.close()
