/** Following a project: every update once, in order, and going on where one stopped. */
import assert from 'node:assert/strict'
import { openColloquy } from 'colloquy'

const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop' })
const seen: string[] = []
let position = 'start'

// #region follow
const session = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: 'release' })
await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'When do we ship?' })

for await (const update of colloquy.subscribe({ from: position, name: 'session:updated' })) {
  seen.push(update.action)
  position = update.position // keep it: a later subscription goes on from here
  if (update.action === 'message_added') break
}
// #endregion follow

await colloquy.sessions.archiveSession(session.id)
for await (const update of colloquy.subscribe({ from: position })) {
  seen.push(update.action)
  break
}
console.log(seen.join(', '))
assert.deepEqual(seen, ['created', 'message_added', 'archived'])
await colloquy.close()
