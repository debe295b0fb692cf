/** Runs work in a transaction that takes the write lock up front: all of it is done, or nothing. */
import type { Database } from './database.ts'

export function inTransaction<T>(database: Database, work: () => T): T {
  database.exec('begin immediate')
  try {
    const result = work()
    database.exec('commit')
    return result
  } catch (error) {
    try {
      database.rollback()
    } catch {
      // Some failures, a full disk among them, have rolled back by themselves. The first error is the one to tell.
    }
    throw error
  }
}
