/** A write that is safe to repeat, and one that refuses to overwrite what it has not seen. */
import assert from 'node:assert/strict'
import { openColloquy } from 'colloquy'
import { VersionConflict } from 'colloquy/errors'

const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop' })
const session = await colloquy.sessions.getOrCreateSession({ type: 'bead', agentType: 'worker', beadId: 'loom-42' })

// #region once
const message = { role: 'user', content: 'Continue the investigation' } as const
const first = await colloquy.sessions.addMessage(session.id, message, { idempotencyKey: 'dispatch-7' })
const again = await colloquy.sessions.addMessage(session.id, message, { idempotencyKey: 'dispatch-7' })
console.log(first.id === again.id) // true: it was recorded once

try {
  await colloquy.sessions.addMessage(session.id, message, { expectedVersion: first.version - 1 })
} catch (error) {
  if (!(error instanceof VersionConflict)) throw error
  console.log(error.message) // says where the log is; nothing was written
}
// #endregion once

assert.equal(first.id, again.id)
assert.equal((await colloquy.sessions.getSession(session.id)).stats.messages, 1)
await colloquy.close()
