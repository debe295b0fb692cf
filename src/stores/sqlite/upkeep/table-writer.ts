/** Writes rescued rows into a new store. A row that does not fit its table is refused and counted. */
import type { Database } from '../database.ts'
import { isConstraint } from '../errors.ts'
import type { Statement, Value } from '../statement.ts'

/** A row by its columns. */
export type Fields = Record<string, Value>

interface Table {
  columns: readonly Column[]
  insert: Statement
  /** Finds a row by its primary key. */
  find: Statement
  refused: number
}

type Column = [name: string, type: string, isRequired: number, keyPart: number]

const rowsOfTransaction = 10_000

export function tableWriter(target: Database) {
  const tables = new Map<string, Table>()
  let pending = 0

  function tableOf(name: string): Table {
    const table = tables.get(name) ?? describe(name)
    tables.set(name, table)
    return table
  }

  function describe(name: string): Table {
    const columns = target.prepare(`select name, lower(type), "notnull", pk from pragma_table_info(?)`).all(name)
    const names = (columns as Column[]).map(([column]) => column)
    const key = (columns as Column[]).flatMap(([column, , , keyPart]) => (keyPart > 0 ? [`${column} = ?`] : []))
    return {
      columns: columns as Column[],
      insert: target.prepare(`insert into ${name} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`),
      find: target.prepare(`select 1 from ${name} where ${key.join(' and ')}`),
      refused: 0,
    }
  }

  /** Begins and ends transactions of many rows. */
  function countRow(): void {
    if (pending === 0) target.exec('begin immediate')
    if (++pending >= rowsOfTransaction) commit()
  }

  function commit(): void {
    if (pending > 0) target.exec('commit')
    pending = 0
  }

  return {
    columnsOf: (table: string) => tableOf(table).columns.map(([name]) => name),

    /** Returns true when the row is in the table, also when it was there before. */
    put(name: string, row: Fields): boolean {
      const table = tableOf(name)
      const values = table.columns.map(([column]) => row[column] ?? null)
      const key = table.columns.flatMap(([column, , , keyPart]) => (keyPart > 0 ? [row[column] ?? null] : []))
      countRow()
      if (table.find.get(...key)) return true
      if (values.every((value, index) => fits(value, table.columns[index]!)) && inserted(table, values)) return true
      table.refused++
      return false
    },

    commit,

    /** Counts refused rows, in words. */
    refusals: () =>
      [...tables].flatMap(([name, { refused }]) =>
        refused > 0 ? [`${refused} rows of the table ${name} are damaged, or belong to nothing that was rescued`] : [],
      ),
  }
}

function inserted({ insert }: Table, values: readonly Value[]): boolean {
  try {
    insert.run(...values)
    return true
  } catch (error) {
    if (!isConstraint(error)) throw error
    return false
  }
}

function fits(value: Value, [, type, isRequired, keyPart]: Column): boolean {
  if (value === null) return !isRequired && keyPart === 0
  if (type === 'integer') return typeof value === 'number'
  return type === 'text' ? typeof value === 'string' : value instanceof Uint8Array
}
