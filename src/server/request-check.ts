/** Validates a request against its endpoint, and names every field that is wrong. */
import type { z } from 'zod'
import { InvalidRequest } from '../errors.ts'
import { inputProblem, trust } from '../log/commands/input.ts'
import type { Endpoint } from './contract/endpoint.ts'

const maxErrors = 20
const maxKeyCharacters = 200
const maxMessageCharacters = 500

interface Parts {
  params: Record<string, string>
  query: Record<string, string>
  body: unknown
}

/** @throws {InvalidRequest} naming each field */
export function checkParts<E extends Endpoint>(
  endpoint: E,
  parts: Parts,
): { params: z.output<E['params']>; query: z.output<E['query']>; body: z.output<E['body']> } {
  const params = endpoint.params.safeParse(parts.params)
  const query = endpoint.query.safeParse(parts.query)
  const body = endpoint.body.safeParse(parts.body)
  if (params.success && query.success && body.success) {
    trust(endpoint.body, body.data)
    return { params: params.data, query: query.data, body: body.data } as ReturnType<typeof checkParts<E>>
  }
  const errors = Object.entries({ params, query, body }).flatMap(([part, result]) =>
    result.success
      ? []
      : result.error.issues.flatMap(issue =>
          fieldErrors(part, endpoint[part as keyof Parts], parts[part as keyof Parts], issue),
        ),
  )
  throw new InvalidRequest(errors.slice(0, maxErrors))
}

function fieldErrors(
  part: string,
  schema: z.ZodType,
  input: unknown,
  issue: z.core.$ZodIssue,
): Array<{ field: string; message: string }> {
  const issues = issue.code === 'unrecognized_keys' ? issue.keys.map(key => ({ ...issue, keys: [key] })) : [issue]
  return issues.map(one => {
    const { path, reason } = inputProblem(schema, input, one)
    return {
      field: [part, ...path].map(key => key.slice(0, maxKeyCharacters)).join('.'),
      message: reason.slice(0, maxMessageCharacters),
    }
  })
}
