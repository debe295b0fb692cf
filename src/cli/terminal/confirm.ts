/** Asks before something is removed permanently. */
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { IllegalState } from '../../errors.ts'
import { canAsk } from './terminal.ts'

/**
 * Returns when `--yes` was given, or when the person agrees.
 *
 * @throws {CommanderError} without a terminal to ask on @throws {IllegalState} when the person declines
 */
export async function agreeTo(question: string, { yes, command }: { yes: boolean; command: Command }): Promise<void> {
  if (yes) return
  refuseUnlessAsked({ yes, command })
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl-C and the end of input are answers too, and they are no.
  const left = new Promise<string>(resolve =>
    terminal.once('SIGINT', () => resolve('')).once('close', () => resolve('')),
  )
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), left])
    if (!/^y(es)?$/i.test(answer.trim())) throw new IllegalState('Nothing was changed.')
  } finally {
    terminal.close()
  }
}

/** Called before anything is opened: wrong usage is told first. */
export function refuseUnlessAsked({ yes, command }: { yes: boolean; command: Command }): void {
  if (yes || canAsk) return
  command.error(`error: '${command.name()}' removes something and there is nobody to ask. Add --yes if that is meant.`)
}
