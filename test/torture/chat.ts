/**
 * A long chat with tools in a small budget, killed on the way: every request fits and is legal, and at the end the log
 * has every turn and every answer once, and of the kills nothing but runs that crashed.
 */
import { spawn } from 'node:child_process'
import { createReadStream, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { isOfType, openColloquy, type RecordedEvent, type RequestMessage } from 'colloquy'
import { fastEstimator } from '../../src/request/text/tokens.ts'
import { problemsOf } from '../support/requests.ts'
import { random } from './random.ts'

const script = fileURLToPath(new URL('../support/processes/chat.mjs', import.meta.url))

export interface ChatOptions {
  /** An existing folder for the store. */
  folder: string
  turns: number
  budget: number
  kills: number
  seed: number
  onKill?: (kill: number) => void
}

export interface ChatReport {
  turns: number
  kills: number
  requests: number
  checkpoints: number
  /** Runs that a kill cut off and the next one found. */
  crashed: number
  problems: string[]
}

interface Settings {
  store: string
  root: string
  turns: number
  budget: number
  requests: string
  leaseMs: number
}

export async function killedChat({ folder, turns, budget, kills, seed, onKill }: ChatOptions): Promise<ChatReport> {
  const root = join(folder, 'tree')
  mkdirSync(root)
  writeFileSync(join(root, 'page.ts'), 'export const colour = "blue"\n'.repeat(40))
  const settings: Settings = {
    store: `sqlite:${join(folder, 'chat.db')}`,
    root,
    turns,
    budget,
    requests: join(folder, 'requests.jsonl'),
    leaseMs: 3_000,
  }
  const dice = random(seed)
  // The whole of it writes about this much; so the kills fall all over it.
  const maxTokens = (turns * 250_000) / kills
  let killed = 0
  for (let at = 1; at <= kills; at++) {
    if ((await chat(settings, dice.between(maxTokens * 0.05, maxTokens))) === 'killed') killed++
    onKill?.(at)
  }
  const problems: string[] = []
  if ((await chat(settings, undefined)) !== 'ended') problems.push('it did not come to its end')
  if (killed < kills) problems.push(`it was killed ${killed} times of ${kills}`)
  const sent = await requestsIn(settings, problems)
  const { checkpoints, crashed } = await logOf(settings, killed, problems)
  return { turns, kills: killed, requests: sent, checkpoints, crashed, problems: [...new Set(problems)] }
}

/** Runs the chat until it ends, or until its file of requests has grown by so many bytes: then it is killed. */
function chat(settings: Settings, killAfterBytes: number | undefined): Promise<'ended' | 'killed'> {
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

/** Looks at every request that was sent. */
async function requestsIn({ requests, turns, budget }: Settings, problems: string[]): Promise<number> {
  let sent = 0
  for await (const line of createInterface({ input: createReadStream(requests) })) {
    // A line that a kill cut in two was never sent.
    if (!line.endsWith('} end')) continue
    const { system, messages, tools } = JSON.parse(line.slice(0, -' end'.length)) as {
      system: string
      messages: RequestMessage[]
      tools: unknown
    }
    sent++
    problems.push(...problemsOf(messages))
    const size = fastEstimator.count(system) + sizeOf(messages) + fastEstimator.count(JSON.stringify(tools))
    if (size > budget) problems.push(`[P5] ${size} tokens in a budget of ${budget}`)
  }
  if (sent < turns * 2) problems.push(`only ${sent} requests were sent`)
  return sent
}

async function logOf({ store, turns }: Settings, kills: number, problems: string[]) {
  const colloquy = await openColloquy({ store, project: 'shop', sweepEveryMs: null, readOnly: true })
  try {
    const session = await colloquy.sessions.getActiveSession({ type: 'feature', agentType: 'dev', featureId: 'login' })
    const messages = await colloquy.sessions.getAllMessages(session!.id)
    const expected = Array.from({ length: turns }, (_, at) => String(at + 1)).join()
    const numbers = (pattern: RegExp) => messages.flatMap(one => pattern.exec(one.content)?.[1] ?? []).join()
    const questions = messages.filter(one => one.role === 'user' && !one.internal)
    if (questions.length !== turns || numbers(/^Turn (\d+):/) !== expected)
      problems.push('[P3] the turns are not each there once')
    if (numbers(/^Answer to turn (\d+):/) !== expected) problems.push('[P3] the answers are not each there once')
    const parts = messages.flatMap(one => one.parts)
    const ids = (type: 'tool-call' | 'tool-result') =>
      parts.flatMap(part => (part.type === type ? [part.callId] : [])).sort()
    if (ids('tool-result').join() !== ids('tool-call').join()) problems.push('[P7] calls and results do not pair')
    const events: RecordedEvent[] = []
    for (let page = 1; page > 0; ) {
      const from = events.length + 1
      const read = await colloquy.conversations.getEvents(session!.conversationId, { from, limit: 500 })
      events.push(...read)
      page = read.length
    }
    const outcomes = events.filter(one => isOfType(one, 'run.ended')).map(one => one.event.outcome)
    const count = (outcome: string) => outcomes.filter(one => one === outcome).length
    if (count('done') !== turns) problems.push(`${count('done')} runs are done`)
    if (count('done') + count('crashed') !== outcomes.length) problems.push(`runs ended as ${[...new Set(outcomes)]}`)
    if (count('crashed') > kills) problems.push(`${count('crashed')} runs crashed in ${kills} kills`)
    const { damages } = await colloquy.verify()
    problems.push(...damages.map(damage => `[P13] ${JSON.stringify(damage)}`))
    const checkpoints = events.filter(one => one.event.type === 'checkpoint.taken').length
    return { checkpoints, crashed: count('crashed') }
  } finally {
    await colloquy.close()
  }
}

function sizeOf(messages: readonly RequestMessage[]): number {
  return messages
    .flatMap(message => message.content)
    .reduce((sum, part) => sum + fastEstimator.count(part.type === 'text' ? part.text : JSON.stringify(part)), 0)
}
