/**
 * A chat of so many turns with tool calls, in a process that may be killed anywhere: started again it goes on with the
 * turn that is not answered yet. Every request is written to a file as it is sent, with what it may take.
 *
 * Plain JavaScript on the built package, so that it starts quickly.
 */
import { appendFileSync } from 'node:fs'
import { openColloquy } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'

const { store, root, turns, budget, requests, leaseMs } = JSON.parse(process.argv[2])
const colloquy = await openColloquy({
  store,
  root,
  project: 'shop',
  tokens: 'fast',
  sweepEveryMs: null,
  requests: { budget },
  agents: { leaseMs },
})
const session = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'dev', featureId: 'login' })

/** Answers each turn after one or two calls, by what the request ends with. */
const model = scriptedModel(request => {
  const { system, messages, tools } = request
  // On a line of its own although the one before was cut in two, and with an end that a cut one does not have.
  appendFileSync(requests, `\n${JSON.stringify({ system, messages, tools })} end\n`)
  const last = messages.at(-1).content
  const asked = messages
    .flatMap(message => message.content)
    .flatMap(part => (part.type === 'text' ? [...part.text.matchAll(/Turn (\d+):/g)] : []))
    .map(([, number]) => Number(number))
  const turn = Math.max(...asked)
  const results = last.filter(part => part.type === 'tool-result')
  const usage = { input: Math.ceil(JSON.stringify([system, messages]).length / 4), output: 40 }
  if (results.length === 0) {
    const calls = [{ name: 'list_files', input: {}, callId: `turn-${turn}-list` }]
    if (turn % 3 === 0) calls.push({ name: 'read_file', input: { path: 'page.ts' }, callId: `turn-${turn}-read` })
    return { text: `Looking into turn ${turn}.`, calls, usage }
  }
  return { text: `Answer to turn ${turn}: decided that part ${turn} is done. ${'So it goes. '.repeat(20)}`, usage }
})

for (let turn = 1; turn <= turns; turn++) {
  const text = `Turn ${turn}: what about part ${turn}? ${'It matters to the team. '.repeat(10)}`
  const key = `turn-${turn}`
  const message = await colloquy.sessions.addMessage(
    session.id,
    { role: 'user', content: text },
    { idempotencyKey: key },
  )
  // A killed process has left its lease behind; it expires soon.
  const result = await colloquy.agents
    .run(session.id, { trigger: { messageId: message.id }, model, waits: true })
    .catch(error => (error.code === 'team/already-answered' ? undefined : Promise.reject(error)))
  if (result && result.outcome !== 'done') throw new Error(`${result.outcome}: ${result.reason}`)
}
await colloquy.close()
