/** Checks what callers hand in, and names the field that is wrong. */
import type { z } from 'zod'
import { InvalidInput } from '../../errors.ts'

/** @throws {InvalidInput} naming the field, an unknown one too */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  const place = issue.path.map(String)
  if (issue.code === 'unrecognized_keys')
    throw new InvalidInput([...place, issue.keys[0]!].join('.'), 'there is no such field')
  throw new InvalidInput(place.join('.') || 'input', issue.message)
}
