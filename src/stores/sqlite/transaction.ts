/** Transactions: of changes, and of reads that belong together. */
import type { Database } from './database.ts'

/** Runs work in a transaction that takes the write lock up front: all of it is done, or nothing. */
export function inTransaction<T>(database: Database, work: () => T): T {
  database.exec('begin immediate')
  try {
    const result = work()
    database.exec('commit')
    return result
  } catch (error) {
    rollBack(database)
    throw error
  }
}

/** Gives what runs reads that see one state of the file, whatever others write between them. */
export function snapshots(database: Database): <T>(read: () => T) => T {
  const begin = database.prepare('begin')
  const end = database.prepare('commit')
  return read => {
    begin.put()
    try {
      const result = read()
      end.put()
      return result
    } catch (error) {
      rollBack(database)
      throw error
    }
  }
}

function rollBack(database: Database): void {
  try {
    database.rollback()
  } catch {
    // Some failures, a full disk among them, have rolled back by themselves. The first error is the one to tell.
  }
}
