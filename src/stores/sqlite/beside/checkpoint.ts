/** Moves the write-ahead log's pages into the database file, off the engine's thread. */
import type { Database } from '../database.ts'

export function checkpointer(database: Database) {
  const passive = database.prepare('pragma wal_checkpoint(passive)')
  const restart = database.prepare('pragma wal_checkpoint(restart)')
  const truncate = database.prepare('pragma wal_checkpoint(truncate)')
  return {
    /**
     * Copies most of it without making anybody wait, then the little that came meanwhile while writers stand aside, so
     * that the next one starts the log over in place. Without the second step a busy writer would keep it growing.
     */
    restart(): undefined {
      passive.all()
      restart.all()
    },
    /** Waits its turn and empties the log, so that content erased or purged does not linger there. */
    truncate(): undefined {
      truncate.all()
    },
  }
}
