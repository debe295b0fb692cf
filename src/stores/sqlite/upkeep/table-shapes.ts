/**
 * What a file says its tables look like, beside what they were made like. One turned bit there, and SQLite reads every row
 * of a table wrong without noticing: a key of type `integgr` is no number of the row any more.
 */
import { type Database, openDatabase } from '../database.ts'
import { isBroken } from '../errors.ts'
import { makeSchema } from '../open-schema.ts'

interface Shape {
  /** Columns, types and keys. */
  looks: string
  /** What makes it. */
  sql: string
}

type Shapes = ReadonlyMap<string, Shape>

/** Tables of ours that the file describes differently, or not at all. */
export function misshapenTables(database: Database): string[] {
  return [...shapesOfToday()].flatMap(([table, { looks }]) => (looksOf(database, table) === looks ? [] : [table]))
}

/** Describes them as they were made. Writes to the file: it must be a copy, and nobody's but ours. */
export function mendShapes(file: string): void {
  try {
    const database = openDatabase({ path: file, durability: 'relaxed', cutOff: true })
    try {
      const shapes = shapesOfToday()
      const misshapen = misshapenTables(database)
      // Somebody else's, that has a table of the same name.
      if (misshapen.length > shapes.size / 2) return
      const mend = database.prepare(`update sqlite_schema set sql = ? where type = 'table' and name = ?`)
      for (const table of misshapen) mend.run(shapes.get(table)!.sql, table)
      database.exec('pragma wal_checkpoint(truncate)')
    } finally {
      database.close()
    }
  } catch (error) {
    // Then it is read as it is.
    if (!isBroken(error)) throw error
  }
}

let cachedShapes: Shapes | undefined

function shapesOfToday(): Shapes {
  cachedShapes ??= readShapes()
  return cachedShapes
}

function readShapes(): Shapes {
  const database = openDatabase({ path: ':memory:', durability: 'relaxed' })
  try {
    makeSchema(database)
    const tables = database.prepare(
      `select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%'`,
    )
    return new Map(
      (tables.all() as Array<[string, string]>).map(([name, sql]) => [name, { looks: looksOf(database, name), sql }]),
    )
  } finally {
    database.close()
  }
}

function looksOf(database: Database, table: string): string {
  const columns = database.prepare(`pragma main.table_xinfo(${table})`).all()
  const kinds = database.prepare(`pragma main.table_list(${table})`).all()
  return JSON.stringify([columns, kinds])
}
