/** A request sent with a provider's SDK, and its answer recorded. */
import assert from 'node:assert/strict'
import { openColloquy, requestFor } from 'colloquy'

/** Stands for `new Anthropic()` of @anthropic-ai/sdk here, so that the example runs without a key. */
const client = {
  messages: {
    create: async (call: { model: string; max_tokens: number; messages: unknown[] }) => ({
      model: call.model,
      content: [{ type: 'text', text: 'The form is left to do.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 60, output_tokens: 8 },
    }),
  },
}

const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop' })
// #region send
const session = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'dev', featureId: 'login' })
const question = await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'What is left to do?' })
const request = await colloquy.sessions.buildRequest(session.id, { messageId: question.id })

const response = await client.messages.create({
  model: 'claude-opus-4-8',
  max_tokens: 1024,
  ...requestFor(request, 'anthropic', { cache: true }), // system, messages, marks for the prompt cache
})
const [answer] = await colloquy.sessions.addResponse(session.id, 'anthropic', response)
console.log(`${answer?.author}: ${answer?.content} (${answer?.usage?.output} tokens)`)
// #endregion send

assert.equal(answer?.content, 'The form is left to do.')
assert.equal(requestFor(request, 'gemini').contents.at(-1)?.role, 'user')
await colloquy.close()
