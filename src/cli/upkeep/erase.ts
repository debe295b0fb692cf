/** `colloquy erase`: removes the content of one message permanently. */
import type { Command } from 'commander'
import { writing } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { agreeTo, refuseUnlessAsked } from '../terminal/confirm.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printJson, printLines } from '../terminal/terminal.ts'
import { cut } from '../terminal/text-width.ts'
import { count, lingering } from '../text/format.ts'
import { foldedMessage } from '../text/messages.ts'

interface EraseOptions extends GlobalOptions {
  yes?: boolean
  reason?: string
}

export function addErase(program: Command): void {
  program
    .command('erase')
    .summary("remove a message's content for ever")
    .description(
      'Removes the content of a message from the store and its index, for ever. That it was there stays provable. Archive files are out of reach: those that may hold it are named.',
    )
    .argument('<message>', 'id of a message; show and search --json have it')
    .option('--yes', 'do not ask')
    .option('--reason <TEXT>', 'why; the log keeps it')
    .addHelpText(
      'after',
      examples(['erase ID', 'asks first'], ["erase ID --yes --reason 'a password was in it'", 'and why']),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const { yes = false, reason, json, ...options } = command.optsWithGlobals<EraseOptions>()
      refuseUnlessAsked({ yes, command })
      await writing(options, async colloquy => {
        const message = await colloquy.conversations.getMessage(id)
        const question = `Erase for ever what was said here? ${cut(foldedMessage(message), 120)}`
        await agreeTo(`${safeLine(question)}\nIt cannot be brought back.`, { yes, command })
        const erased = await colloquy.conversations.erase(id, reason)
        if (json) return printJson({ messageId: id, ...erased })
        const { conversationId, version, archives, contents, checkpoints } = erased
        await printLines([
          safeLine(`Erased the content of message ${id} (conversation ${conversationId} #${version}).`),
          ...(contents.length === 0 ? [] : [`And what it referred to: ${contents.map(one => `#${one}`).join(', ')}.`]),
          ...(checkpoints.length === 0
            ? []
            : [`And from ${count(checkpoints.length, 'checkpoint')} that said something of it.`]),
          ...(archives.length === 0 ? [] : ['These archives may still hold it and are out of reach:']),
          ...archives.map(archive => `  ${safeLine(archive)}`),
          ...lingering(erased),
        ])
      })
    })
}
