/** Checks what callers hand in, and names the field that is wrong. */
import type { z } from 'zod'
import { InvalidInput } from '../errors.ts'

export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  throw new InvalidInput(issue.path.map(String).join('.') || 'input', issue.message)
}
