/** What a developer is told in one iteration of a Ralph loop: the task, what fails, what was tried. Pure. */
import type { CheckResult, IterationEnded } from '../../log/events/work/ralph.ts'
import { fence } from '../../request/text/quote-untrusted.ts'

export interface RalphTask {
  taskId: string
  title: string
  description?: string
  /** What its feature is for. */
  feature?: string
}

interface RalphMessage {
  task: RalphTask
  /** The number of this iteration. */
  number: number
  limit: number
  checks: readonly string[]
  feedback?: string | undefined
  /** The newest iterations of the loop, oldest first. */
  attempts: readonly IterationEnded[]
}

/** Of the output of one failing check. */
const outputCharacters = 6_000
const saidCharacters = 1_500

export function ralphMessage({ task, number, limit, checks, feedback, attempts }: RalphMessage): string {
  const last = attempts.at(-1)
  const failing = last?.checks.filter(check => !check.passed) ?? []
  const parts = [
    `Iteration ${number} of at most ${limit} on task ${task.taskId}: ${task.title}`,
    task.description && fence(task.description, `task ${task.taskId}`, 'the task'),
    task.feature && `It belongs to the feature: ${task.feature}`,
    feedback && `A review sent the work back. Put this right:\n${fence(feedback, `feedback ${number}`, 'the review')}`,
    checks.length > 0
      ? `It is done when these checks pass: ${checks.join(', ')}. They are run for you after this iteration.`
      : 'The project has no checks. Say how you made sure that it works.',
    attempts.length > 0 && `Tried so far:\n${attempts.map(attemptLine).join('\n')}`,
    ...failing.map(outputOf),
    'What earlier iterations did is in your working folder, committed; what they said is not shown again. Look at the files before you change them, and stop when this step is done.',
  ]
  return parts.filter(Boolean).join('\n\n')
}

function attemptLine({ number, said, checks, outcome }: IterationEnded): string {
  const failed = checks.filter(check => !check.passed).map(({ name }) => name)
  const how = failed.length > 0 ? `failed: ${failed.join(', ')}` : 'all checks passed'
  const words = said.replace(/\s+/g, ' ').trim().slice(0, saidCharacters).toWellFormed()
  return `- iteration ${number} (${outcome === 'done' ? how : `${outcome}; ${how}`})${words && `: ${words}`}`
}

function outputOf({ name, command, exitCode, output }: CheckResult): string {
  const shown = output.slice(-outputCharacters).toWellFormed()
  return `The check ${name} (${command}) failed with exit code ${exitCode ?? 'none'}:\n${fence(shown, `check ${name}`, name)}`
}
