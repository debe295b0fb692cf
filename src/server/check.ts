/** Checks the parts of a request against its endpoint, and names every field that is wrong. */
import type { z } from 'zod'
import { InvalidRequest } from '../errors.ts'
import type { Endpoint } from './contract/endpoint.ts'

const mostErrors = 20

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
    return { params: params.data, query: query.data, body: body.data } as ReturnType<typeof checkParts<E>>
  }
  const errors = Object.entries({ params, query, body }).flatMap(([part, result]) =>
    result.success ? [] : result.error.issues.flatMap(issue => told(part, issue)),
  )
  throw new InvalidRequest(errors.slice(0, mostErrors))
}

function told(part: string, issue: z.core.$ZodIssue): Array<{ field: string; message: string }> {
  const place = [part, ...issue.path.map(String)]
  if (issue.code !== 'unrecognized_keys') return [{ field: place.join('.'), message: issue.message.slice(0, 500) }]
  return issue.keys.map(key => ({ field: [...place, key.slice(0, 200)].join('.'), message: 'there is no such field' }))
}
