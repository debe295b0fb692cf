/**
 * Brings a file to today's schema, one numbered step at a time, each in a transaction of its own: an interrupted
 * migration leaves a whole earlier version and goes on at the next open.
 */
import { StoreUnusable } from '../../errors.ts'
import type { Database } from './database.ts'
import { newEpoch } from './epoch.ts'
import { log } from './migrations/001-log.ts'
import { places, placesInOlderFile } from './migrations/002-places.ts'
import { due } from './migrations/003-due.ts'
import { work } from './migrations/004-work.ts'
import { nodes } from './migrations/005-nodes.ts'
import { inTransaction } from './transaction.ts'

/** 'CLQY': tells our files from other people's databases. */
export const applicationId = 0x434c5159

/** Changes nothing: whoever does not know the checksums of today would take new rows for damaged, and is kept out. */
const checksums = ''

const migrations: readonly string[] = [log, places, due, work, nodes, checksums]

export const newestSchema = migrations.length

/** `found` is what `refuseForeign` saw. */
export function migrate(database: Database, found: number, to = newestSchema): void {
  if (found === to) return
  database.prepareToWrite()
  while (schemaVersion(database) < to) {
    inTransaction(database, () => {
      // Read again under the lock: another process may have taken this step meanwhile.
      const version = schemaVersion(database)
      const step = migrations[version]
      if (step === undefined) return
      database.exec(step)
      if (version === 0) createMeta(database)
      database.exec(`pragma user_version = ${version + 1}`)
    })
  }
}

/** Makes an older file that is only read look like one of today, for this connection; `name` is what it is there. */
export function readAsToday(database: Database, name = 'main'): void {
  if (schemaVersion(database, name) === 1) database.exec(placesInOlderFile)
}

/** Refuses a file that is somebody else's, or a newer program's. Writes nothing. Returns the schema it has. */
export function refuseForeign(database: Database): number {
  const [id] = database.prepare('pragma application_id').get() as [number]
  const found = schemaVersion(database)
  if (id !== applicationId) {
    const [tables] = database.prepare('select count(*) from sqlite_schema').get() as [number]
    if (tables > 0) {
      throw new StoreUnusable(
        `${database.path} is an SQLite database, but not a Colloquy store. Nothing was changed; choose another path.`,
        { path: database.path },
      )
    }
    if (database.readOnly) {
      throw new StoreUnusable(`${database.path} is empty: there is no store in it yet.`, { path: database.path })
    }
  }
  if (found > newestSchema) {
    throw new StoreUnusable(
      `${database.path} was written by a newer Colloquy (schema ${found}; this one knows ${newestSchema}). Nothing was changed; update Colloquy.`,
      { path: database.path, found, newest: newestSchema },
    )
  }
  return found
}

export function schemaVersion(database: Database, name = 'main'): number {
  const [[version]] = database.prepare(`pragma ${name}.user_version`).all() as [[number]]
  return version
}

/** What a new file says about itself. The epoch tells this store from every other, copies included. */
function createMeta(database: Database): void {
  database.exec(`pragma application_id = ${applicationId}`)
  const insert = database.prepare('insert into meta (name, value) values (?, ?)')
  insert.run('epoch', newEpoch())
  insert.run('position_floor', '0')
}
