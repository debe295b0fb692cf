/**
 * Recorded runs of a real orchestrator and its agents, replayed as conversations with turns. They lie outside the
 * project; without them the tests that need them are skipped.
 *
 * The orchestrator kept a ledger and wrote "Stalled" after too many turns without progress. That label is what a run is
 * compared with. It is a judgement of a model, not a fact.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Colloquy } from 'colloquy'
import { RoutingBlocked } from 'colloquy/errors'

const project = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
const folder = join(dirname(project), 'shared/data/who-and-when/hand-crafted')
export const recordedRunsAreThere = existsSync(folder)

export interface RecordedRun {
  name: string
  question: string
  turns: Array<{ agent: string; instruction: string; result: string }>
  /** After how many turns the orchestrator itself said that it was stalled. */
  stalledAfter: number[]
  /** True if its ledger ever said that it was in a loop. */
  saidLoop: boolean
  /** True if it ended because the orchestrator took the request as satisfied. */
  satisfied: boolean
}

export function recordedRuns(): RecordedRun[] {
  return readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
    .map(name => {
      const { question, history } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
        question: string
        history: Array<{ role: string; content: string }>
      }
      const run: RecordedRun = { name, question, turns: [], stalledAfter: [], saidLoop: false, satisfied: false }
      for (const { role, content } of history) read(run, role, content)
      return run
    })
}

function read(run: RecordedRun, role: string, content: string): void {
  const [, routed] = role.match(/^Orchestrator \(-> (\w+)\)$/) ?? []
  if (routed !== undefined) run.turns.push({ agent: routed, instruction: content, result: '' })
  else if (role === 'Orchestrator (thought)') {
    if (content.startsWith('Stalled')) run.stalledAfter.push(run.turns.length)
    if (content.startsWith('Request satisfied')) run.satisfied = true
    if (/"is_in_loop":\s*\{[^}]*"answer":\s*true/.test(content)) run.saidLoop = true
  } else if (run.turns.at(-1)?.agent === role) run.turns.at(-1)!.result += content
}

export interface ReplayedRun {
  run: RecordedRun
  /** The turn at which routing was blocked, counted from 1, and why. */
  blocked?: { turn: number; kind: string; evidence: readonly number[] }
}

/** Takes a run's turns through the front door until it ends or routing is blocked. */
export async function replay({ conversations }: Colloquy, run: RecordedRun): Promise<ReplayedRun> {
  const { id } = await conversations.createConversation({
    title: run.name,
    initial: { role: 'user', author: 'person', content: run.question },
  })
  for (const [index, { agent, instruction, result }] of run.turns.entries()) {
    try {
      await conversations.startOrchestratorTurn(id, {
        agents: [agent],
        reason: 'next step',
        instruction: instruction.slice(0, 20_000) || 'go on',
        orchestrator: 'Orchestrator',
      })
    } catch (error) {
      if (!(error instanceof RoutingBlocked)) throw error
      return { run, blocked: { turn: index + 1, kind: error.kind, evidence: error.evidence } }
    }
    if (result !== '') await conversations.addCompletionToTurn(id, { agent, message: result.slice(0, 20_000) })
    else await conversations.failTurn(id, 'no answer')
  }
  return { run }
}
