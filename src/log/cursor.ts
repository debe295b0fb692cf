/** Cursors of lists: numbers of the last row, in one string. */
import { InvalidInput } from '../errors.ts'

export function numbersIn(cursor: string, count: number): number[] {
  const numbers = cursor.split('.').map(Number)
  if (numbers.length !== count || !numbers.every(Number.isSafeInteger)) {
    throw new InvalidInput('cursor', 'not a cursor from a previous page')
  }
  return numbers
}
