/** `colloquy compact`: turns the older messages of a session into a checkpoint now, whatever their size. */
import type { Command } from 'commander'
import type { Checkpoint, CompactOutcome } from '../../index.ts'
import { exitCode } from '../failure.ts'
import { sessionOf } from '../lookup/session-of.ts'
import { writing } from '../open.ts'
import { examples, type GlobalOptions, wholeNumber } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'
import { count } from '../text/format.ts'

interface CompactCommandOptions extends GlobalOptions {
  keep?: number
  budget?: number
}

export function addCompact(program: Command): void {
  program
    .command('compact')
    .summary('summarise older messages into a checkpoint')
    .description(
      'Summarises the older messages of a session into a checkpoint, offline, by extraction. The log keeps every message. Exits with 1 when no checkpoint could be made.',
    )
    .argument('<session>', 'id of a session')
    .option(
      '--keep <N>',
      'how many of the newest messages stay as they are (default: a tenth of the budget)',
      wholeNumber,
    )
    .option('--budget <N>', 'the budget whose share a checkpoint may take', wholeNumber)
    .addHelpText(
      'after',
      examples(
        ['compact ID', 'and see with checkpoint what came of it'],
        ['compact ID --keep 10', 'all but the last ten messages'],
        ['compact ID --json | jq -r .outcome', 'taken, nothing-to-do, held or failed'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CompactCommandOptions>()
      await writing(options, async colloquy => {
        const session = await sessionOf(colloquy, id)
        const before = await colloquy.sessions.getCheckpoint(session.id)
        const outcome = await colloquy.sessions.forceCompact(session.id, {
          ...(options.keep !== undefined && { keep: { messages: options.keep } }),
          ...(options.budget !== undefined && { budget: options.budget }),
        })
        if (options.json) await printJson({ sessionId: session.id, ...outcome })
        else await printLines(inWords(outcome, before))
        if (outcome.outcome === 'failed') process.exitCode = exitCode.failed
      })
    })
}

export function inWords(outcome: CompactOutcome, before: Checkpoint | undefined): string[] {
  switch (outcome.outcome) {
    case 'taken':
      return takenLines(outcome.checkpoint, before)
    case 'nothing-to-do':
      return ['Nothing to compact: the messages that no checkpoint stands for are few, or of the current turn.']
    case 'held':
      return ['Another run compacted this session at the same time; its checkpoint stands.']
    case 'superseded':
      return [`No checkpoint was made: ${safeLine(outcome.reason)} meanwhile. Nothing is lost.`]
    case 'failed':
      return [
        `${style.red('No checkpoint was made')}: ${safeLine(outcome.reason)}. ${before ? `Checkpoint ${before.number} stands` : 'The messages stand as they are'}; nothing is lost.`,
        ...(outcome.latched
          ? ['Requests leave out the oldest messages instead, until a checkpoint makes progress again.']
          : []),
      ]
  }
}

function takenLines({ number, base, from, upTo, messages, author, tokens }: Checkpoint, before?: Checkpoint): string[] {
  const covered = messages - (before?.number === base ? before.messages : 0)
  const { lastCompactionInput: read, checkpoint: size } = tokens
  const made = base === 0 ? count(covered, 'message') : `checkpoint ${base} and ${count(covered, 'message')}`
  return [
    `${style.green(`Checkpoint ${number}`)} made of ${made}: ${count(read)} → ${count(size, 'token')} (${Math.round(100 * (1 - size / read))} % less).`,
    style.dim(safeLine(`It stands for versions ${from} to ${upTo}; its author is ${author}.`)),
  ]
}
