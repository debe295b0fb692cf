/**
 * Any command-line agent as a model: it reads a prompt from its standard input, and its output is the answer.
 *
 * It has its own tools and cannot call Colloquy's.
 */
import { timerMs } from '../../timers.ts'
import { cancelled, type FailurePart, failed } from '../failure.ts'
import type { Model, ModelPart, ModelRequest } from '../model.ts'
import { argumentsIn } from './arguments.ts'
import { type ProgramEnd, startProgram } from './process.ts'
import { promptText } from './prompt.ts'

export interface CommandOptions {
  /** The folder it works in. Default: this process's. */
  folder?: string
  /** Default: this process's. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Time-out of one answer. Default 10 minutes. */
  timeoutMs?: number
  /** Maximum size of an answer. Default 4 MB. */
  maxOutputBytes?: number
}

/**
 * @param line the command with its arguments, as in `claude -p`; split into words without a shell
 * @throws {ModelUnknown} when the line is not a command
 */
export function commandModel(line: string, options: CommandOptions = {}): Model {
  const [program, ...rest] = argumentsIn(line)
  const { folder, environment, timeoutMs = 600_000, maxOutputBytes = 4 * 1024 * 1024 } = options
  const name = `command:${line.trim()}`
  return { name, takesTools: false, stream: ask }

  async function* ask(request: ModelRequest): AsyncGenerator<ModelPart, void, undefined> {
    const { signal } = request
    if (signal?.aborted) {
      yield cancelled()
      return
    }
    yield { type: 'start', model: name }
    const running = startProgram({
      program,
      arguments: rest,
      input: promptText(request),
      ...(folder !== undefined && { folder }),
      ...(environment && { environment }),
    })
    let stopped: FailurePart | undefined
    const stop = (failure: FailurePart) => {
      stopped ??= failure
      running.end()
    }
    const cancel = () => stop(cancelled())
    const timer = setTimeout(
      () => stop(failed('timed-out', `${program} took longer than ${timeoutMs / 1000} seconds.`, { retryable: false })),
      timerMs(timeoutMs),
    )
    signal?.addEventListener('abort', cancel, { once: true })
    try {
      const output = running.output()
      let bytes = 0
      for (;;) {
        const piece = await output.next()
        if (piece.done) {
          if (bytes > 0 && !stopped) yield { type: 'text-end', id: 'text' }
          yield stopped ?? endOf(program, piece.value)
          return
        }
        if (stopped) continue
        if (bytes === 0) yield { type: 'text-start', id: 'text' }
        bytes += Buffer.byteLength(piece.value)
        yield { type: 'text-delta', id: 'text', text: piece.value }
        if (bytes > maxOutputBytes) {
          stop(failed('bad-response', `${program} printed more than ${maxOutputBytes} bytes.`, { retryable: false }))
        }
      }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      running.end()
    }
  }
}

function endOf(program: string, end: ProgramEnd): ModelPart {
  if (end.type === 'not-started') {
    return failed('failed', `${program} could not be started: ${end.reason}. Install it, or put it on the PATH.`)
  }
  const stderr = end.stderr.trim()
  const why = stderr === '' ? 'Its standard error is empty.' : stderr
  if (end.type === 'killed') return failed('failed', `${program} was killed by ${end.by}. ${why}`)
  if (end.code === 0) return { type: 'finish', stopReason: 'stop' }
  return failed('failed', `${program} ended with exit code ${end.code}. ${why}`, { status: end.code })
}
