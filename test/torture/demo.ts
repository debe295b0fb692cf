/**
 * The demo, killed with -9 at random points and started again each time. In the end everything must be as without
 * kills: the same files merged, no task or commit made twice, no message lost.
 */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Colloquy, isOfType, openColloquy, type RecordedEvent } from 'colloquy'
import { runGit } from '../support/repository.ts'
import { random } from './random.ts'

const entry = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/** Approximate number of lines that the demo prints. */
const linesOfAll = 85

export interface DemoReport {
  kills: number
  /** The last line of the demo before each kill. */
  killedAt: string[]
  problems: string[]
  /** The hash of the final files. */
  tree: string
}

export async function killDemo({
  folder,
  kills,
  seed,
  onKill = () => undefined,
}: {
  folder: string
  kills: number
  seed: number
  onKill?: (kill: number, at: string) => void
}): Promise<DemoReport> {
  const { below } = random(seed)
  const killedAt: string[] = []
  // On the whole the kills are spread over most of it, and hardly ever does it end before the last.
  const stride = Math.max(2, Math.floor((1.4 * linesOfAll) / (kills + 1)))
  while (killedAt.length < kills) {
    const { exitCode, last } = await demo(folder, { killAfterLines: below(stride), killAfterMs: below(400) })
    if (exitCode !== null) break
    killedAt.push(last)
    onKill(killedAt.length, last)
  }
  const { exitCode, output } = await demo(folder)
  const problems = exitCode === 0 ? [] : [`the last run ended with ${exitCode}: ${output.slice(-2_000)}`]
  return {
    kills: killedAt.length,
    killedAt,
    problems: [...problems, ...(await problemsOf(folder))],
    tree: runGit(folder, 'rev-parse', 'main^{tree}').trim(),
  }
}

interface DemoResult {
  /** Null when it was killed. */
  exitCode: number | null
  output: string
  last: string
}

/** Runs the demo, and kills it some time after it printed so many lines of its own: what waits for a lease is no progress. */
export async function demo(
  folder: string,
  { killAfterLines, killAfterMs = 0 }: { killAfterLines?: number; killAfterMs?: number } = {},
): Promise<DemoResult> {
  const child = spawn(process.execPath, [entry, 'demo', '--dir', folder], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let isDying = false
  const lines = () => output.split('\n').filter(line => line.trim() !== '' && !line.startsWith('Waiting'))
  const look = () => {
    if (isDying || killAfterLines === undefined || lines().length < killAfterLines) return
    isDying = true
    void wait(killAfterMs).then(() => child.kill('SIGKILL'))
  }
  look()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
      look()
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', exitCode =>
      resolve({ exitCode, output, last: lines().at(-1)?.trim() ?? 'before its first line' }),
    )
  })
}

const commits = [
  'A till that adds up',
  'parse-coupon: Read a coupon (iteration 1)',
  'parse-coupon: Read a coupon (iteration 2)',
  'Merge parse-coupon: Read a coupon',
  'apply-coupon: Take a coupon off a total (iteration 1)',
  'apply-coupon: Take a coupon off a total (round 2, iteration 1)',
  'Merge apply-coupon: Take a coupon off a total',
  'receipt: Show the coupon on the receipt (iteration 1)',
  'Merge receipt: Show the coupon on the receipt',
]

/** The log of each task, as far as it is about work: who did what, in which order, once. */
export const stories: Readonly<Record<string, readonly string[]>> = {
  'parse-coupon': [
    ...['in_dev', 'loop 1', 'iteration 1: test', 'iteration 2: ', 'passed', 'dev_complete', 'in_qa', 'pass'],
    ...['qa_complete', 'ready_for_merge', 'landing', 'landed', 'merged'],
  ],
  'apply-coupon': [
    ...['in_dev', 'loop 1', 'iteration 1: ', 'passed', 'dev_complete', 'in_qa', 'return'],
    ...['in_dev', 'loop 2', 'iteration 1: ', 'passed', 'dev_complete', 'in_qa', 'pass'],
    ...['qa_complete', 'ready_for_merge', 'landing', 'landed', 'merged'],
  ],
  receipt: [
    ...['in_dev', 'loop 1', 'iteration 1: ', 'passed', 'dev_complete', 'in_qa', 'pass'],
    ...['qa_complete', 'ready_for_merge', 'landing', 'landed', 'merged'],
  ],
}

/** Lists what is wrong after a demo that ended. */
export async function problemsOf(folder: string): Promise<string[]> {
  const problems: string[] = []
  const expect = (what: string, found: unknown, wanted: unknown) => {
    const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)]
    if (one !== other) problems.push(`${what}: ${one} and not ${other}`)
  }
  const madeCommits = runGit(folder, 'log', '--topo-order', '--reverse', '--format=%s', 'main').trim().split('\n')
  expect('commits', madeCommits, commits)
  expect('checkout', runGit(folder, 'status', '--porcelain', '--branch').trim(), '## main')
  expect('worktrees', runGit(folder, 'worktree', 'list').trim().split('\n').length, 1)
  expect('left behind', readdirSync(join(folder, '.colloquy', 'worktrees')), ['.gitignore'])
  expect('lock', existsSync(join(folder, '.git', 'index.lock')), false)
  const store = `sqlite:${join(folder, '.colloquy', 'colloquy.db')}`
  const colloquy = await openColloquy({ store, project: 'till', sweepEveryMs: null })
  try {
    expect('feature', (await colloquy.work.getFeature('coupons')).state, 'done')
    expect('asked of pm', await askedIn(colloquy, { type: 'feature', featureId: 'coupons' }), ['Plan the feature'])
    for (const [taskId, story] of Object.entries(stories)) {
      const item = { type: 'task' as const, featureId: 'coupons', taskId }
      expect(taskId, (await eventsOf(colloquy, item)).flatMap(storyStep), story)
      const prompts = story.filter(one => /^iteration|^pass$|^return/.test(one))
      expect(`asked in ${taskId}`, (await askedIn(colloquy, item)).length, prompts.length)
    }
    expect('damage', (await colloquy.verify()).clean, true)
  } finally {
    await colloquy.close()
  }
  return problems
}

type Item = Parameters<Colloquy['work']['stateOf']>[0]

export async function eventsOf(colloquy: Colloquy, item: Item): Promise<RecordedEvent[]> {
  const { conversationId } = await colloquy.work.stateOf(item)
  return colloquy.conversations.getEvents(conversationId!)
}

/** Returns the prompts to agents, by their first words. */
async function askedIn(colloquy: Colloquy, item: Item): Promise<string[]> {
  const events = await eventsOf(colloquy, item)
  return events.flatMap(recorded => {
    if (!isOfType(recorded, 'message.added')) return []
    const [part] = recorded.event.parts
    const text = part?.type === 'text' ? part.text : ''
    return /^(Iteration \d+|Review \d+|Plan the feature)/.exec(text)?.slice(0, 1) ?? []
  })
}

export function storyStep({ event }: RecordedEvent): string[] {
  switch (event.type) {
    case 'work.moved':
      return [event.to]
    case 'ralph.started':
      return [`loop ${event.round}`]
    case 'iteration.ended': {
      const failed = event.checks.filter(check => !check.passed).map(check => check.name)
      return [`iteration ${event.number}: ${failed.join(' ')}`]
    }
    case 'ralph.ended':
      return [event.outcome]
    case 'review.given':
      return [event.verdict]
    case 'landing.started':
      return ['landing']
    case 'landing.ended':
      return [event.outcome]
    default:
      return []
  }
}
