/** Conditions of a query that grow with what is asked for. */
import type { Value } from '../database.ts'

/** Begins with one condition. Each `?` of those that are added becomes the next parameter. */
export function conditions(column: string, first: Value) {
  const values: Value[] = [first]
  const parts = [`${column} = $1`]
  function where(condition?: string, ...given: Value[]): string {
    if (condition !== undefined) {
      let index = values.length
      parts.push(condition.replaceAll('?', () => `$${++index}`))
      values.push(...given)
    }
    return parts.join(' and ')
  }
  return { where, values }
}
