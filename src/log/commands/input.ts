/** Validates what callers hand in, and names the field that is wrong. */
import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'

export interface InputProblem {
  /** Path of the wrong field; empty for the whole input. */
  path: string[]
  reason: string
  /** Known field that an unknown one resembles. */
  nearest?: string
}

/** Inputs that the HTTP door has validated, with their schema: the manager behind it trusts them. */
const validated = new WeakMap<object, z.ZodType>()

export function trust(schema: z.ZodType, input: unknown): void {
  if (typeof input === 'object' && input !== null) validated.set(input, unwrapped(schema))
}

/** @throws {InvalidInput} naming the field, an unknown one too */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  if (typeof input === 'object' && input !== null && validated.get(input) === schema) return input as z.output<S>
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const { path, reason } = inputProblem(schema, input, result.error.issues[0]!)
  throw new InvalidInput(path.filter(key => key !== '').join('.') || 'input', reason)
}

export function inputProblem(schema: z.ZodType, input: unknown, issue: z.core.$ZodIssue): InputProblem {
  const found = deepest(issue)
  const place = found.path.map(String)
  if (found.code !== 'unrecognized_keys') return { path: place, reason: found.message }
  const key = found.keys[0]!
  const fields = fieldsAt(schema, place, input)
  const nearest = nearestTo(key, fields)
  return {
    path: [...place, key],
    reason: `there is no such field${hint(fields, nearest)}`,
    ...(nearest !== undefined && { nearest }),
  }
}

function hint(fields: string[], nearest: string | undefined): string {
  if (nearest !== undefined) return `; did you mean "${nearest}"?`
  return fields.length === 0 ? '' : `. Known are ${fields.join(', ')}.`
}

/** Finds in the branches of a union the one that fits best: it fails at a field, not as a whole. */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue
  const inner = issue.errors.map(branch => branch[0]!).filter(one => one && fitsInPart(one))
  return inner.length === 1 ? deepest({ ...inner[0]!, path: [...issue.path, ...inner[0]!.path] }) : issue
}

function fitsInPart(issue: z.core.$ZodIssue): boolean {
  return issue.path.length > 0 || issue.code === 'unrecognized_keys'
}

/** Names of the fields that may stand at a place. */
function fieldsAt(schema: z.ZodType, place: readonly string[], value: unknown): string[] {
  const plain = unwrapped(schema)
  const [key, ...inside] = place
  if (plain instanceof z.ZodObject) {
    if (key === undefined) return Object.keys(plain.shape)
    const field = plain.shape[key] as z.ZodType | undefined
    return field ? fieldsAt(field, inside, within(value, key)) : []
  }
  if (plain instanceof z.ZodRecord && key !== undefined)
    return fieldsAt(plain.valueType as z.ZodType, inside, within(value, key))
  if (plain instanceof z.ZodDiscriminatedUnion) {
    const options = plain.options as readonly z.ZodObject[]
    const { discriminator } = plain.def
    const option = options.find(
      ({ shape }) => (shape[discriminator] as z.ZodLiteral).value === within(value, discriminator),
    )
    return Object.keys(option?.shape ?? {})
  }
  if (plain instanceof z.ZodUnion)
    return (plain.options as readonly z.ZodType[]).flatMap(option => fieldsAt(option, place, value))
  return []
}

/** The schema of a field without its default, `optional`, `nullable` and `readonly`. */
export function unwrapped(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodPipe) return unwrapped(schema.out as z.ZodType)
  const isWrapper =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodReadonly
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema
}

function within(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
}

/** Finds the known name with the fewest changed letters, if it is near enough. */
function nearestTo(key: string, known: readonly string[]): string | undefined {
  let best: { name: string; distance: number } | undefined
  for (const name of known) {
    const distance = distanceOf(key.toLowerCase().replace(/[-_]/g, ''), name.toLowerCase())
    if (!best || distance < best.distance) best = { name, distance }
  }
  return best && best.distance <= Math.max(2, Math.floor(key.length / 3)) ? best.name : undefined
}

function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const change = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1)
      next[j] = Math.min(change, row[j]! + 1, next[j - 1]! + 1)
    }
    row = next
  }
  return row[other.length]!
}
