/**
 * Lines that a person types. Nothing that is typed or pasted gets lost: what comes while nobody asks waits, unseen, for
 * the next question.
 */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { style } from '../terminal/terminal.ts'

export interface LineReader {
  /** What was typed; a line that ends with a backslash goes on in the next. Undefined when it was broken off. */
  ask(prompt: string, signal?: AbortSignal): Promise<string | undefined>
  /** Whether there is nobody any more. */
  readonly isOver: boolean
  close(): void
}

export interface LineReaderOptions {
  /** Newest first. */
  history: string[]
  historySize: number
  /** Ctrl-C; true when something had been typed, which is thrown away. */
  onInterrupt(hadText: boolean): void
  onClose(): void
}

/** Terminals that know it put pasted text between marks, so that its line breaks are not taken for the end. */
const pasteMarks = { on: '\u001b[?2004h', off: '\u001b[?2004l' }

export function lineReader({ history, historySize, onInterrupt, onClose }: LineReaderOptions): LineReader {
  const { stdin, stdout } = process
  let asking: { prompt: string; lines: string[]; done(text: string | undefined): void } | undefined
  let isPasting = false
  let isOver = false
  const waiting: string[] = []
  const screen = unlessQuiet(() => asking === undefined)
  const terminal = createInterface({ input: stdin, output: screen, terminal: true, history, historySize, prompt: '' })
  stdout.write(pasteMarks.on)

  const onKey = (_: unknown, key: { name?: string } | undefined) => {
    if (key?.name === 'paste-start') isPasting = true
    if (key?.name === 'paste-end') isPasting = false
  }
  stdin.on('keypress', onKey)
  terminal.on('line', line => {
    // A line that goes on is marked, also where it waits.
    const goesOn = isPasting ? `${line}\\` : line
    if (asking) take(goesOn)
    else waiting.push(goesOn)
  })
  terminal.on('SIGINT', () => {
    const hadText = terminal.line !== '' || (asking?.lines.length ?? 0) > 0
    // Throws away what stands on the line.
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
    // Whoever may still write to it keeps nobody here.
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
        // What was typed ahead is shown where it is taken.
        while (asking && waiting.length > 0) {
          const line = waiting.shift()!
          stdout.write(`${line.replace(/\\$/, '')}\n`)
          take(line)
        }
      })
    },
    close: () => terminal.close(),
  }
}

/** The terminal, for what readline draws; while an answer is shown nothing is drawn into it. */
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
