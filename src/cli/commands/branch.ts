/** `colloquy branch`: another way from a version of a conversation on. */
import type { Command } from 'commander'
import { conversationOf } from '../lookup/conversation-of.ts'
import { writing } from '../open.ts'
import { examples, type GlobalOptions, wholeNumber } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { fields } from '../terminal/table.ts'
import { printJson, printLines } from '../terminal/terminal.ts'

interface BranchCommandOptions extends GlobalOptions {
  at?: number
  title?: string
}

export function addBranch(program: Command): void {
  program
    .command('branch')
    .summary('go another way from a version on')
    .description(
      'Makes a conversation that shares another up to a version and goes on by itself. Nothing is copied, and the other one stays as it is.',
    )
    .argument('<conversation>', 'id of a conversation, or of a session on it')
    .option('--at <VERSION>', 'the last version they share (default: the newest)', wholeNumber)
    .option('--title <TEXT>', "its title (default: the other's, and the version)")
    .addHelpText(
      'after',
      examples(
        ['branch ID', 'from where it is now'],
        ["branch ID --at 120 --title 'With a queue'", 'from an earlier version'],
        ['compare ID BRANCH', 'what became of the two'],
        ['merge BRANCH', 'take its conclusion back'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<BranchCommandOptions>()
      await writing(options, async colloquy => {
        const { at, title, json } = options
        const from = await conversationOf(colloquy, id)
        const branch = await colloquy.conversations.branch(from.id, at, title === undefined ? {} : { title })
        if (json) return printJson(branch)
        await printLines([
          safeLine(`"${branch.title}" branches off "${from.title}" at version ${branch.branchOf!.version}.`),
          ...fields([['conversation', safeLine(branch.id)]]),
        ])
      })
    })
}
