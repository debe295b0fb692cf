/** Statements that are put together from a few pieces, kept by their text: compiling one takes longer than most run. */
import { Recent } from '../../log/lru.ts'
import type { Database } from './database.ts'
import type { Statement } from './statement.ts'

const mostKept = 50

export function preparedStatements(database: Database) {
  const kept = new Recent<Statement>(mostKept)
  return {
    get(sql: string): Statement {
      let statement = kept.get(sql)
      if (!statement) {
        statement = database.prepare(sql)
        kept.set(sql, statement)
      }
      return statement
    },
  }
}
