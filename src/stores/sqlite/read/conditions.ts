/** Conditions of a query that grow with what is asked for. */
import type { Value } from '../statement.ts'

/** Begins with one condition. */
export function conditions(first: string, ...firstValues: Value[]) {
  const values: Value[] = [...firstValues]
  const parts = [first]
  function where(condition?: string, ...more: Value[]): string {
    if (condition !== undefined) {
      parts.push(condition)
      values.push(...more)
    }
    return parts.join(' and ')
  }
  return { where, values }
}

/** A list of parameters, one for each value. */
export function parameters(list: readonly string[]): string {
  return `(${list.map(() => '?').join(', ')})`
}
