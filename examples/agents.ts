/** Agents that answer: a run with tools, live words, a question for a person, and what the log keeps of it. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openColloquy, tool } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { z } from 'zod'

const root = mkdtempSync(join(tmpdir(), 'colloquy-example-'))
writeFileSync(join(root, 'page.ts'), 'export const colour = "red"\n')
const model = scriptedModel([
  { text: 'I look at the page.', calls: [{ name: 'read_file', input: { path: 'page.ts' } }] },
  { calls: [{ name: 'edit_file', input: { path: 'page.ts', old: 'red', new: 'blue' } }] },
  { text: 'The page is blue now.', usage: { input: 1_200, output: 12, cost: 0.004 } },
])

// #region run
const colloquy = await openColloquy({
  store: 'sqlite::memory:',
  project: 'shop',
  root, // the work tree: tools leave it by no path and no link
  agents: { model, commands: { dev: ['npm test', 'npx vitest'] } }, // or model: 'anthropic:claude-opus-4-7'
})
const session = await colloquy.sessions.getOrCreateSession({
  type: 'task',
  agentType: 'dev',
  featureId: 'login',
  taskId: 'colour',
})

const result = await colloquy.agents.run(session.id, {
  message: 'Make the page blue', // stored before anything else happens
  priority: 'person',
  onPart: part => {
    if (part.type === 'text-delta') process.stdout.write(part.text)
    if (part.type === 'tool-start') console.log(`\n[${part.name}]`)
  },
})
console.log(result.outcome, result.steps, result.toolCalls, result.usage.cost) // done 3 2 0.004
// #endregion run

assert.equal(result.outcome, 'done')
assert.equal(result.toolCalls, 2)

// #region tool
const weather = tool({
  name: 'weather',
  description: 'The weather at a place.',
  input: z.strictObject({ place: z.string() }),
  run: async ({ place }, { signal }) => `Sunny in ${place}${signal.aborted ? ', or so' : ''}`,
})
const weatherRun = await colloquy.agents.run(session.id, {
  message: 'How is the weather in Lisbon?',
  model: scriptedModel([{ calls: [{ name: 'weather', input: { place: 'Lisbon' } }] }, 'Sunny.']),
  tools: [weather],
})
// #endregion tool

assert.equal(weatherRun.text, 'Sunny.')

// #region question
const running = colloquy.agents.run(session.id, {
  message: 'Which blue?',
  model: scriptedModel([{ calls: [{ name: 'ask', input: { question: 'Light or dark?' } }] }, 'Dark it is.']),
  onPart: async part => {
    if (part.type !== 'question') return
    const [question] = await colloquy.agents.questions() // or `colloquy answer` in another terminal
    await colloquy.agents.answer(question!.id, 'dark')
  },
})
console.log((await running).text) // Dark it is.
// #endregion question

assert.equal((await running).outcome, 'done')

// #region stop
const stop = new AbortController()
const stopped = await colloquy.agents.run(session.id, {
  message: 'Count to six',
  model: scriptedModel('one two three four five six'),
  signal: stop.signal,
  onPart: part => part.type === 'text-delta' && part.text.includes('three') && stop.abort(),
})
console.log(stopped.outcome, stopped.text) // cancelled one two three
// #endregion stop

assert.equal(stopped.text, 'one two three')
await colloquy.close()
rmSync(root, { recursive: true })
