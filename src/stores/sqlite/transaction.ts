/** Transactions: of changes, and of reads that belong together. */
import type { Database } from './database.ts'

/** Runs work in a transaction that takes the write lock up front: all of it is done, or nothing. */
export function inTransaction<T>(database: Database, work: () => T): T {
  return between(database, 'begin immediate', work)
}

/** Runs reads that see one state of the file, whatever other connections write meanwhile. */
export function inSnapshot<T>(database: Database, read: () => T): T {
  return between(database, 'begin', read)
}

function between<T>(database: Database, begin: string, work: () => T): T {
  database.exec(begin)
  try {
    const result = work()
    database.exec('commit')
    return result
  } catch (error) {
    rollBack(database)
    throw error
  }
}

/** Some failures, such as a full disk, have rolled back by themselves. Then there is nothing left to undo. */
export function rollBack(database: Database): void {
  try {
    database.exec('rollback')
  } catch {
    // The first error is the one to report.
  }
}
