/** Two agents on one task: each keeps its own window, both see what is said to everyone. */
import assert from 'node:assert/strict'
import { openColloquy } from 'colloquy'

const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop' })

// #region team
const task = { type: 'task', featureId: 'login', taskId: 'form' } as const
const dev = await colloquy.sessions.getOrCreateSession({ ...task, agentType: 'dev', taskState: 'in_dev' })
const qa = await colloquy.sessions.getOrCreateSession({ ...task, agentType: 'qa', taskState: 'in_qa' })

await colloquy.sessions.addMessage(dev.id, { role: 'assistant', content: 'The form is done.', iteration: 3 })
await colloquy.sessions.addMessage(qa.id, { role: 'assistant', content: 'The error text is missing.' })
await colloquy.conversations.addEvent(dev.conversationId, {
  role: 'user',
  author: 'owner',
  content: 'Ship it on Friday',
})

const forDev = await colloquy.sessions.getAllMessages(dev.id)
const forQa = await colloquy.sessions.getAllMessages(qa.id)
// #endregion team

assert.deepEqual(
  forDev.map(message => message.content),
  ['The form is done.', 'Ship it on Friday'],
)
assert.deepEqual(
  forQa.map(message => message.content),
  ['The error text is missing.', 'Ship it on Friday'],
)
console.log('dev sees:', forDev.map(message => `${message.author}: ${message.content}`).join(' | '))
console.log('qa sees: ', forQa.map(message => `${message.author}: ${message.content}`).join(' | '))
await colloquy.close()
