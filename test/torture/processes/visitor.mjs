/** Opens a store, reads it, adds a message, and prints how each of these ended. Runs as a chosen user. */
import { writeSync } from 'node:fs'
import { ColloquyError, openColloquy } from 'colloquy'

const { store, project, readOnly = false } = JSON.parse(process.argv[2])
const say = what => writeSync(3, `${JSON.stringify(what)}\n`)

async function attempt(step, work) {
  try {
    const value = await work()
    say({ step, outcome: 'done' })
    return value
  } catch (error) {
    const code = error instanceof ColloquyError ? error.code : `untyped: ${error?.stack ?? error}`
    say({ step, outcome: 'refused', code, words: String(error?.message) })
    return undefined
  }
}

const colloquy = await attempt('open', () =>
  openColloquy({ store, project, readOnly, tokens: 'fast', sweepEveryMs: null }),
)
if (colloquy) {
  const listed = await attempt('list', () => colloquy.sessions.listSessions())
  const sessionId = listed?.items[0]?.id
  if (sessionId) {
    const messages = await attempt('read', () => colloquy.sessions.getAllMessages(sessionId))
    say({ step: 'count', outcome: String(messages?.length) })
    await attempt('append', () => colloquy.sessions.addMessage(sessionId, { role: 'user', content: 'one more' }))
  }
  const search = await attempt('search', () => colloquy.conversations.search({ text: 'two' }))
  if (search) say({ step: 'found', outcome: String(search.messages.length) })
  await attempt('verify', () => colloquy.verify())
  await attempt('close', () => colloquy.close())
}
