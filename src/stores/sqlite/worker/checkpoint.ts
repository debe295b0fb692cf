/** Moves a write-ahead log's pages into its database file, off the engine's thread. */
import type { Database } from '../database.ts'

/** Writers wait as long as this does, and the index is not fed: what cannot be had in a moment is tried again later. */
const shortMs = 20

export function checkpointer(database: Database, busyTimeoutMs: number) {
  const sql = {
    // Of this file alone, and not of what is attached to it.
    passive: database.prepare('pragma main.wal_checkpoint(passive)'),
    restart: database.prepare('pragma main.wal_checkpoint(restart)'),
    truncate: database.prepare('pragma main.wal_checkpoint(truncate)'),
  }

  function inShort(step: 'restart' | 'truncate'): boolean {
    database.exec(`pragma busy_timeout = ${shortMs}`)
    try {
      const [isBusy] = sql[step].get() as [number]
      return isBusy === 0
    } finally {
      database.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
    }
  }

  return {
    /** Copies what is there, without making anybody wait. */
    copy(): undefined {
      sql.passive.all()
    },
    /**
     * Copies the little that came meanwhile while writers stand aside, so that the next one starts the log over in place:
     * without it a busy writer would keep the log growing. False if another process did not let it.
     */
    finish: () => inShort('restart'),
    /**
     * Empties the log, so that content erased or purged does not linger there. False if it could not: somebody is reading
     * what stood there before.
     */
    truncate: () => inShort('truncate'),
  }
}
