/**
 * Any command-line agent as a model: it reads a prompt on its standard input and prints its answer.
 *
 * It has tools of its own and cannot call ours. What it prints is the answer, as it is.
 */
import { timerMs } from '../../timers.ts'
import { cancelled, type FailurePart, failed } from '../failure.ts'
import type { Model, ModelPart, ModelRequest } from '../model.ts'
import { argumentsIn } from './arguments.ts'
import { type ProgramEnd, startProgram } from './process.ts'
import { promptText } from './prompt.ts'

export interface CommandOptions {
  /** The folder it works in. Default: that of this process. */
  folder?: string
  /** Default: that of this process. */
  environment?: Readonly<Record<string, string | undefined>>
  /** How long one answer may take. Default 10 minutes. */
  timeoutMs?: number
  /** The longest answer. Default 4 MB. */
  maxOutputBytes?: number
}

/**
 * @param line the command with its arguments, as in `claude -p`; cut into words without a shell
 * @throws {ModelUnknown} when the line is no command
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
    const stop = (because: FailurePart) => {
      stopped ??= because
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
    return failed('failed', `${program} could not be started: ${end.reason}. Is it installed and on the PATH?`)
  }
  const said = end.stderr.trim()
  const why = said === '' ? 'It wrote nothing to its standard error.' : said
  if (end.type === 'killed') return failed('failed', `${program} was ended by ${end.by}. ${why}`)
  if (end.code === 0) return { type: 'finish', stopReason: 'stop' }
  return failed('failed', `${program} ended with exit code ${end.code}. ${why}`, { status: end.code })
}
