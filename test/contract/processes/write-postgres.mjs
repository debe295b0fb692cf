/** `write-postgres.mjs URL NAME COUNT`: writes so many messages, and each time one under a key that all writers share. */
import { postgresStore } from 'colloquy/postgres'

const [url, name, count] = process.argv.slice(2)
const store = await postgresStore(url, { clock: Date.now })
for (let i = 0; i < Number(count); i++) {
  const message = {
    type: 'message.added',
    messageId: `${name} ${i}`,
    role: 'user',
    author: 'user',
    audience: { to: 'everyone' },
    parts: [{ type: 'text', text: `${name} ${i}` }],
    tokens: { count: 1, by: 'test' },
  }
  const proposal = {
    project: 'shop',
    conversation: { id: 'c' },
    expected: 'any',
    decide: () => [message],
    origin: { actor: name, channel: 'test' },
  }
  await store.append(proposal)
  await store.append({ ...proposal, once: { key: `shared ${i}`, digest: 'same' } })
  console.log(i)
}
await store.close()
