/** `colloquy restore`: brings back what was archived or purged. */
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { ConversationPurged, InvalidInput, NotFound } from '../../errors.ts'
import type { Colloquy, Conversation, Session } from '../../index.ts'
import { find } from '../lookup/find.ts'
import { writing } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printJson, printLines } from '../terminal/terminal.ts'
import { count } from '../text/format.ts'

interface RestoreOptions extends GlobalOptions {
  reason?: string
}

type Restored = { kind: 'session'; session: Session } | { kind: 'conversation'; conversation: Conversation }

export function addRestore(program: Command): void {
  program
    .command('restore')
    .summary('bring back what was archived or purged')
    .description(
      'Takes a conversation or a session out of the archive, or reads a purged conversation back from its archive file, every hash checked.',
    )
    .argument('<id-or-archive>', 'id of a conversation or a session, or an archive file (or s3://…)')
    .option('--reason <TEXT>', 'why, of a conversation that was archived or purged; the log keeps it')
    .addHelpText(
      'after',
      examples(
        ['restore ID', 'archived, or purged: its archive is known'],
        ['restore .colloquy/archives/FILE.jsonl.gz', 'from an archive file'],
      ),
    )
    .action(async (what: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<RestoreOptions>()
      const found = await writing(options, colloquy => bringBack(colloquy, what, options.reason))
      const restored = typeof found === 'string' ? await fromArchive(found, options) : found
      if (options.json) return printJson(restored)
      await printLines([safeLine(sentence(restored))])
    })
}

/**
 * Returns the restored conversation, or the address of the archive to restore. An id goes before a file of the same
 * name.
 */
async function bringBack(colloquy: Colloquy, id: string, reason: string | undefined): Promise<Restored | string> {
  try {
    const { kind } = await find(colloquy, id)
    if (kind === 'session') refuseReason(reason, 'a session')
    return kind === 'session'
      ? { kind, session: await colloquy.sessions.reopenSession(id) }
      : { kind, conversation: await colloquy.conversations.restore(id, reason) }
  } catch (error) {
    if (!(error instanceof ConversationPurged || error instanceof NotFound)) throw error
    if (error instanceof ConversationPurged)
      return { kind: 'conversation', conversation: await colloquy.conversations.restore(id, reason) }
    if (id.startsWith('s3:') || existsSync(id)) {
      refuseReason(reason, 'an archive file')
      return id
    }
    throw new NotFound('conversation', id, 'Nor is there a session of that id, or an archive file of that name.')
  }
}

/** A reason that nothing would keep is refused. */
function refuseReason(reason: string | undefined, what: string): void {
  if (reason !== undefined)
    throw new InvalidInput('--reason', `nothing keeps it where ${what} is restored; leave it out`)
}

function fromArchive(archive: string, options: RestoreOptions): Promise<Restored> {
  return writing(options, async colloquy => ({
    kind: 'conversation',
    conversation: await colloquy.conversations.restoreFrom(archive),
  }))
}

function sentence(restored: Restored): string {
  if (restored.kind === 'session') {
    const { id, agentName, status } = restored.session
    return `Session ${id} of ${agentName} is ${status}.`
  }
  const { id, title, status, version } = restored.conversation
  return `Conversation ${id} "${title}" is ${status}, with ${count(version, 'event')}.`
}
