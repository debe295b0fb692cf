/**
 * One run of a program: a text in, its output as it comes, how it ended.
 *
 * It leads its own process group, so that ending it ends what it started; and it does not outlive this process.
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
  /** Pieces of its standard output, then how it ended. */
  output(): AsyncGenerator<string, ProgramEnd, undefined>
  /** Ends it and all it started: asks first, then insists. */
  end(): void
}

const stderrKept = 4_000
/** How long it may tidy up when it is asked to end. */
const graceMs = 2_000
/** How long output is waited for after its end, which only something it left behind could still write. */
const afterglowMs = 1_000

export function startProgram({ program, arguments: rest, input, folder, environment }: ProgramOptions): Program {
  const child = spawn(program, rest, {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(folder !== undefined && { cwd: folder }),
    ...(environment && { env: { ...environment } }),
  })
  const queue = channel()
  const decoder = new StringDecoder('utf8')
  let stderr = ''
  let hasEnded = false
  let afterglow: NodeJS.Timeout | undefined
  const insist = () => signalGroup(child, 'SIGKILL')
  process.once('exit', insist)
  // A program that does not read its input closes it early; how it ends tells whether that was wrong.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  child.stdout.on('data', (piece: Buffer) => {
    clearTimeout(afterglow)
    queue.push(decoder.write(piece))
    // The program waits when nobody reads, instead of filling the memory.
    child.stdout.pause()
  })
  child.stderr.on('data', (piece: Buffer) => {
    stderr = (stderr + piece.toString('utf8')).slice(-stderrKept)
  })
  child.once('error', error => finish({ type: 'not-started', reason: error.message }))
  child.once('exit', () => waitForTheRest())
  child.once('close', (code, signal) => {
    queue.push(decoder.end())
    finish(signal === null ? { type: 'exit', code: code ?? 0, stderr } : { type: 'killed', by: signal, stderr })
  })

  /** What waits to be read is read, however slowly; what may never come is not waited for long. */
  function waitForTheRest(): void {
    if (child.stdout.isPaused()) return
    clearTimeout(afterglow)
    afterglow = setTimeout(() => {
      child.stdout.destroy()
      child.stderr.destroy()
    }, afterglowMs)
  }

  function finish(end: ProgramEnd): void {
    hasEnded = true
    clearTimeout(afterglow)
    process.removeListener('exit', insist)
    queue.close(end)
  }

  return {
    async *output() {
      for (;;) {
        const piece = await queue.next()
        if (typeof piece !== 'string') return piece
        if (piece !== '') yield piece
        child.stdout.resume()
        if (child.exitCode !== null || child.signalCode !== null) waitForTheRest()
      }
    },
    end() {
      if (hasEnded) return
      signalGroup(child, 'SIGTERM')
      // Whoever is left of the group after the grace is ended too, whether or not its leader went.
      setTimeout(insist, graceMs).unref()
    },
  }
}

/** Nothing is thrown: whoever is gone already need not be ended. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    child.kill(signal)
  }
}

/** Pieces that wait for their reader. */
function channel() {
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
