/** The rows of the store, as upkeep reads and changes them. */
import type { RowStore } from '../../../log/rows.ts'
import { lockConversation } from '../advisory-lock.ts'
import { isConstraint } from '../errors.ts'
import type { Parts } from '../parts.ts'
import { recordWithin } from '../write/record-batch.ts'
import { RowChanges } from './row-changes.ts'
import { RowReader } from './row-reader.ts'

/** A row that another node is writing at the same moment is in the way for a moment only. */
const maxTries = 6

export function rowStore(parts: Parts): RowStore {
  const { database, projects, epoch, base, clock, index } = parts

  const change: RowStore['change'] = async (place, work) => {
    const project = await projects.ensure(place.project, clock())
    for (let tries = 1; ; tries++) {
      try {
        return await database.transaction(async run => {
          await lockConversation(run, { epoch, project, conversationId: place.conversationId })
          return work(
            new RowChanges({
              ...{ run, project, base },
              append: (proposal, now) => recordWithin(run, { epoch, base, clock: () => now }, project, proposal),
            }),
          )
        })
      } catch (error) {
        // Another node took one of its messages into the index at this moment, or used one of its blobs.
        if (tries === maxTries || !isConstraint((error as Error).cause)) throw error
      }
    }
  }

  return {
    rows: work => database.transaction(run => work(new RowReader(run)), { readOnly: true }),
    change,
    async reindex(project) {
      const meant = '($1::text is null or p.id = $1)'
      const numbers = await database.transaction(async run => {
        for (const table of ['docs', 'landmarks', 'search_progress']) {
          await run(`delete from ${table} where project in (select p.project from projects p where ${meant})`, [
            project ?? null,
          ])
        }
        return run<[number]>(`select p.project from projects p where ${meant}`, [project ?? null])
      })
      const found = numbers.map(([number]) => number)
      for (const number of found) await index.feed(number)
      return index.size(found)
    },
  }
}
