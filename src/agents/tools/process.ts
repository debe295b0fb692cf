/** Runs a program until it ends, or kills it with its children after a time-out or a stop. */
import { spawn } from 'node:child_process'
import { timerMs } from '../../timers.ts'

interface ProcessOptions {
  folder: string
  /** Time-out. */
  timeMs: number
  signal?: AbortSignal | undefined
  /** Called with all output so far when more arrives; returns what to keep. */
  keep(output: string): string
  /** Added to the environment of this process, which is passed on without its secrets. */
  env?: Readonly<Record<string, string>>
}

interface ProcessEnd {
  /** Null when it was killed. */
  exitCode: number | null
  /** Output of both streams, interleaved as it arrived. */
  output: string
  /** Reason it was killed. */
  endedBy?: 'time' | 'stop'
  /** Reason it could not be started. */
  problem?: string
}

/** Runs a program with arguments, or a command line in the shell. */
export function runProcess(
  command: { program: string; args: readonly string[] } | { line: string },
  { folder, timeMs, signal, keep, env = {} }: ProcessOptions,
): Promise<ProcessEnd> {
  return new Promise(resolve => {
    const [program, args] = 'line' in command ? [command.line, []] : [command.program, command.args]
    // A process group of its own, so that its children are killed with it.
    const child = spawn(program, args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      shell: 'line' in command,
      env: { ...environment(), ...env },
    })
    let output = ''
    let endedBy: ProcessEnd['endedBy']
    const append = (text: string) => {
      output = keep(output + text)
    }
    child.stdout.setEncoding('utf8').on('data', append)
    child.stderr.setEncoding('utf8').on('data', append)
    const kill = (reason: 'time' | 'stop') => {
      endedBy ??= reason
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

/** Provider keys and other secrets are not passed to programs that an agent runs. */
function environment(): NodeJS.ProcessEnv {
  const secret = /(_KEY|_TOKEN|_SECRET|PASSWORD|CREDENTIALS?)$/i
  // Set inside Node's test runner; a nested `node --test` would then pass without running anything.
  const misleading = 'NODE_TEST_CONTEXT'
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !secret.test(name) && name !== misleading))
}
