/**
 * Lines that a person types. Nothing typed or pasted gets lost: input that comes between two questions waits, unseen, for
 * the next one.
 */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { style } from '../terminal/terminal.ts'

interface LineReader {
  /** Resolves to the typed text, or undefined when it was broken off. A backslash at the end continues the line. */
  ask(prompt: string, signal?: AbortSignal): Promise<string | undefined>
  /** The input has ended. */
  readonly isOver: boolean
  close(): void
}

interface LineReaderOptions {
  /** Newest first. */
  history: string[]
  historySize: number
  /** Called on Ctrl-C; `hadText` when typed text was thrown away. */
  onInterrupt(hadText: boolean): void
  onClose(): void
}

/** Makes terminals that support it put pasted text between marks, so that its line breaks do not end the input. */
const pasteMarks = { on: '\u001b[?2004h', off: '\u001b[?2004l' }

export function lineReader({ history, historySize, onInterrupt, onClose }: LineReaderOptions): LineReader {
  const { stdin, stdout } = process
  let asking: { prompt: string; lines: string[]; done(text: string | undefined): void } | undefined
  let isPasting = false
  let isOver = false
  const waitingLines: string[] = []
  const screen = unlessQuiet(() => asking === undefined)
  const terminal = createInterface({ input: stdin, output: screen, terminal: true, history, historySize, prompt: '' })
  stdout.write(pasteMarks.on)

  const onKey = (_: unknown, key: { name?: string } | undefined) => {
    if (key?.name === 'paste-start') isPasting = true
    if (key?.name === 'paste-end') isPasting = false
  }
  stdin.on('keypress', onKey)
  terminal.on('line', line => {
    // A pasted line is marked as continued, also while it waits.
    const goesOn = isPasting ? `${line}\\` : line
    if (asking) take(goesOn)
    else waitingLines.push(goesOn)
  })
  terminal.on('SIGINT', () => {
    const hadText = terminal.line !== '' || (asking?.lines.length ?? 0) > 0
    // Clears the line: to its end, then back to its start.
    terminal.write(null, { ctrl: true, name: 'e' })
    terminal.write(null, { ctrl: true, name: 'u' })
    const { prompt } = asking ?? {}
    onInterrupt(hadText)
    if (!asking || asking.prompt !== prompt) return
    asking.lines = []
    show(asking.prompt)
  })
  terminal.on('close', () => {
    isOver = true
    stdout.write(pasteMarks.off)
    stdin.off('keypress', onKey)
    // An open input must not keep the process alive.
    stdin.unref()
    asking?.done(undefined)
    onClose()
  })

  function show(prompt: string): void {
    terminal.setPrompt(prompt)
    terminal.prompt(true)
  }

  function take(line: string): void {
    if (!asking) return
    asking.lines.push(line.replace(/\\$/, ''))
    if (line.endsWith('\\')) show(style.dim('… '))
    else asking.done(asking.lines.join('\n').trim())
  }

  return {
    get isOver() {
      return isOver
    },
    ask(prompt, signal) {
      if (isOver || signal?.aborted) return Promise.resolve(undefined)
      return new Promise(resolve => {
        const stop = () => done(undefined)
        const done = (text: string | undefined) => {
          signal?.removeEventListener('abort', stop)
          asking = undefined
          resolve(text)
        }
        signal?.addEventListener('abort', stop)
        asking = { prompt, lines: [], done }
        show(prompt)
        // Lines typed ahead are shown when they are used.
        while (asking && waitingLines.length > 0) {
          const line = waitingLines.shift()!
          stdout.write(`${line.replace(/\\$/, '')}\n`)
          take(line)
        }
      })
    },
    close: () => terminal.close(),
  }
}

/** Passes on what readline draws, but draws nothing into an answer that is being shown. */
function unlessQuiet(isQuiet: () => boolean): Writable {
  const { stdout } = process
  const screen = new Writable({
    write(piece, _encoding, done) {
      if (!isQuiet()) stdout.write(piece)
      done()
    },
  })
  Object.defineProperty(screen, 'columns', { get: () => stdout.columns })
  stdout.on('resize', () => screen.emit('resize'))
  return screen
}
