/** Runs a program to its end, or ends it with everything it started: after a time, or when told to stop. */
import { spawn } from 'node:child_process'
import { timerMs } from '../../timers.ts'

export interface ProcessOptions {
  folder: string
  /** How long it may take. */
  timeMs: number
  signal?: AbortSignal | undefined
  /** Given all that was said so far whenever more came; gives what is kept of it. */
  keep(output: string): string
  /** Over the environment of this process, without its secrets. */
  env?: Readonly<Record<string, string>>
}

export interface ProcessEnd {
  /** Null when it was ended from outside. */
  exitCode: number | null
  /** What it said on both channels, as it came. */
  output: string
  /** Why it was ended. */
  endedBy?: 'time' | 'stop'
  /** Why it could not be started. */
  problem?: string
}

/** A program and its arguments, or a line for the shell. */
export function runProcess(
  command: { program: string; args: readonly string[] } | { line: string },
  { folder, timeMs, signal, keep, env = {} }: ProcessOptions,
): Promise<ProcessEnd> {
  return new Promise(resolve => {
    const [program, args] = 'line' in command ? [command.line, []] : [command.program, command.args]
    // A group of its own, so that what it starts ends with it.
    const child = spawn(program, args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      shell: 'line' in command,
      env: { ...environment(), ...env },
    })
    let output = ''
    let endedBy: ProcessEnd['endedBy']
    const take = (text: string) => {
      output = keep(output + text)
    }
    child.stdout.setEncoding('utf8').on('data', take)
    child.stderr.setEncoding('utf8').on('data', take)
    const kill = (why: 'time' | 'stop') => {
      endedBy ??= why
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        child.kill('SIGKILL')
      }
    }
    const timer = setTimeout(() => kill('time'), timerMs(timeMs))
    const stop = () => kill('stop')
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop, { once: true })
    const finish = (end: ProcessEnd) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      resolve(end)
    }
    child.on('error', error => finish({ exitCode: null, output, problem: error.message }))
    child.on('close', exitCode => finish({ exitCode, output, ...(endedBy && { endedBy }) }))
  })
}

/** Keys of providers and the like are no business of what an agent runs. */
function environment(): NodeJS.ProcessEnv {
  const secret = /(_KEY|_TOKEN|_SECRET|PASSWORD|CREDENTIALS?)$/i
  // Within tests of Node this one makes a further `node --test` pass without running anything.
  const misleading = 'NODE_TEST_CONTEXT'
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !secret.test(name) && name !== misleading))
}
