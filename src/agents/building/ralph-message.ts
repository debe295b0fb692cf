/** The message of one iteration of a Ralph loop: the task, the failing checks, earlier attempts. Pure. */
import type { CheckResult, IterationEnded } from '../../log/events/work/ralph.ts'
import { fence } from '../../request/text/quote-untrusted.ts'

export interface RalphTask {
  taskId: string
  title: string
  description?: string
  /** Name and goal of its feature. */
  feature?: string
}

interface RalphMessage {
  task: RalphTask
  number: number
  limit: number
  checks: readonly string[]
  feedback?: string | undefined
  /** The newest iterations of the loop, oldest first. */
  attempts: readonly IterationEnded[]
}

/** Max characters of the output of one failing check. */
const maxOutputCharacters = 6_000
const maxAnswerCharacters = 1_500

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
  const result = failed.length > 0 ? `failed: ${failed.join(', ')}` : 'all checks passed'
  const words = said.replace(/\s+/g, ' ').trim().slice(0, maxAnswerCharacters).toWellFormed()
  return `- iteration ${number} (${outcome === 'done' ? result : `${outcome}; ${result}`})${words && `: ${words}`}`
}

function outputOf({ name, command, exitCode, output }: CheckResult): string {
  const end = output.slice(-maxOutputCharacters).toWellFormed()
  return `The check ${name} (${command}) failed with exit code ${exitCode ?? 'none'}:\n${fence(end, `check ${name}`, name)}`
}
