/** The rows of the store, as upkeep reads and changes them: on connections of the worker. */
import type { RowStore } from '../../../log/rows.ts'
import { type Database, openDatabase } from '../database.ts'
import { asStoreError } from '../errors.ts'
import { RowChanges } from './row-changes.ts'
import { RowReader } from './row-reader.ts'

export interface RowConnections extends RowStore {
  close(): void
}

export interface RowStoreInput {
  path: string
  durability: 'full' | 'relaxed'
  epoch: string
  busyTimeoutMs: number
  reindex: RowStore['reindex']
}

interface Reading {
  database: Database
  rows: RowReader
}

export function rowStore(input: RowStoreInput): RowConnections {
  const { path, durability, epoch, busyTimeoutMs, reindex } = input
  let idle: Reading | undefined
  let changes: { database: Database; rows: RowChanges } | undefined

  /** A connection is in a transaction while the work that reads waits: each piece of work has its own. */
  function takeReader(): Reading {
    const reading = idle
    idle = undefined
    if (reading) return reading
    const database = openDatabase({ path, durability, readOnly: true, busyTimeoutMs })
    return { database, rows: new RowReader(database) }
  }

  function giveBack(reading: Reading): void {
    if (idle) reading.database.close()
    else idle = reading
  }

  function takeWriter(): { database: Database; rows: RowChanges } {
    if (changes) return changes
    const database = openDatabase({ path, durability, busyTimeoutMs })
    database.prepareToWrite()
    // Rows that refer to a removed row are removed with it. A check by SQLite would read the whole log for every lane.
    database.exec('pragma foreign_keys = off')
    changes = { database, rows: new RowChanges(database, epoch) }
    return changes
  }

  async function within<T>(database: Database, begin: string, work: () => Promise<T>): Promise<T> {
    try {
      database.exec(begin)
      try {
        const result = await work()
        database.exec('commit')
        return result
      } catch (error) {
        rollBack(database)
        throw error
      }
    } catch (error) {
      throw asStoreError(error, path)
    }
  }

  return {
    async rows(work) {
      const reading = takeReader()
      try {
        return await within(reading.database, 'begin', () => work(reading.rows))
      } finally {
        giveBack(reading)
      }
    },
    /** Its work waits for nothing but this connection, so nothing else of this thread comes between. */
    change(_, work) {
      const { database, rows } = takeWriter()
      return within(database, 'begin immediate', () => {
        rows.begin()
        return work(rows)
      })
    },
    reindex,
    close() {
      idle?.database.close()
      changes?.database.close()
    },
  }
}

function rollBack(database: Database): void {
  try {
    database.rollback()
  } catch {
    // Some failures, a full disk among them, have rolled back by themselves. The first error is the one to report.
  }
}
