/**
 * A node that holds a lease and writes under it until it is refused. Says each acknowledgement and, at the end, the code
 * of the refusal on descriptor 3.
 */
import { writeSync } from 'node:fs'
import { postgresStore } from 'colloquy/postgres'

const { store: url, project, lease: name, forMs } = JSON.parse(process.argv[2])
const store = await postgresStore(url, { clock: Date.now })
const say = what => writeSync(3, `${JSON.stringify(what)}\n`)
const { generation } = await store.claim({ project, name, holder: 'stopped', forMs })
for (let i = 0; ; i++) {
  const message = {
    type: 'message.added',
    messageId: `stopped ${i}`,
    role: 'user',
    author: 'user',
    audience: { to: 'everyone' },
    parts: [{ type: 'text', text: `stopped ${i}` }],
    tokens: { count: 1, by: 'test' },
  }
  try {
    const { events } = await store.append({
      project,
      conversation: { id: 'c' },
      expected: 'any',
      decide: () => [message],
      origin: { actor: 'stopped', channel: 'test' },
      fence: { name, generation },
    })
    say({ version: events[0].version })
  } catch (error) {
    say({ refused: error.code })
    break
  }
}
await store.close()
process.exit(0)
