/** Validates input of callers. */
import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'

interface InputProblem {
  /** Path of the wrong field; empty for the whole input. */
  path: string[]
  reason: string
  /** The known field that an unknown one resembles. */
  nearest?: string
}

/** Inputs that HTTP has validated, with their schemas, so that managers do not validate them again. */
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
  const cause = branchIssue(issue)
  const path = cause.path.map(String)
  if (cause.code !== 'unrecognized_keys') return { path, reason: cause.message }
  const key = cause.keys[0]!
  const fields = fieldsAt(schema, path, input)
  const nearest = nearestTo(key, fields)
  return {
    path: [...path, key],
    reason: `there is no such field${hint(fields, nearest)}`,
    ...(nearest !== undefined && { nearest }),
  }
}

function hint(fields: string[], nearest: string | undefined): string {
  if (nearest !== undefined) return `; did you mean "${nearest}"?`
  return fields.length === 0 ? '' : `. Known are ${fields.join(', ')}.`
}

/** Returns the issue of the only branch of a union that fails at a field and not as a whole. */
function branchIssue(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue
  const candidates = issue.errors.map(branch => branch[0]!).filter(candidate => candidate && isAtField(candidate))
  if (candidates.length !== 1) return issue
  const [candidate] = candidates
  return branchIssue({ ...candidate!, path: [...issue.path, ...candidate!.path] })
}

function isAtField(issue: z.core.$ZodIssue): boolean {
  return issue.path.length > 0 || issue.code === 'unrecognized_keys'
}

/** Returns the names of the fields that a schema allows at a path. */
function fieldsAt(schema: z.ZodType, path: readonly string[], value: unknown): string[] {
  const plain = unwrapped(schema)
  const [key, ...subpath] = path
  if (plain instanceof z.ZodObject) {
    if (key === undefined) return Object.keys(plain.shape)
    const field = plain.shape[key] as z.ZodType | undefined
    return field ? fieldsAt(field, subpath, fieldOf(value, key)) : []
  }
  if (plain instanceof z.ZodRecord && key !== undefined)
    return fieldsAt(plain.valueType as z.ZodType, subpath, fieldOf(value, key))
  if (plain instanceof z.ZodDiscriminatedUnion) {
    const options = plain.options as readonly z.ZodObject[]
    const { discriminator } = plain.def
    const option = options.find(
      ({ shape }) => (shape[discriminator] as z.ZodLiteral).value === fieldOf(value, discriminator),
    )
    return Object.keys(option?.shape ?? {})
  }
  if (plain instanceof z.ZodUnion)
    return (plain.options as readonly z.ZodType[]).flatMap(option => fieldsAt(option, path, value))
  return []
}

/** Returns a schema without its default, `optional`, `nullable` and `readonly`. */
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

function fieldOf(value: unknown, key: string): unknown {
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

function distanceOf(word: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= word.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const change = row[j - 1]! + (word[i - 1] === other[j - 1] ? 0 : 1)
      next[j] = Math.min(change, row[j]! + 1, next[j - 1]! + 1)
    }
    row = next
  }
  return row[other.length]!
}
