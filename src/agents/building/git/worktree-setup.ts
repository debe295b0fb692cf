/** Prepares a new worktree with the project's commands. It is repeated if a crash interrupted it. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { IllegalState } from '../../../errors.ts'
import { runChecks } from '../checks.ts'
import { git } from './git.ts'

const readyMark = 'colloquy-ready'

/** @throws {IllegalState} when a command fails, with its output */
export async function setUp(
  folder: string,
  commands: readonly string[],
  options: { signal: AbortSignal; timeMs: number },
): Promise<void> {
  if (commands.length === 0) return
  const mark = join(await git(folder, 'rev-parse', '--absolute-git-dir'), readyMark)
  if (existsSync(mark)) return
  const steps = commands.map(command => ({ name: command, command }))
  const results = await runChecks(steps, { folder, ...options })
  const failed = results.find(({ passed }) => !passed)
  if (failed && !options.signal.aborted) {
    throw new IllegalState(
      `The worktree could not be prepared: "${failed.command}" failed. No agent was run. Correct the command in work.setup.\n${failed.output}`,
      {
        folder,
        command: failed.command,
      },
    )
  }
  if (!options.signal.aborted) await writeFile(mark, '')
}
