/** `take-turns.mjs PATH MESSAGES`: says so many, for everyone and for one session in turn, so in two lanes. */
import { sqliteStore } from 'colloquy/sqlite'

const [path, messages] = process.argv.slice(2)
const store = await sqliteStore(path, { clock: Date.now })
for (let number = 0; number < Number(messages); number++) {
  const audience = number % 2 === 0 ? { to: 'everyone' } : { to: 'session', sessionId: 's' }
  const parts = [{ type: 'text', text: `number ${number}` }]
  const tokens = { count: 1, by: 'test' }
  const said = { type: 'message.added', messageId: `m${number}`, role: 'user', author: 'user', audience, parts, tokens }
  await store.append({
    project: 'shop',
    conversation: { id: 'c' },
    expected: 'any',
    decide: () => [said],
    origin: { actor: 'holder', channel: 'test' },
  })
}
await store.close()
