/**
 * Compares the definitions of a file's tables with those of a new store. One changed bit in a definition makes SQLite
 * read every row of the table wrong, without an error.
 */
import { type Database, openDatabase } from '../database.ts'
import { makeSchema } from '../open-schema.ts'

/** The tables of a store that the file defines differently, or not at all. */
export function changedTables(database: Database): string[] {
  const stored = definitionsIn(database)
  return [...definitionsOfNewStore()].flatMap(([table, sql]) => (stored.get(table) === sql ? [] : [table]))
}

let newStore: ReadonlyMap<string, string> | undefined

function definitionsOfNewStore(): ReadonlyMap<string, string> {
  if (newStore) return newStore
  const database = openDatabase({ path: ':memory:', durability: 'relaxed' })
  try {
    makeSchema(database)
    newStore = definitionsIn(database)
    return newStore
  } finally {
    database.close()
  }
}

function definitionsIn(database: Database): Map<string, string> {
  const tables = database.prepare(`
    select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%'`)
  return new Map(tables.all() as Array<[string, string]>)
}
