/** Models: opened by name, asked with a request of Colloquy, shown live and kept; failures are data. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openColloquy } from 'colloquy'
import { ModelKeyMissing } from 'colloquy/errors'
import { answerCollector, answerOf, callLimiter, limited, openModel, priced, retrying } from 'colloquy/models'
import { scriptedModel } from 'colloquy/models/scripted'

const folder = mkdtempSync(join(tmpdir(), 'colloquy-example-'))
const script = join(folder, 'demo.jsonl')
writeFileSync(script, '{"reasoning": "A small page.", "text": "Three tasks: form, session, tests."}\n')

const colloquy = await openColloquy({ store: 'sqlite::memory:', project: 'shop' })
const session = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'pm', featureId: 'login' })

// #region turn
const model = await openModel(`scripted:${script}`) // or 'anthropic:claude-opus-4-7', 'ollama:qwen3', 'command:claude -p'

const { id } = await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'Plan the login page' })
const { system, messages } = await colloquy.sessions.buildRequest(session.id, 'Plan the login page')
const cache = { stableMessages: messages.length - 1 } // all but the newest message come again next time

const collector = answerCollector()
for await (const part of model.stream({ system, messages, cache, priority: 'person' })) {
  collector.add(part)
  if (part.type === 'text-delta') process.stdout.write(part.text)
}
const answer = collector.answer()
if (!answer.ok) console.log(`${answer.failure.kind}: ${answer.failure.message}`) // answer.content has what came before
await colloquy.sessions.addMessage(session.id, { role: 'assistant', content: answer.text, replyTo: id })
// #endregion turn

assert.equal(answer.text, 'Three tasks: form, session, tests.')
assert.equal((await colloquy.sessions.getAllMessages(session.id)).length, 2)

// #region key
try {
  await openModel('openai:gpt-5', { environment: {} })
} catch (error) {
  if (!(error instanceof ModelKeyMissing)) throw error
  console.log(error.variable) // OPENAI_API_KEY: the message says to set it
}
// #endregion key

// #region wrap
const busyOnce = scriptedModel([
  { failure: { kind: 'overloaded' } },
  { text: 'Done.', usage: { input: 900, output: 100, cacheRead: 9_000 } },
])
const own = priced(retrying(limited(busyOnce, callLimiter(2)), { firstWaitMs: 5 }), {
  scripted: { input: 3, output: 15, cacheRead: 0.3 },
})
const done = await answerOf(own, { system: '', messages })
if (done.ok) console.log(done.text, done.usage?.cost) // Done. 0.0069
// #endregion wrap

assert.ok(done.ok)
assert.equal(done.usage?.cost?.toFixed(4), '0.0069')

// #region compaction
const summarising = await openColloquy({ store: 'sqlite::memory:', project: 'shop', model: `scripted:${script}` })
// #endregion compaction

await summarising.close()
await colloquy.close()
rmSync(folder, { recursive: true })
