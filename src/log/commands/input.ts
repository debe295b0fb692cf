/** Validates input of callers. */
import type { z } from 'zod'
import { InvalidInput } from '../../errors.ts'

/** @throws {InvalidInput} naming the wrong or unknown field */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys')
    throw new InvalidInput([...path, issue.keys[0]!].join('.'), 'there is no such field')
  throw new InvalidInput(path.join('.') || 'input', issue.message)
}
