/** `colloquy purge`: writes a conversation to an archive file, then removes it from the store. */
import { type Command, InvalidArgumentError } from 'commander'
import { archivesProblem } from '../../app/configuration/archive-places.ts'
import { findConversation } from '../lookup/find.ts'
import { writing } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { agreeTo, refuseUnlessAsked } from '../terminal/confirm.ts'
import { clearingUp } from '../terminal/interruption.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printJson, printLines } from '../terminal/terminal.ts'
import { count, lingering } from '../text/format.ts'

interface PurgeOptions extends GlobalOptions {
  yes?: boolean
  to?: string
  reason?: string
}

export function addPurge(program: Command): void {
  program
    .command('purge')
    .summary('move a conversation out of the store')
    .description('Writes a whole conversation to an archive file, then removes it. restore brings it back.')
    .argument('<conversation>', 'id of a conversation')
    .option('--yes', 'do not ask')
    .option('--to <PLACE>', 'a folder, or s3://bucket/prefix?endpoint=… (default: archives beside the store)', place)
    .option('--reason <TEXT>', 'why; the record of the purge keeps it')
    .addHelpText(
      'after',
      examples(
        ['purge ID', 'asks first'],
        ['purge ID --yes --to /backup/colloquy', 'to a folder of yours'],
        ["purge ID --yes --to 's3://cold/shop?endpoint=https://s3.example.com'", 'to a bucket'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const { yes = false, to, reason, json, ...options } = command.optsWithGlobals<PurgeOptions>()
      refuseUnlessAsked({ yes, command })
      await writing({ ...options, ...(to !== undefined && { archives: to }) }, async colloquy => {
        const { title, version } = await findConversation(colloquy, id)
        const question = `Purge conversation ${id} "${title}" with ${count(version, 'event')}? An archive of it is written first.`
        await agreeTo(safeLine(question), { yes, command })
        const purged = await clearingUp(signal => colloquy.conversations.purge(id, reason, { signal }))
        if (json) return printJson(purged)
        await printLines([
          safeLine(`Purged conversation ${id} "${title}" with ${count(purged.events, 'event')}.`),
          safeLine(`Its archive: ${purged.archive}`),
          ...lingering(purged),
        ])
      })
    })
}

function place(text: string): string {
  const problem = archivesProblem(text)
  if (problem) throw new InvalidArgumentError(problem)
  return text
}
