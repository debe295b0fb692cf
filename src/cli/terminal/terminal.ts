/**
 * The output of the command line: results to stdout, everything else to stderr, colours and widths only on a terminal.
 */
import pc from 'picocolors'
import { safeJson } from './safe-text.ts'

const { stdout, stderr, stdin, env } = process

// picocolors also colours in CI, and where FORCE_COLOR says not to; we do so on a terminal only, or when told to.
const told = env.FORCE_COLOR === '0' || env.FORCE_COLOR === 'false' ? false : env.FORCE_COLOR ? true : undefined
const isColoured = ({ isTTY }: { isTTY?: boolean }) => pc.isColorSupported && (told ?? isTTY ?? false)
export const style = pc.createColors(isColoured(stdout))
export type Style = typeof style
export const errorStyle = pc.createColors(isColoured(stderr))

/** Room for a line on stdout; into a pipe or a file nothing is cut or wrapped. */
export function columns(): number {
  return stdout.isTTY ? stdout.columns || 80 : Number.POSITIVE_INFINITY
}

/** True if a person can be asked. */
export const canAsk = stdin.isTTY === true && stderr.isTTY === true

/** The reader of our output closed it, as `| head` does. That is no failure. */
export class ReaderGone extends Error {}

// Without a listener a closed pipe would end the process with a trace; the write's own callback reports it.
stdout.on('error', () => undefined)
stderr.on('error', () => undefined)

/**
 * Writes to stdout, and resolves when it is written, so that a slow reader slows us down.
 *
 * @throws {ReaderGone} when the pipe was closed
 */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, error => {
      if (!error) resolve()
      else if ('code' in error && error.code === 'EPIPE') reject(new ReaderGone())
      else reject(error)
    })
  })
}

export function printLines(lines: readonly string[]): Promise<void> {
  return lines.length === 0 ? Promise.resolve() : print(`${lines.join('\n')}\n`)
}

export function printJson(value: unknown): Promise<void> {
  return print(`${safeJson(value)}\n`)
}

/** Tells the person something that is not the result. */
export function note(line: string): void {
  stderr.write(`${line}\n`)
}
