/**
 * Removes messages and conversations from the index, after the log and never ahead of it: a removal that fails, or that a
 * crash cuts off, leaves both as they were.
 *
 * FTS5 removes words only if it is given them, and the index keeps no text. So a process that erases a message stores it
 * in `leaving` before, for the process that reads of it in the log. Without that, the index is built again.
 */
import type { MessageAdded } from '../../../log/events/message.ts'
import { searchableText } from '../../common/search-text/searchable.ts'
import type { Database } from '../database.ts'
import type { Landmarks } from '../upkeep/landmarks.ts'
import type { SpendingKeeper } from '../upkeep/spending.ts'
import { marksOf } from './place-marks.ts'

/** Messages of a purged conversation are removed one by one if they are few. Removing one costs as much as indexing 20. */
const removal = { few: 1000, most: 10_000, cost: 20 }

/** Each of these runs within a transaction of the index. */
export function searchRemovals({
  database,
  landmarks,
  spending,
  messageAt,
  nobody,
}: {
  database: Database
  landmarks: Pick<Landmarks, 'forget'>
  spending: Pick<SpendingKeeper, 'takeOut' | 'forget'>
  /** The message at a position, as long as its content is in the log. */
  messageAt(position: number): { place: string; event: MessageAdded } | undefined
  /** The name that erased messages have as their author. */
  nobody(): number
}) {
  const sql = {
    docAt: database.prepare('select position, role, author from docs where conversation = ? and version = ?'),
    docsIn: database.prepare('select position from docs where conversation = ?'),
    wipeDoc: database.prepare('update docs set author = ?, role = ?, phase = null where position = ?'),
    deleteDoc: database.prepare('delete from docs where position = ?'),
    // FTS5 has to be given the words to remove.
    deleteWords: database.prepare(`insert into words (words, rowid, text, place) values ('delete', ?, ?, ?)`),
    deleteTitle: database.prepare('delete from titles where rowid = ?'),
    deletePhase: database.prepare('delete from phases where conversation = ?'),
    deleteParticipants: database.prepare('delete from participants where conversation = ?'),
    leaveSilent: database.prepare(`
      delete from participants where conversation = ?1 and name = ?2
        and not exists (select 1 from docs where conversation = ?1 and author = ?2)`),
    leaving: database.prepare('select event from leaving where position = ?'),
    leave: database.prepare(`
      insert into leaving (position, event, wanted) values (?, ?, 1) on conflict do update set wanted = wanted + 1`),
    stay: database.prepare('update leaving set wanted = wanted - 1 where position = ?'),
    stayed: database.prepare('delete from leaving where position = ? and wanted <= 0'),
    left: database.prepare('delete from leaving where position = ?'),
  }

  /**
   * True when building the index again is better than removing so many messages: it is less work, or the removal would
   * hold the lock of the index so long that other processes were refused.
   */
  function isMuch(messages: number, size: () => number): boolean {
    if (messages < removal.few) return false
    return messages > removal.most || messages * removal.cost > size()
  }

  return {
    /** Stores a message that is about to be erased, until the log says that it was. */
    expectErase(position: number): void {
      const message = messageAt(position)
      if (message) sql.leave.run(position, JSON.stringify(message.event))
    },

    /** Drops a message that was not erased after all. */
    callOffErase(position: number): void {
      sql.stay.run(position)
      sql.stayed.run(position)
    },

    /** Removes a message that the log says was erased. Returns false when its words are not known any more. */
    followErase({ project, conversation, version }: Record<'project' | 'conversation' | 'version', number>): boolean {
      const doc = sql.docAt.get(conversation, version) as [number, number, number] | undefined
      // A branch erases a message of its parent, whose own log says so too.
      if (!doc) return true
      const [position, role, author] = doc
      const expected = sql.leaving.get(position) as [string] | undefined
      sql.left.run(position)
      const unknown = nobody()
      // It was erased before it was indexed.
      if (role === unknown) return true
      if (!expected) return false
      const event = JSON.parse(expected[0]) as MessageAdded
      sql.deleteWords.run(position, searchableText(event.parts), marksOf(project, conversation))
      sql.wipeDoc.run(unknown, unknown, position)
      // An author of no other message there is no participant any more.
      sql.leaveSilent.run(conversation, author)
      spending.takeOut(conversation, event)
      return true
    },

    /**
     * Removes a conversation, word by word, so that nothing of it stays in the file. Returns false, with nothing removed,
     * when it is better to build the index again.
     */
    removeConversation(conversation: number, size: () => number): boolean {
      const positions = (sql.docsIn.all(conversation) as Array<[number]>).map(([position]) => position)
      for (const position of positions) sql.left.run(position)
      if (isMuch(positions.length, size)) return false
      for (const position of positions) {
        const message = messageAt(position)
        if (message) sql.deleteWords.run(position, searchableText(message.event.parts), message.place)
        sql.deleteDoc.run(position)
      }
      sql.deleteTitle.run(conversation)
      sql.deletePhase.run(conversation)
      sql.deleteParticipants.run(conversation)
      landmarks.forget(conversation)
      spending.forget(conversation)
      return true
    },
  }
}
