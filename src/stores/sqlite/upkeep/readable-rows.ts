/** Reads the rows of a damaged table that SQLite still gives. */
import type { Database } from '../database.ts'
import { sqliteCode } from '../errors.ts'
import type { Value } from '../statement.ts'

export type Row = Value[]

/** Row numbers that could not be read, both ends included. */
export type Gap = [from: number, to: number]

/** A damaged row number can make the range to look through arbitrarily long. */
const maxFailures = 1_000_000

/** Rows looked for behind an unreadable end that no index reaches either. */
const reachWithoutIndex = 10_000

/**
 * Reads a table by its row number, which has to be its first column: from both ends, and then by halves of what is left
 * between them, until each unreadable row stands alone. A row may come twice. Adds what could not be read to `gaps`.
 */
export function* rowsByNumber(source: Database, table: string, gaps: Gap[]): Generator<Row> {
  const range = source.prepare(`select * from ${table} where rowid between ? and ? order by rowid`)
  let lower = 0
  let upper: number | undefined
  let failures = 0
  const isWhole = yield* untilUnreadable(
    () => source.prepare(`select * from ${table} order by rowid`).iterate(),
    number => {
      lower = number
    },
  )
  if (isWhole) return
  yield* untilUnreadable(
    () => source.prepare(`select * from ${table} order by rowid desc`).iterate(),
    number => {
      upper = number
    },
  )
  upper ??= (highestInIndexes(source, table) || lower + reachWithoutIndex) + 1
  yield* between(lower + 1, upper - 1)

  function* between(from: number, to: number): Generator<Row> {
    if (from > to) return
    let next = from
    const isWhole = yield* untilUnreadable(
      () => range.iterate(from, to),
      number => {
        next = Math.max(next, number + 1)
      },
    )
    if (isWhole || next > to) return
    if (from === to || ++failures > maxFailures) return addGap(gaps, [next, to])
    const middle = Math.floor((next + to) / 2)
    yield* between(next, middle)
    yield* between(middle + 1, to)
  }
}

function addGap(gaps: Gap[], [from, to]: Gap): void {
  const last = gaps.at(-1)
  if (last && last[1] + 1 === from) last[1] = to
  else gaps.push([from, to])
}

/** The highest row number that an index still leads to. */
function highestInIndexes(source: Database, table: string): number {
  let highest = 0
  const indexes = tolerantly(() => source.prepare('select name from pragma_index_list(?) where not partial').all(table))
  for (const [name] of (indexes ?? []) as Array<[string]>) {
    const { rows } = orderedRows(source, table, { columns: ['rowid'], order: [], index: name })
    for (const [number] of rows) highest = Math.max(highest, number as number)
  }
  return highest
}

export interface OrderedQuery {
  columns: readonly string[]
  /** The columns of the index, or of the primary key. */
  order: readonly string[]
  index?: string
}

/**
 * Reads an index, or a table without row numbers, from the start, and where that fails from the end too. A row may come
 * twice.
 */
export function orderedRows(
  source: Database,
  table: string,
  { columns, order, index }: OrderedQuery,
): { rows: Row[]; isWhole: boolean } {
  const rows: Row[] = []
  const read = (direction: 'asc' | 'desc'): boolean => {
    const by = order.map(column => `${column} ${direction}`).join(', ')
    const select = `select ${columns.join(', ')} from ${table} ${index === undefined ? '' : `indexed by ${index}`}`
    const steps = untilUnreadable(() => source.prepare(by === '' ? select : `${select} order by ${by}`).iterate())
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done) return step.value
      rows.push(step.value)
    }
  }
  const isWhole = read('asc')
  if (!isWhole && order.length > 0) read('desc')
  return { rows, isWhole }
}

/** @returns true when all rows were read */
function* untilUnreadable(read: () => Iterator<unknown>, onNumber?: (number: number) => void): Generator<Row, boolean> {
  const rows = tolerantly(read)
  if (!rows) return false
  try {
    for (;;) {
      const step = tolerantly(() => rows.next())
      if (!step) return false
      if (step.done) return true
      const row = step.value as Row
      onNumber?.(row[0] as number)
      yield row
    }
  } finally {
    rows.return?.()
  }
}

/** Undefined where SQLite fails. */
function tolerantly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error
    return undefined
  }
}
