/** Moves the write-ahead log's pages into the database file, off the engine's thread. */
import type { Database } from '../database.ts'

/** The index is not fed while it waits for the lock; the log can wait for another time. */
const shortMs = 20

export function checkpointer(database: Database, busyTimeoutMs: number) {
  const passive = database.prepare('pragma wal_checkpoint(passive)')
  const restart = database.prepare('pragma wal_checkpoint(restart)')
  const truncate = database.prepare('pragma wal_checkpoint(truncate)')
  return {
    /** Copies what is there, without making anybody wait. */
    copy(): undefined {
      passive.all()
    },
    /**
     * Copies the little that came meanwhile while writers stand aside, so that the next one starts the log over in place:
     * without it a busy writer would keep the log growing. False if another process did not let it.
     */
    finish(): boolean {
      database.exec(`pragma busy_timeout = ${shortMs}`)
      try {
        const [isBusy] = restart.get() as [number]
        return isBusy === 0
      } finally {
        database.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
      }
    },
    /** Waits its turn and empties the log, so that content erased or purged does not linger there. */
    truncate(): undefined {
      truncate.all()
    },
  }
}
