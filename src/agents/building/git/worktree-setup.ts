/** Makes a fresh worktree ready to build in, by the project's own commands; once, and again if that was cut off. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { IllegalState } from '../../../errors.ts'
import { runChecks } from '../checks.ts'
import { git } from './git.ts'

const readyMark = 'colloquy-ready'

/** @throws {IllegalState} when a command fails, with what it said */
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
  const failed = results.find(one => !one.passed)
  if (failed && !options.signal.aborted) {
    throw new IllegalState(`The worktree could not be made ready: "${failed.command}" failed.\n${failed.output}`, {
      folder,
      command: failed.command,
    })
  }
  if (!options.signal.aborted) await writeFile(mark, '')
}
