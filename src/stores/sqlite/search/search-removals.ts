/**
 * What leaves the index. It follows the log also in what is removed there, never ahead of it: a removal that fails, or
 * that a crash cuts off, leaves both as they were. Because the index keeps no text, whoever erases something leaves it
 * here before, for whoever hears of it from the log; where nobody did, everything is built again.
 */
import type { MessageAdded } from '../../../log/events/message.ts'
import { searchableText } from '../../common/search-text/searchable.ts'
import type { Database } from '../database.ts'
import type { Landmarks } from '../upkeep/landmarks.ts'
import type { SpendingKeeper } from '../upkeep/spending.ts'
import { marksOf } from './place-marks.ts'

/** Messages of a purged conversation: so few are taken out at once, no more than so many, and one costs what taking in so many does. */
const takenOut = { few: 1000, most: 10_000, costs: 20 }

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
  /** The name of who said what was erased. */
  nobody(): number
}) {
  const sql = {
    docAt: database.prepare('select position, role, author from docs where conversation = ? and version = ?'),
    docsIn: database.prepare('select position from docs where conversation = ?'),
    wipeDoc: database.prepare('update docs set author = ?, role = ?, phase = null where position = ?'),
    deleteDoc: database.prepare('delete from docs where position = ?'),
    // The index keeps no text, so it has to be told which words to take out.
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
   * Whether it is better to build everything again than to take so many messages out: where that is less work, or where
   * whoever searches or erases meanwhile would be refused, because all of it happens under the lock of the index.
   */
  function isMuch(messages: number, size: () => number): boolean {
    if (messages < takenOut.few) return false
    return messages > takenOut.most || messages * takenOut.costs > size()
  }

  return {
    /** A message is about to be erased: leaves what must be taken out when the log says that it was. */
    expectErase(position: number): void {
      const found = messageAt(position)
      if (found) sql.leave.run(position, JSON.stringify(found.event))
    },

    /** It was not erased after all. */
    callOffErase(position: number): void {
      sql.stay.run(position)
      sql.stayed.run(position)
    },

    /** Follows the log, where a message was erased. Gives false if it has words of it that nobody can tell any more. */
    followErase({ project, conversation, version }: Record<'project' | 'conversation' | 'version', number>): boolean {
      const found = sql.docAt.get(conversation, version) as [number, number, number] | undefined
      // In a branch: of its parent, which hears of it, too.
      if (!found) return true
      const [position, role, author] = found
      const expected = sql.leaving.get(position) as [string] | undefined
      sql.left.run(position)
      const unknown = nobody()
      // Erased before it was taken in.
      if (role === unknown) return true
      if (!expected) return false
      const event = JSON.parse(expected[0]) as MessageAdded
      sql.deleteWords.run(position, searchableText(event.parts), marksOf(project, conversation))
      sql.wipeDoc.run(unknown, unknown, position)
      // Who has said nothing else there is no longer one who spoke.
      sql.leaveSilent.run(conversation, author)
      spending.takeOut(conversation, event)
      return true
    },

    /**
     * Takes everything of a conversation out, word by word, so that nothing of it stays in the file: as long as building
     * the index of twenty times as many. Gives false, and leaves it, where it is better to build everything again.
     */
    tookOut(conversation: number, size: () => number): boolean {
      const positions = (sql.docsIn.all(conversation) as Array<[number]>).map(([position]) => position)
      for (const position of positions) sql.left.run(position)
      if (isMuch(positions.length, size)) return false
      for (const position of positions) {
        const found = messageAt(position)
        if (found) sql.deleteWords.run(position, searchableText(found.event.parts), found.place)
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
