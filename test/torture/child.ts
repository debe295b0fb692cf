/** Child processes of the torture programs: their lines as they come, and how they ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(dirname(here))

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  /** Its standard error. */
  words: string
}

export interface Child {
  readonly pid: number
  kill(): void
  /** Writes a line to its stdin. */
  tell(line: string): void
  /** Ends its stdin. */
  endInput(): void
  /** Resolves when the process is gone and every line it wrote was handed on. */
  readonly ended: Promise<Ended>
}

export interface ChildOptions {
  /** A file in `processes/`, plain JavaScript: it starts quickly. */
  program: string
  args?: readonly string[]
  env?: NodeJS.ProcessEnv
  /** Runs as this user; only root can choose one. */
  uid?: number
  /** Called with each line the child writes to its descriptor 3. */
  onLine?: (line: string) => void
}

/** Lines come over descriptor 3, which the child writes synchronously: what was written before a kill arrives. */
export function startChild({ program, args = [], env = {}, uid, onLine }: ChildOptions): Child {
  const child: ChildProcess = spawn(process.execPath, [join(here, 'processes', program), ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
  })
  let words = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    words += text
  })
  const lines = createInterface({ input: child.stdio[3] as NodeJS.ReadableStream })
  if (onLine) lines.on('line', onLine)
  const drained = new Promise<void>(resolve => lines.once('close', resolve))
  const exit = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, words }))
  })
  return {
    pid: child.pid!,
    kill: () => child.kill('SIGKILL'),
    tell: line => child.stdin!.write(`${line}\n`),
    endInput: () => child.stdin!.end(),
    ended: exit.then(async ended => {
      await drained
      return ended
    }),
  }
}

/** Waits for a child. One that prints nothing for `silenceMs` hangs, and is ended. */
export async function runChild(
  options: ChildOptions,
  { silenceMs = 60_000 }: { silenceMs?: number } = {},
): Promise<Ended & { hung: boolean }> {
  let hung = false
  let timer: NodeJS.Timeout | undefined
  const child = startChild({
    ...options,
    onLine(line) {
      watch()
      options.onLine?.(line)
    },
  })
  function watch(): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      hung = true
      child.kill()
    }, silenceMs)
  }
  watch()
  const result = await child.ended
  clearTimeout(timer)
  return { ...result, hung }
}
