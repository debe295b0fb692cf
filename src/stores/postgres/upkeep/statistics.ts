/** Asks the server to look at its tables while they are young. */
import type { Database } from '../database.ts'

/**
 * A new table has no statistics, all its indexes look alike to the server, and it may choose one that reads the whole
 * project. It looks at its tables by itself about once a minute; a table that grows quickly cannot wait so long.
 */
export function keepStatistics(database: Database) {
  let events = 0
  let next = 200
  return {
    grown(count: number): void {
      events += count
      if (events < next) return
      next = events * 8
      // Only their owner may; others leave it to the server.
      database
        .once('analyze conversations, ends, events, lanes, sessions, docs, blobs, blob_uses, keys')
        .catch(() => undefined)
    },
  }
}
