/**
 * The calls of `Upkeep`, made of operations that may run in a worker. An archive is a stream, which reaches the worker in
 * pages.
 */
import { randomUUID } from 'node:crypto'
import { ConversationPurged, IllegalState, NotFound, StoreFailed } from '../../errors.ts'
import type { Accounts } from '../accounts.ts'
import { purgedInto } from '../archive-place.ts'
import type { Directory } from '../directory.ts'
import type { ConversationPlace } from '../rows.ts'
import type { Upkeep } from '../upkeep.ts'
import type { ExportCursor, ExportedPage, RunUpkeep } from '../upkeep-work.ts'
import type { Windows } from '../windows.ts'
import { provedLines } from './archive-check.ts'

type UpkeepCalls = Omit<Upkeep, 'expiring' | 'archivable' | 'due'> & Pick<Accounts, 'audit'> & Pick<Directory, 'totals'>

interface UpkeepCallsInput {
  run: RunUpkeep
  message: Windows['message']
  conversation: Directory['conversation']
  clock: () => number
}

/** Lines of a page that is sent to the worker. */
const linesPerPage = 500

export function upkeepCalls({ run, message, conversation, clock }: UpkeepCallsInput): UpkeepCalls {
  /** Explains why a conversation is not there. */
  async function missing({ project, conversationId }: ConversationPlace): Promise<Error> {
    const purge = (await run('purges', { project })).find(record => record.conversationId === conversationId)
    return purge
      ? new ConversationPurged({ conversationId, archive: purge.archive })
      : new NotFound('conversation', conversationId)
  }

  async function headOf(place: ConversationPlace) {
    const head = await conversation(place.project, place.conversationId)
    if (head) return head
    throw await missing(place)
  }

  return {
    verify: ({ project, onProgress } = {}) => run('verify', project === undefined ? {} : { project }, onProgress),
    repair: ({ project, onProgress } = {}) => run('repair', project === undefined ? {} : { project }, onProgress),
    async erase({ project, messageId, ...request }) {
      const stored = await message(project, messageId)
      if (!stored) throw new NotFound('message', messageId)
      const { conversationId, version } = stored
      return run('erase', { ...request, project, conversationId, message: { id: messageId, version }, now: clock() })
    },
    rewrite: async request => {
      await headOf(request)
      return run('rewrite', { ...request, now: clock() })
    },
    async purge({ project, conversationId, to, reason, origin }) {
      const place = { project, conversationId }
      try {
        await headOf(place)
      } catch (error) {
        // The process that purged it may have been cut off right behind it.
        if (error instanceof ConversationPurged) await run('finishRemoval', undefined)
        throw error
      }
      await run('refuseWithBranches', place)
      const end = { hash: '' }
      const archive = await to.write(
        `${project}-${conversationId}`,
        withEnd(provedLines(exportedLines(run, place)), end),
      )
      const input = { ...place, archive, hash: end.hash, now: clock(), origin, ...(reason !== undefined && { reason }) }
      const recorded = () => run('purges', { project })
      const purged = await purgedInto({ to, archive, recorded }, () => run('purge', input))
      return { conversationId, archive, ...purged }
    },
    purges: project => run('purges', { project }),
    async restore({ project, lines }) {
      const id = await restoreLines(run, { project, lines, now: clock() })
      const head = await conversation(project, id)
      if (head) return head
      throw new StoreFailed(`Conversation ${id} was restored but cannot be read.`, { id })
    },
    async *export(place) {
      await headOf(place)
      yield* exportedLines(run, place)
    },
    audit: query => run('audit', query),
    totals: project => run('totals', { project }),
  }
}

/** Passes on the lines of an archive, and stores in `end` the hash of its last event, from the closing line. */
async function* withEnd(lines: AsyncIterable<string>, end: { hash: string }): AsyncGenerator<string> {
  let last = ''
  for await (const line of lines) {
    last = line
    yield line
  }
  const closing = JSON.parse(last) as { end?: true; hash?: string }
  if (!closing.end || closing.hash === undefined) throw new IllegalState('The archive has no end. Nothing was purged.')
  end.hash = closing.hash
}

/** Reads a conversation as the lines of an archive. */
export async function* exportedLines(run: RunUpkeep, place: ConversationPlace): AsyncGenerator<string> {
  let cursor: ExportCursor | undefined
  do {
    const page: ExportedPage | undefined = await run('exportPage', { ...place, cursor })
    if (!page) throw new StoreFailed('The conversation was purged while it was exported.', { ...place })
    yield* page.lines
    cursor = page.next
  } while (cursor)
}

/** Restores the lines of an archive, and returns the id of the conversation. */
export async function restoreLines(
  run: RunUpkeep,
  { project, lines, now }: { project: string; lines: AsyncIterable<string>; now: number },
): Promise<string> {
  const ticket = randomUUID()
  let page: string[] = []
  try {
    for await (const line of lines) {
      page.push(line)
      if (page.length < linesPerPage) continue
      await run('restorePage', { ticket, project, lines: page, isLast: false, now })
      page = []
    }
    return (await run('restorePage', { ticket, project, lines: page, isLast: true, now }))!
  } catch (error) {
    await run('abandonRestore', { ticket }).catch(() => undefined)
    throw error
  }
}
