/**
 * One run of a program: a text in, its output as a stream, and its exit.
 *
 * It leads its own process group, so that its children end with it. It does not outlive this process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'

interface ProgramOptions {
  program: string
  arguments: readonly string[]
  input: string
  folder?: string
  environment?: Readonly<Record<string, string | undefined>>
}

export type ProgramEnd =
  | { type: 'exit'; code: number; stderr: string }
  | { type: 'killed'; by: string; stderr: string }
  | { type: 'not-started'; reason: string }

interface Program {
  /** Yields its standard output and returns how it ended. */
  output(): AsyncGenerator<string, ProgramEnd, undefined>
  /** Ends the process group: with SIGTERM first, then with SIGKILL. */
  end(): void
}

const maxErrorCharacters = 4_000
/** Time between SIGTERM and SIGKILL. */
const graceMs = 2_000
/** Time to wait for output after the exit, which only a remaining child could still write. */
const lateOutputMs = 1_000

export function startProgram({ program, arguments: rest, input, folder, environment }: ProgramOptions): Program {
  const child = spawn(program, rest, {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(folder !== undefined && { cwd: folder }),
    ...(environment && { env: { ...environment } }),
  })
  const queue = outputQueue()
  const decoder = new StringDecoder('utf8')
  let stderr = ''
  let hasEnded = false
  let lateOutputTimer: NodeJS.Timeout | undefined
  const kill = () => signalGroup(child, 'SIGKILL')
  process.once('exit', kill)
  // A program may close its input early. Its exit code tells whether that was an error.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  child.stdout.on('data', (piece: Buffer) => {
    clearTimeout(lateOutputTimer)
    queue.push(decoder.write(piece))
    // The program waits for the reader instead of filling the memory.
    child.stdout.pause()
  })
  child.stderr.on('data', (piece: Buffer) => {
    stderr = (stderr + piece.toString('utf8')).slice(-maxErrorCharacters)
  })
  child.once('error', error => finish({ type: 'not-started', reason: error.message }))
  child.once('exit', () => limitLateOutput())
  child.once('close', (code, signal) => {
    queue.push(decoder.end())
    finish(signal === null ? { type: 'exit', code: code ?? 0, stderr } : { type: 'killed', by: signal, stderr })
  })

  /** Pending output is read however slowly; output that may never come is not awaited for long. */
  function limitLateOutput(): void {
    if (child.stdout.isPaused()) return
    clearTimeout(lateOutputTimer)
    lateOutputTimer = setTimeout(() => {
      child.stdout.destroy()
      child.stderr.destroy()
    }, lateOutputMs)
  }

  function finish(end: ProgramEnd): void {
    hasEnded = true
    clearTimeout(lateOutputTimer)
    process.removeListener('exit', kill)
    queue.close(end)
  }

  return {
    async *output() {
      for (;;) {
        const piece = await queue.next()
        if (typeof piece !== 'string') return piece
        if (piece !== '') yield piece
        child.stdout.resume()
        if (child.exitCode !== null || child.signalCode !== null) limitLateOutput()
      }
    },
    end() {
      if (hasEnded) return
      signalGroup(child, 'SIGTERM')
      // Kills remaining children, too, when the leader has exited.
      setTimeout(kill, graceMs).unref()
    },
  }
}

/** Does not throw when the group has ended already. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    child.kill(signal)
  }
}

/** A queue between the program's output and its reader. */
function outputQueue() {
  const pieces: (string | ProgramEnd)[] = []
  let wake: (() => void) | undefined
  return {
    push(piece: string) {
      pieces.push(piece)
      wake?.()
    },
    close(end: ProgramEnd) {
      pieces.push(end)
      wake?.()
    },
    async next(): Promise<string | ProgramEnd> {
      for (;;) {
        const piece = pieces.shift()
        if (piece !== undefined) return piece
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}
