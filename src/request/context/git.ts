/**
 * Asks git, and takes no for an answer: no repository, no git, no time are all `undefined`.
 *
 * A repository's own configuration may name programs to run (pagers, file-system monitors, signature checkers), and
 * the folder an agent works in is not always trusted. So everything that starts a program is switched off here.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

const timeLimitMs = 10_000
const largestAnswerBytes = 64 * 1024 * 1024

/** Goes before the arguments of every call. */
export const harmless: readonly string[] = [
  '--no-pager',
  ['-c', 'core.fsmonitor=false'],
  ['-c', 'core.hooksPath=/dev/null'],
  ['-c', 'log.showSignature=false'],
].flat()

/** The output of git, or undefined if it fails. */
export async function git(folder: string, args: readonly string[]): Promise<string | undefined> {
  const { exitCode, stdout } = await gitAnswer(folder, args)
  return exitCode === 0 ? stdout : undefined
}

/** The same with all it says, for those who must tell why it failed. No exit code: it could not be started, or took too long. */
export async function gitAnswer(
  folder: string,
  args: readonly string[],
  { signal }: { signal?: AbortSignal } = {},
): Promise<{ exitCode: number | undefined; stdout: string; stderr: string }> {
  const options = { cwd: folder, env: gitEnvironment(), timeout: timeLimitMs, maxBuffer: largestAnswerBytes }
  try {
    const { stdout, stderr } = await run('git', [...harmless, ...args], { ...options, ...(signal && { signal }) })
    return { exitCode: 0, stdout, stderr }
  } catch (error) {
    const {
      code,
      stdout = '',
      stderr = '',
      message,
    } = error as Error & { code?: unknown; stdout?: string; stderr?: string }
    return typeof code === 'number'
      ? { exitCode: code, stdout, stderr }
      : { exitCode: undefined, stdout, stderr: stderr || message }
  }
}

/** Inside a git hook these point at the hook's repository, which is not the one asked about. */
const ofAnotherRepository = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_PREFIX',
  'GIT_COMMON_DIR',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_CONFIG_PARAMETERS',
  'GIT_CONFIG_COUNT',
]

export function gitEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !ofAnotherRepository.includes(name))
  return {
    ...Object.fromEntries(own),
    // Reading must not take the index lock, which a commit may be waiting for.
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
  }
}
