/** `colloquy archive`: puts a conversation or a session away, read-only. */
import type { Command } from 'commander'
import { find } from '../lookup/find.ts'
import { writing } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printJson, printLines } from '../terminal/terminal.ts'

interface ArchiveOptions extends GlobalOptions {
  reason?: string
}

export function addArchive(program: Command): void {
  program
    .command('archive')
    .summary('put a conversation or a session away')
    .description('Makes a conversation or a session read-only and takes it out of the default list. restore undoes it.')
    .argument('<id>', 'id of a conversation or a session')
    .option('--reason <TEXT>', 'why; the log keeps it')
    .addHelpText(
      'after',
      examples(['archive ID', 'a conversation or a session'], ["archive ID --reason 'released in 2.1'", 'and why']),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const { reason, json, ...options } = command.optsWithGlobals<ArchiveOptions>()
      await writing(options, async colloquy => {
        const found = await find(colloquy, id)
        if (found.kind === 'session') {
          const session = await colloquy.sessions.archiveSession(id, reason)
          if (json) return printJson({ kind: 'session', session })
          const was = found.session.status === 'archived'
          return printLines([
            safeLine(`Session ${id} of ${session.agentName} ${was ? 'was archived before' : 'is archived'}.`),
          ])
        }
        const conversation = await colloquy.conversations.archive(id, reason)
        if (json) return printJson({ kind: 'conversation', conversation })
        const was = found.conversation.status === 'archived'
        await printLines([
          safeLine(`Conversation ${id} "${conversation.title}" ${was ? 'was archived before' : 'is archived'}.`),
        ])
      })
    })
}
