/** Makes the schema where there is none yet, and refuses a file with another one. */
import { StoreUnusable } from '../../errors.ts'
import type { Database } from './database.ts'
import { newEpoch } from './epoch.ts'
import { schema, schemaNumber } from './schema.ts'
import { inTransaction } from './transaction.ts'

/** 'CLQY': tells our files from other people's databases. */
export const applicationId = 0x434c5159

/** Makes the tables of an empty file, all in one transaction: an interrupted one leaves an empty file. */
export function makeSchema(database: Database): void {
  if (numberIn(database) === schemaNumber) return
  database.prepareToWrite()
  inTransaction(database, () => {
    // Read again under the lock: another process may have been first.
    if (numberIn(database) === schemaNumber) return
    database.exec(schema)
    database.exec(`pragma application_id = ${applicationId}; pragma user_version = ${schemaNumber}`)
    const insert = database.prepare('insert into meta (name, value) values (?, ?)')
    insert.run('epoch', newEpoch())
    insert.run('position_floor', '0')
  })
}

/**
 * Writes nothing.
 *
 * @throws {StoreUnusable} when the file is another program's, or its schema is not today's
 */
export function refuseOtherSchema(database: Database): void {
  const number = readSchemaNumber(database)
  if (number === schemaNumber || (number === 0 && !database.readOnly)) return
  const { path } = database
  const remedy =
    number > schemaNumber
      ? 'Update Colloquy.'
      : 'Export its conversations with the version that made it and restore them into a new file, or delete it.'
  throw new StoreUnusable(
    `${path} has schema ${number}; this version of Colloquy reads and writes schema ${schemaNumber}. Nothing was changed. ${remedy}`,
    { path, found: number },
  )
}

/**
 * Reads the number of the schema; 0 when there is none yet. Writes nothing.
 *
 * @throws {StoreUnusable} when the tables are another program's, or an empty file is opened for reading
 */
export function readSchemaNumber(database: Database): number {
  const { path } = database
  const [id] = database.prepare('pragma application_id').get() as [number]
  if (id === applicationId) return numberIn(database)
  const [tables] = database.prepare('select count(*) from sqlite_schema').get() as [number]
  if (tables > 0) {
    throw new StoreUnusable(
      `${path} is an SQLite database, but not a Colloquy store. Nothing was changed; choose another path.`,
      { path },
    )
  }
  if (database.readOnly) throw new StoreUnusable(`${path} is empty: there is no store in it yet.`, { path })
  return 0
}

function numberIn(database: Database): number {
  const [number] = database.prepare('pragma user_version').get() as [number]
  return number
}
