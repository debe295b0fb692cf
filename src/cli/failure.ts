/** Prints a failure and returns the exit code for it. */
import { CommanderError } from 'commander'
import { ColloquyError } from '../errors.ts'
import { Interrupted } from './terminal/interruption.ts'
import { safeJson, safeLine, safeText } from './terminal/safe-text.ts'
import { errorStyle, note, ReaderGone } from './terminal/terminal.ts'

export const exitCode = { ok: 0, failed: 1, wrongUsage: 2, damageFound: 3 } as const

/** An error with a hint of the command line for the person who typed the command. */
export class Located extends Error {
  readonly error: ColloquyError
  readonly facts: Record<string, unknown>

  constructor(error: ColloquyError, hint: string, facts: Record<string, unknown>) {
    super(hint)
    this.error = error
    this.facts = facts
  }
}

/** Tells what went wrong on stderr and returns the exit code. */
export function tell(thrown: unknown, { json }: { json: boolean }): number {
  // Results so far are valid, however little of them was read.
  if (thrown instanceof ReaderGone) return Number(process.exitCode ?? exitCode.ok)
  if (thrown instanceof CommanderError) return tellUsage(thrown, json)
  const { code, message, facts, hint } = partsOf(thrown)
  if (json) note(safeJson({ error: { code, message, facts } }))
  else {
    note(`${errorStyle.red('colloquy:')} ${safeLine(message)} ${errorStyle.dim(`[${safeText(code)}]`)}`)
    if (hint) note(safeLine(hint))
  }
  return thrown instanceof Interrupted ? thrown.exitCode : exitCode.failed
}

function tellUsage(error: CommanderError, json: boolean): number {
  // Help and version that were asked for are printed already.
  if (error.exitCode === 0) return exitCode.ok
  const isHelp = error.code === 'commander.help'
  const message = isHelp ? 'a command is missing' : usageMessage(error)
  if (json) note(safeJson({ error: { code: 'usage', message, facts: {} } }))
  else if (!isHelp) {
    note(`${errorStyle.red('colloquy:')} ${safeText(message)} ${errorStyle.dim('[usage]')}`)
    note('Add --help to see how it is used, with examples.')
  }
  return exitCode.wrongUsage
}

function usageMessage({ code, message }: CommanderError): string {
  const said = message.replace(/^error: /, '').replaceAll('\n', ' ')
  return code === 'commander.unknownOption' ? `${said}; an id or a text that begins with a dash goes behind --` : said
}

function partsOf(thrown: unknown): { code: string; message: string; facts: Record<string, unknown>; hint?: string } {
  if (thrown instanceof Located) {
    const { error, message: hint } = thrown
    return { code: error.code, message: error.message, facts: { ...error.facts, ...thrown.facts }, hint }
  }
  if (thrown instanceof ColloquyError) return { code: thrown.code, message: thrown.message, facts: thrown.facts }
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  // The system's own errors (EACCES, ENOSPC …) have a code; anything else is a defect of ours.
  return 'code' in error && typeof error.code === 'string'
    ? { code: error.code, message: error.message, facts: {} }
    : { code: 'unexpected', message: error.message, facts: { stack: error.stack } }
}
