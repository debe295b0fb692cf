/** Another process on the same store: says something in a conversation, and is gone. */
import { openColloquy } from 'colloquy'

const { store, conversationId, content, times = 1 } = JSON.parse(process.argv[2])
const colloquy = await openColloquy({ store, project: 'shop', tokens: 'fast', sweepEveryMs: null })
for (let n = 1; n <= times; n++) {
  await colloquy.conversations.addEvent(conversationId, {
    role: 'user',
    author: 'elsewhere',
    content: `${content} ${n}`,
  })
}
await colloquy.close()
