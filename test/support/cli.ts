/** The command line as a person or a script runs it: a process of its own, on a store of the test's. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const entry = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

export interface CliResult {
  exitCode: number | null
  stdout: string
  stderr: string
  /** Its output, parsed. */
  json(): Record<string, unknown>
  /** The error it told on stderr, parsed. */
  error(): { code: string; message: string; facts: Record<string, unknown> }
}

export interface RunOptions {
  env?: Record<string, string>
  cwd?: string
  /** Its standard input. Default: none. */
  input?: string
  /** The user that runs it. */
  uid?: number | undefined
  /** Stops reading after the first piece of output, as `| head` does. */
  readsLittle?: boolean
}

/** Runs `colloquy` with `args` and nothing else: no store, no project. */
export function runCli(args: readonly string[], options: RunOptions = {}): Promise<CliResult> {
  return startCli(args, options).ended
}

/** The same, for who wants to do something to the process meanwhile. */
export function startCli(
  args: readonly string[],
  { env = {}, cwd, input, uid, readsLittle = false }: RunOptions = {},
): { child: ChildProcess; ended: Promise<CliResult> } {
  // The environment of the test run must not colour the output or shift its times.
  const { NO_COLOR: _, FORCE_COLOR: __, ...inherited } = process.env
  const child = spawn(process.execPath, [entry, ...args], {
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: { ...inherited, TZ: 'UTC', ...env },
    ...(cwd !== undefined && { cwd }),
    ...(uid !== undefined && { uid, gid: uid }),
  })
  child.stdin?.end(input)
  const { stdout: out, stderr: err } = child as ChildProcessWithoutNullStreams
  let stdout = ''
  let stderr = ''
  out.setEncoding('utf8').on('data', text => {
    stdout += text
    if (readsLittle) out.destroy()
  })
  err.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', exitCode => {
      resolve({
        exitCode,
        stdout,
        stderr,
        json: () => JSON.parse(stdout),
        error: () => JSON.parse(stderr).error,
      })
    })
  })
  return { child, ended }
}

/** `colloquy` on a store, in the project of the tests. */
export function cliOn(store: string, options: RunOptions = {}): (...args: string[]) => Promise<CliResult> {
  return (...args) => runCli(['--store', store, '--project', 'shop', ...args], options)
}
