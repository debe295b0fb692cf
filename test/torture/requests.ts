/**
 * The promises about requests over random logs, all of it through the front door: cases on stores in memory, each store
 * left for a fresh one after some thousand cases. A case that breaks a promise is made smaller before it is reported.
 */
import { type Colloquy, openColloquy } from 'colloquy'
import { loadExactEstimator } from '../../src/request/text/exact-tokens.ts'
import { requestCase, type Step } from './request-cases.ts'
import { RequestTable, type Tally } from './request-table.ts'

export interface RequestsReport extends Tally {
  cases: number
  problems: string[]
}

export interface RequestsOptions {
  cases: number
  seed: number
  /** Number of the first case, to repeat one case with its seed. */
  first?: number
  onCase?: (done: number, problems: number) => void
  /** Told at once: a long run may be cut off. */
  onProblem?: (problem: string) => void
}

const casesPerStore = 2_000
/** Each on its own conversation, so that their writes share commits. */
const atOnce = 8
/** Enough to see what is wrong. */
const mostProblems = 10

export async function requestPromises({
  cases,
  seed,
  first = 0,
  onCase,
  onProblem,
}: RequestsOptions): Promise<RequestsReport> {
  const { count } = await loadExactEstimator()
  const tally: Tally = { asked: 0, refused: 0, checkpoints: 0, compacted: 0, omitted: 0 }
  const problems: string[] = []
  let colloquy: Colloquy | undefined
  let done = 0
  async function renew(): Promise<Colloquy> {
    if (colloquy) {
      const { damages } = await colloquy.verify()
      problems.push(...damages.map(damage => `[P13] ${JSON.stringify(damage)}`))
      await colloquy.close()
    }
    // Small, so that compactions on demand find something to do.
    const requests = { budget: 1_500 }
    let lastId = 0
    return openColloquy({
      store: 'sqlite::memory:',
      project: 'cases',
      tokens: 'exact',
      durability: 'relaxed',
      sweepEveryMs: null,
      requests,
      // Ids stand in requests: of one length, so that a case takes the same tokens when it is played again.
      ids: () => `id-${String(++lastId).padStart(9, '0')}`,
    })
  }
  try {
    while (done < cases && problems.length < mostProblems) {
      if (done % casesPerStore === 0) colloquy = await renew()
      const numbers = Array.from({ length: Math.min(atOnce, cases - done) }, (_, index) => first + done + index)
      const outcomes = await Promise.all(numbers.map(number => play(requestCase(seed, number), colloquy!)))
      for (const [index, broken] of outcomes.entries()) {
        if (broken.length === 0) continue
        const problem = await smallest(numbers[index]!, broken, colloquy!)
        problems.push(problem)
        onProblem?.(problem)
      }
      done += numbers.length
      onCase?.(done, problems.length)
    }
    if (colloquy) colloquy = await renew()
  } finally {
    await colloquy?.close()
  }
  return { cases: done, problems, ...tally }

  async function play(steps: readonly Step[], colloquy: Colloquy): Promise<string[]> {
    const table = new RequestTable({ colloquy, tally, count })
    await table.sit(`case ${++played}`)
    for (const step of steps) {
      try {
        await table.carryOut(step)
      } catch (error) {
        table.problems.push(`${step.do} threw ${error instanceof Error ? error.stack : String(error)}`)
      }
      if (table.problems.length > 0) return table.problems
    }
    return []
  }

  /** Leaves out step after step as long as something is still broken. */
  async function smallest(number: number, seen: readonly string[], colloquy: Colloquy): Promise<string> {
    let steps = requestCase(seed, number)
    for (let at = steps.length - 1; at >= 0; at--) {
      const fewer = steps.filter((_, index) => index !== at)
      if ((await play(fewer, colloquy)).length > 0) steps = fewer
    }
    const broken = [...(await play(steps, colloquy)), ...seen].slice(0, 3)
    const stepsText = JSON.stringify(steps, (_, value) =>
      typeof value === 'string' && value.length > 80 ? `${value.slice(0, 60)}… (${value.length})` : value,
    )
    return `case ${number} (--seed ${seed} --first ${number} --cases 1): ${broken.join('; ')}\n    ${stepsText}`
  }
}

/** Names of work items are used once per process. */
let played = 0
