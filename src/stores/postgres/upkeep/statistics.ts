/** Asks the server to look at its tables while they are young. */
import type { Database } from '../database.ts'

/**
 * Returns a counter of events that lets the server look at its tables when there are eight times as many.
 *
 * To the server the indexes of a new table look alike, and it may choose one that reads the whole project. By itself it
 * looks about once a minute; a table that grows quickly cannot wait so long.
 */
export function keepStatistics(database: Database) {
  let events = 0
  let next = 200
  return {
    grown(count: number): void {
      events += count
      if (events < next) return
      next = events * 8
      // Only the owner of the tables may; other roles leave it to the server.
      database
        .once('analyze conversations, events, lanes, sessions, docs, blobs, blob_uses, keys')
        .catch(() => undefined)
    },
  }
}
