/** A long chat with tools in a small budget, killed on the way: every request fits and is legal, and nothing is lost. */
import { spawn } from 'node:child_process'
import { createReadStream, existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { fastEstimator, isOfType, openColloquy, type RecordedEvent, type RequestMessage } from 'colloquy'
import { expect, it, onTestFinished } from 'vitest'
import { problemsOf } from '../support/requests.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { random } from '../torture/random.ts'

const script = fileURLToPath(new URL('../support/chat-process.mjs', import.meta.url))

const turns = 300
const budget = 30_000
const kills = 5

/** Runs the chat until it ends, or until its file of requests has grown by so many bytes: then it is killed. */
function chat(settings: { requests: string }, killAfterBytes: number | undefined): Promise<'ended' | 'killed'> {
  const child = spawn(process.execPath, [script, JSON.stringify(settings)], { stdio: ['ignore', 'inherit', 'pipe'] })
  const sizeOf = () => (existsSync(settings.requests) ? statSync(settings.requests).size : 0)
  const start = sizeOf()
  let problem = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    problem += text
  })
  const watch = setInterval(() => {
    if (killAfterBytes !== undefined && sizeOf() - start > killAfterBytes) child.kill('SIGKILL')
  }, 5)
  return new Promise((resolve, reject) => {
    child.on('close', (code, signal) => {
      clearInterval(watch)
      if (signal === 'SIGKILL') resolve('killed')
      else if (code === 0) resolve('ended')
      else reject(new Error(problem))
    })
  })
}

it(`[P5] [P6] [P7] [P9] ${turns} turns with tools in ${budget} tokens, killed ${kills} times, lose and repeat nothing`, async () => {
  const folder = temporaryFolder()
  const root = temporaryFolder()
  writeFileSync(join(root, 'page.ts'), 'export const colour = "blue"\n'.repeat(40))
  const requests = join(folder, 'requests.jsonl')
  const settings = { store: `sqlite:${join(folder, 'chat.db')}`, root, turns, budget, requests, leaseMs: 3_000 }
  const dice = random(2026)
  let killed = 0
  for (let at = 0; at < kills; at++) {
    if ((await chat(settings, dice.between(200_000, 3_000_000))) === 'killed') killed++
  }
  expect(await chat(settings, undefined)).toBe('ended')
  expect(killed).toBe(kills)

  const problems: string[] = []
  let sent = 0
  for await (const line of createInterface({ input: createReadStream(requests) })) {
    // A line that a kill cut in two was never sent.
    if (!line.endsWith('}')) continue
    const { system, messages, tools } = JSON.parse(line) as {
      system: string
      messages: RequestMessage[]
      tools: unknown
    }
    sent++
    problems.push(...problemsOf(messages))
    const size = fastEstimator.count(system) + sizeOf(messages) + fastEstimator.count(JSON.stringify(tools))
    if (size > budget) problems.push(`[P5] ${size} tokens in a budget of ${budget}`)
  }
  expect([...new Set(problems)]).toEqual([])
  expect(sent).toBeGreaterThanOrEqual(turns * 2)

  const colloquy = await openColloquy({ store: settings.store, project: 'shop', sweepEveryMs: null, readOnly: true })
  onTestFinished(() => colloquy.close())
  const session = await colloquy.sessions.getActiveSession({ type: 'feature', agentType: 'dev', featureId: 'login' })
  const messages = await colloquy.sessions.getAllMessages(session!.id)
  const said = messages.filter(one => one.role === 'user' && !one.internal).map(one => one.content.split(':')[0])
  expect(said).toEqual(Array.from({ length: turns }, (_, at) => `Turn ${at + 1}`))
  const answers = messages.flatMap(one => /^Answer to turn (\d+):/.exec(one.content)?.[1] ?? [])
  expect(answers).toEqual(Array.from({ length: turns }, (_, at) => String(at + 1)))
  const parts = messages.flatMap(one => one.parts)
  const ids = (type: 'tool-call' | 'tool-result') => parts.flatMap(part => (part.type === type ? [part.callId] : []))
  expect(ids('tool-result').sort()).toEqual(ids('tool-call').sort())
  const events: RecordedEvent[] = []
  for (let page = 1; page > 0; ) {
    const read = await colloquy.conversations.getEvents(session!.conversationId, {
      from: events.length + 1,
      limit: 500,
    })
    events.push(...read)
    page = read.length
  }
  expect(events.filter(one => one.event.type === 'checkpoint.taken').length).toBeGreaterThan(2)
  const outcomes = events.filter(one => isOfType(one, 'run.ended')).map(one => one.event.outcome)
  expect(outcomes.filter(one => one === 'done')).toHaveLength(turns)
  expect(outcomes.filter(one => one !== 'done' && one !== 'crashed')).toEqual([])
  expect(outcomes.filter(one => one === 'crashed').length).toBeLessThanOrEqual(kills)
  expect((await colloquy.verify()).damages).toEqual([])
}, 600_000)

function sizeOf(messages: readonly RequestMessage[]): number {
  return messages
    .flatMap(message => message.content)
    .reduce((sum, part) => sum + fastEstimator.count(part.type === 'text' ? part.text : JSON.stringify(part)), 0)
}
