/** A cache of statements whose text is put together from parts. */
import { Recent } from '../../log/lru.ts'
import type { Database } from './database.ts'
import type { Statement } from './statement.ts'

const maxStatements = 50

export function preparedStatements(database: Database) {
  const statements = new Recent<Statement>(maxStatements)
  return {
    get(sql: string): Statement {
      const statement = statements.get(sql) ?? database.prepare(sql)
      statements.set(sql, statement)
      return statement
    },
  }
}
