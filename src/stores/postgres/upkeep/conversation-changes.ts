/** Changes to a conversation as a whole, each in a transaction that holds its lock: erase, rewrite, purge, restore. */
import { ConversationPurged, NotFound, StoreFailed } from '../../../errors.ts'
import { purgedInto } from '../../../log/archive-place.ts'
import { idProblem } from '../../../log/events/id.ts'
import { provedHeading, provedLines } from '../../../log/upkeep/archive-check.ts'
import type { Upkeep } from '../../../log/upkeep.ts'
import { lockConversation } from '../advisory-lock.ts'
import type { Run } from '../database.ts'
import { isConstraint } from '../errors.ts'
import type { Parts } from '../parts.ts'
import { refuseWithBranches } from '../write/branches.ts'
import { recordWithin } from '../write/record-batch.ts'
import { archiveLines, purges } from './archives.ts'
import { archivesOf, type EraseInput, erase, type RecordWithin, rewrite } from './erase.ts'
import { importConversation, linesIn } from './import.ts'
import { purge } from './purge.ts'

type ConversationChanges = Pick<Upkeep, 'rewrite' | 'erase' | 'purge' | 'purges' | 'restore' | 'export'>

/** A row that another node is writing at the same moment is in the way for a moment only. */
const maxTries = 6

export function conversationChanges(parts: Parts): ConversationChanges {
  const { database, projects, epoch, base, clock, guard, directory, subscriptions, commits } = parts
  const record: RecordWithin = (run, number, proposal) => recordWithin(run, parts, number, proposal)

  async function change<T>(number: number, conversationId: string, work: (run: Run) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await database.transaction(async run => {
          await lockConversation(run, { epoch, project: number, conversationId })
          return work(run)
        })
      } catch (error) {
        // Another node took one of its messages into the index at this moment, or used one of its blobs.
        if (tries === maxTries || !isConstraint((error as Error).cause)) throw error
      }
    }
  }

  async function headOf(project: string, conversationId: string) {
    const number = await projects.find(project)
    if (number === undefined) throw new NotFound('conversation', conversationId)
    const [row] = idProblem(conversationId)
      ? []
      : await database.read<[number, number, Uint8Array]>(
          'select conversation, version, hash from conversations where project = $1 and id = $2',
          [number, conversationId],
        )
    if (row) return { number, conversation: row[0], upTo: row[1], hash: row[2] }
    const purged = (await purges(database, number)).find(record => record.conversationId === conversationId)
    throw purged
      ? new ConversationPurged({ conversationId, archive: purged.archive })
      : new NotFound('conversation', conversationId)
  }

  /** Changes the content of the log: memory must not hold what is gone. */
  async function changeContent<T>(input: EraseInput, work: (run: Run) => Promise<T>): Promise<T> {
    const result = await change(input.number, input.place.conversationId, work)
    subscriptions.forget()
    commits.add([input.project])
    return result
  }

  return {
    rewrite: ({ project, conversationId, message, reason, origin, copies }) =>
      guard.writing(async () => {
        const { number, conversation } = await headOf(project, conversationId)
        const place = { conversation, conversationId, version: message.version }
        const input = { project, number, messageId: message.id, reason, origin, copies, place }
        return changeContent(input, async run => {
          await rewrite(run, record, input)
          return archivesOf(run, number, conversationId)
        })
      }),

    erase: ({ project, messageId, reason, origin, copies }) =>
      guard.writing(async () => {
        const { number, places } = await parts.placesOf(project, messageId)
        const [found] = places
        const [row] = found
          ? await database.read<[string]>('select id from conversations where project = $1 and conversation = $2', [
              number,
              found.conversation,
            ])
          : []
        if (!found || !row) throw new NotFound('message', messageId)
        const place = { ...found, conversationId: row[0] }
        const input = { project, number, messageId, reason, origin, copies, place }
        return changeContent(input, run => erase(run, record, input))
      }),

    purge: ({ project, conversationId, to, reason, origin }) =>
      guard.writing(async () => {
        const head = await headOf(project, conversationId)
        const { number, hash } = head
        await refuseWithBranches(database.read, { ...head, conversationId })
        const lines = provedLines(archiveLines(database, { project, conversationId, ...head }))
        const archive = await to.write(`${project}-${conversationId}`, lines)
        const input = { number, conversationId, archive, hash, now: clock(), reason, origin }
        const events = await purgedInto({ to, archive, recorded: () => purges(database, number) }, () =>
          change(number, conversationId, run => purge(run, input)),
        )
        subscriptions.forget()
        return { conversationId, events, archive }
      }),

    purges: project =>
      guard.reading(async () => {
        const number = await projects.find(project)
        return number === undefined ? [] : purges(database, number)
      }),

    restore: ({ project, lines: given }) =>
      guard.writing(async () => {
        const lines = await linesIn(given)
        const heading = provedHeading(lines, project)
        const { conversationId } = heading
        const number = await projects.ensure(project, clock())
        await change(number, conversationId, run =>
          importConversation(run, { project, number, base, heading, lines, now: clock() }),
        )
        commits.add([project])
        const head = await directory.conversation(project, conversationId)
        if (head) return head
        throw new StoreFailed(`Conversation ${conversationId} was restored but cannot be read.`, { conversationId })
      }),

    async *export({ project, conversationId }) {
      const head = await guard.reading(() => headOf(project, conversationId))
      yield* archiveLines(database, { project, conversationId, ...head })
    },
  }
}
