/** Statements of one connection, compiled when first used: opening a store to ask one thing needs few of them. */
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'

export type Value = string | number | null | Uint8Array

/** Rows come back as arrays. */
export interface Statement {
  run(...values: Value[]): { changes: number; lastInsertRowid: number | bigint }
  get(...values: Value[]): unknown
  all(...values: Value[]): unknown[]
  iterate(...values: Value[]): IterableIterator<unknown>
}

export class LazyStatement implements Statement {
  readonly #connection: DatabaseSyncInstance
  readonly #sql: string
  #statement: StatementSyncInstance | undefined

  constructor(connection: DatabaseSyncInstance, sql: string) {
    this.#connection = connection
    this.#sql = sql
  }

  run(...values: Value[]) {
    return this.#compiled().run(...values)
  }

  get(...values: Value[]): unknown {
    return this.#compiled().get(...values)
  }

  all(...values: Value[]): unknown[] {
    return this.#compiled().all(...values)
  }

  iterate(...values: Value[]): IterableIterator<unknown> {
    return this.#compiled().iterate(...values)
  }

  #compiled(): StatementSyncInstance {
    if (!this.#statement) {
      this.#statement = this.#connection.prepare(this.#sql)
      this.#statement.setReturnArrays(true)
    }
    return this.#statement
  }
}
