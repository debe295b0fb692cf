/** The first thing to try: a PM agent's session, two messages, and the log that was written. */
import { openColloquy } from 'colloquy'

// #region first
const colloquy = await openColloquy({ store: process.env.COLLOQUY_STORE ?? 'sqlite::memory:', project: 'shop' })

const session = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'pm', featureId: 'login' })
await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'Plan the login page' })
await colloquy.sessions.addMessage(session.id, { role: 'assistant', content: 'Three tasks: form, session, tests.' })

for (const message of await colloquy.sessions.getRecentContext(session.id)) {
  console.log(`${message.author}: ${message.content}`)
}
// #endregion first

console.log('\nThe log it wrote:')
for (const recorded of await colloquy.conversations.getEvents(session.conversationId)) {
  console.log(
    `  ${recorded.version}  ${recorded.event.type.padEnd(20)} by ${recorded.actor}, hash ${recorded.hash.slice(0, 12)}…`,
  )
}
const { clean, events } = await colloquy.verify()
console.log(`${events} events, ${clean ? 'every hash checks out' : 'damaged'}.`)

await colloquy.close()
