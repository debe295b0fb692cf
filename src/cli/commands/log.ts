/** `colloquy log`: the events of a conversation as the log has them, one a line. */
import type { Command } from 'commander'
import type { Colloquy, RecordedEvent } from '../../index.ts'
import { findConversation } from '../lookup/find.ts'
import { reading } from '../open.ts'
import { examples, type GlobalOptions, refuseBackwards, wholeNumber } from '../options.ts'
import { safeJson, safeLine } from '../terminal/safe-text.ts'
import { note, printLines } from '../terminal/terminal.ts'
import { eventLine } from '../text/event-line.ts'

interface LogOptions extends GlobalOptions {
  from: number
  to?: number
  limit?: number
}

const pageSize = 200

export function addLog(program: Command): void {
  program
    .command('log')
    .summary("print a conversation's events")
    .description('Prints the events of a conversation, one a line, in order. With --json each line is a whole event.')
    .argument('<conversation>', 'id of a conversation')
    .option('--from <VERSION>', 'first version', wholeNumber, 1)
    .option('--to <VERSION>', 'last version', wholeNumber)
    .option('--limit <N>', 'how many at the most', wholeNumber)
    .addHelpText(
      'after',
      examples(
        ['log ID', 'everything, from the beginning'],
        ['log ID --from 100 --to 120', 'a range of versions'],
        ['log ID --json | jq .event.type', 'whole events, for a script'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<LogOptions>()
      refuseBackwards(command, ['--from', options.from], ['--to', options.to])
      await reading(options, async colloquy => {
        const { version } = await findConversation(colloquy, id)
        const width = String(version).length
        if (options.from > version) note(safeLine(`Nothing there: ${id} is at version ${version}.`))
        for await (const page of eventPages(colloquy, id, options)) {
          await printLines(page.map(recorded => (options.json ? safeJson(recorded) : eventLine(recorded, width))))
        }
      })
    })
}

/** The events of a range, a page at a time: a conversation may be longer than the memory we want to spend on it. */
export async function* eventPages(
  colloquy: Colloquy,
  conversationId: string,
  { from = 1, to, limit = Number.POSITIVE_INFINITY }: { from?: number; to?: number; limit?: number } = {},
): AsyncGenerator<RecordedEvent[]> {
  let next = from
  let left = limit
  while (left > 0) {
    const size = Math.min(left, pageSize)
    const page = await colloquy.conversations.getEvents(conversationId, {
      from: next,
      limit: size,
      ...(to !== undefined && { to }),
    })
    if (page.length > 0) yield page
    if (page.length < size) return
    left -= page.length
    next = page.at(-1)!.version + 1
  }
}
