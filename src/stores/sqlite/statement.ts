/** Statements of one connection: compiled when first used, and some of them put down together. */
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'

/** What SQLite takes. */
export type Value = string | number | null | Uint8Array

/** Rows come back as arrays: less to allocate than objects. */
export interface Statement {
  run(...values: Value[]): { changes: number; lastInsertRowid: number | bigint }
  /** The same for who does not ask what changed: making that answer takes a tenth of an insert. */
  put(...values: Value[]): void
  /**
   * The same, but before the connection's next statement and not now: many in a row take little more than half of what
   * they take one by one between other work. What is wrong with them is said there.
   */
  putLater(...values: Value[]): void
  get(...values: Value[]): unknown
  all(...values: Value[]): unknown[]
  iterate(...values: Value[]): IterableIterator<unknown>
}

/** A connection and what was left for later on it. */
export class Line {
  readonly #connection: DatabaseSyncInstance
  #left: Array<{ statement: StatementSyncInstance; values: Value[] }> = []

  constructor(connection: DatabaseSyncInstance) {
    this.#connection = connection
  }

  compile(sql: string): StatementSyncInstance {
    const statement = this.#connection.prepare(sql)
    statement.setReturnArrays(true)
    return statement
  }

  leave(statement: StatementSyncInstance, values: Value[]): void {
    this.#left.push({ statement, values })
  }

  settle(): void {
    if (this.#left.length === 0) return
    const all = this.#left
    this.#left = []
    for (const { statement, values } of all) statement.get(...values)
  }

  drop(): void {
    this.#left = []
  }
}

/** A class, because a store has some hundred of them, and who opens one to ask one thing uses five. */
export class LineStatement implements Statement {
  readonly #line: Line
  readonly #sql: string
  #compiled: StatementSyncInstance | undefined

  constructor(line: Line, sql: string) {
    this.#line = line
    this.#sql = sql
  }

  run(...values: Value[]) {
    return this.#ready().run(...values)
  }

  put(...values: Value[]): void {
    this.#ready().get(...values)
  }

  putLater(...values: Value[]): void {
    this.#line.leave(this.#statement(), values)
  }

  get(...values: Value[]): unknown {
    return this.#ready().get(...values)
  }

  all(...values: Value[]): unknown[] {
    return this.#ready().all(...values)
  }

  iterate(...values: Value[]): IterableIterator<unknown> {
    return this.#ready().iterate(...values)
  }

  #ready(): StatementSyncInstance {
    this.#line.settle()
    return this.#statement()
  }

  #statement(): StatementSyncInstance {
    this.#compiled ??= this.#line.compile(this.#sql)
    return this.#compiled
  }
}
