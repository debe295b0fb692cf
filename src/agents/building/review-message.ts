/** The messages to QA and the merging agent: the task, its diff, the results of checks. Pure. */
import type { CheckResult } from '../../log/events/work/ralph.ts'
import { fence } from '../../request/text/quote-untrusted.ts'
import { shorten } from '../tools/tool.ts'
import type { RalphTask } from './ralph-message.ts'

const maxDiffCharacters = 40_000
const maxOutputCharacters = 4_000

export function reviewMessage({
  task,
  number,
  diff,
  checks,
  lastFeedback,
}: {
  task: RalphTask
  number: number
  diff: string
  checks: readonly CheckResult[]
  /** Feedback of the last review. */
  lastFeedback?: string | undefined
}): string {
  return [
    `Review ${number} of task ${task.taskId}: ${task.title}`,
    task.description && fence(task.description, `task ${task.taskId}`, 'the task'),
    lastFeedback &&
      `The review before sent it back with:\n${fence(lastFeedback, `review ${number - 1}`, 'the review before')}`,
    `The checks, as they were run after the last change:\n${checkLines(checks)}`,
    `What changed:\n${fence(shorten(diff || '(nothing)', maxDiffCharacters), `diff ${number}`, 'the difference')}`,
    'Look at the files where the difference does not say enough. Then give your verdict with the tool review: pass, or return with what must change. Without tools answer with JSON alone: {"verdict": "pass" or "return", "feedback": "…"}',
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** Second message to QA after an answer without a verdict. */
export const verdictMissing =
  'That was no verdict. Call the tool review now, or answer with JSON alone: {"verdict": "pass" or "return", "feedback": "…"}'

export function conflictsMessage({
  task,
  base,
  files,
}: {
  task: RalphTask
  base: string
  files: readonly string[]
}): string {
  return [
    `Merging task ${task.taskId} (${task.title}) into ${base} stopped at conflicts. The merge is under way in your working folder.`,
    task.description && fence(task.description, `task ${task.taskId}`, 'the task'),
    `Files with conflicts:\n${files.map(file => `- ${file}`).join('\n')}`,
    'Resolve them in the files: keep what both sides mean, and leave no conflict marks. Do not commit, and do not run git merge: that is done for you, and then the checks are run.',
  ]
    .filter(Boolean)
    .join('\n\n')
}

export function brokenMergeMessage({
  task,
  base,
  checks,
}: {
  task: RalphTask
  base: string
  checks: readonly CheckResult[]
}): string {
  const failing = checks.filter(check => !check.passed)
  return [
    `Task ${task.taskId} (${task.title}) is merged with ${base} in your working folder, and checks that passed before fail on the two together.`,
    `The checks:\n${checkLines(failing)}`,
    'Put right what the two sides break in each other, and nothing else. Do not commit: that is done for you, and then the checks are run again.',
  ].join('\n\n')
}

function checkLines(checks: readonly CheckResult[]): string {
  if (checks.length === 0) return '- the project has none'
  return checks
    .map(({ name, command, passed, exitCode, output }) =>
      passed
        ? `- ${name} (${command}): passed`
        : `- ${name} (${command}): failed with exit code ${exitCode ?? 'none'}\n${fence(output.slice(-maxOutputCharacters).toWellFormed(), `check ${name}`, name)}`,
    )
    .join('\n')
}
