/** Moves the pages of a write-ahead log into its database file, in the worker. */
import type { Database } from '../database.ts'

/** Writers and the feed of the index wait for a checkpoint, so it gives up soon and is tried again later. */
const maxLockWaitMs = 20

export function checkpointer(database: Database, busyTimeoutMs: number) {
  const sql = {
    // `main` is this file without the attached one.
    passive: database.prepare('pragma main.wal_checkpoint(passive)'),
    restart: database.prepare('pragma main.wal_checkpoint(restart)'),
    truncate: database.prepare('pragma main.wal_checkpoint(truncate)'),
  }

  function briefly(step: 'restart' | 'truncate'): boolean {
    database.exec(`pragma busy_timeout = ${maxLockWaitMs}`)
    try {
      const [isBusy] = sql[step].get() as [number]
      return isBusy === 0
    } finally {
      database.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
    }
  }

  return {
    /** Copies the pages of the log that no reader needs. No process waits for it. */
    copy(): undefined {
      sql.passive.all()
    },
    /**
     * Copies the last pages while writers stand aside, so that the next write starts at the beginning of the log. Without
     * it a busy writer keeps the log growing. Returns false when another process holds a lock.
     */
    finish: () => briefly('restart'),
    /** Empties the log, so that no erased content stays in it. Returns false when another process still reads from it. */
    truncate: () => briefly('truncate'),
  }
}
