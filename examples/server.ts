/** A server over a store, and a program that talks to it: a session, a message, live events. */
import assert from 'node:assert/strict'
import { openColloquy } from 'colloquy'
import { connect } from 'colloquy/client'
import { scriptedModel } from 'colloquy/models/scripted'
import { createServer, listen, newToken } from 'colloquy/server'

const model = scriptedModel('Three tasks: form, session, tests.')

// #region serve
const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop', agents: { model } })
const token = newToken() // `colloquy serve` keeps it in a file next to the store
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

// #region run
const live = client.live({ session: session.id, deltas: true, from: 'start' })
await client.runs.start({ sessionId: session.id, body: { message: 'Go on', priority: 'person' } }) // answers at once
for await (const update of live) {
  if ('part' in update && update.part.type === 'text-delta') process.stdout.write(String(update.part.text))
  if ('event' in update && update.type === 'run.ended') break // events and words come in one stream
}
const [question] = (await client.runs.questions()).items // what agents wait to be told
if (question) await client.runs.answer({ questionId: question.id, body: { answer: 'yes' } })
// #endregion run

const { items } = await client.sessions.messages({ sessionId: session.id })
assert.deepEqual(
  items.map(({ content }) => content),
  ['Plan the login page', 'Go on', 'Three tasks: form, session, tests.'],
)
await running.stop()
await colloquy.close()
