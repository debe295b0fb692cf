/** `colloquy merge`: takes the conclusion of a branch back to where it came from. */
import type { Command } from 'commander'
import { conversationOf } from '../lookup/conversation-of.ts'
import { writing } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { columns, printJson, printLines } from '../terminal/terminal.ts'
import { cut } from '../terminal/text-width.ts'
import { foldedMessage } from '../text/messages.ts'

interface MergeCommandOptions extends GlobalOptions {
  conclusion?: string
  author?: string
}

export function addMerge(program: Command): void {
  program
    .command('merge')
    .summary('take the conclusion of a branch back')
    .description(
      "Says the conclusion of a branch in the conversation it branched off, as a message that names where it comes from. Once: the same again changes nothing. The branch's other messages stay where they are.",
    )
    .argument('<branch>', 'id of a branch')
    .option('--conclusion <TEXT>', 'what to take back (default: its summary, or else its newest answer)')
    .option('--author <NAME>', 'who says it (default: user)')
    .addHelpText(
      'after',
      examples(
        ['merge BRANCH', 'its summary, or its newest answer'],
        ["merge BRANCH --conclusion 'The queue is the better way'", 'in words of your own'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<MergeCommandOptions>()
      await writing(options, async colloquy => {
        const { conclusion, author, json } = options
        const branch = await conversationOf(colloquy, id)
        const message = await colloquy.conversations.merge(branch.id, {
          ...(conclusion !== undefined && { conclusion }),
          ...(author !== undefined && { author }),
        })
        if (json) return printJson({ branchId: branch.id, message })
        await printLines([
          safeLine(`"${branch.title}" is taken back to ${message.conversationId}, version ${message.version}:`),
          cut(`  ${foldedMessage(message)}`, columns()),
        ])
      })
    })
}
