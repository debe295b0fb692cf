/** Checks the parts of a request against its endpoint, and names every field that is wrong. */
import type { z } from 'zod'
import { InvalidRequest } from '../errors.ts'
import type { Endpoint } from './contract/endpoint.ts'

const mostErrors = 20

export interface Parts {
  params: Record<string, string>
  query: Record<string, string>
  body: unknown
}

/** @throws {InvalidRequest} naming each field */
export function checkParts<E extends Endpoint>(
  endpoint: E,
  parts: Parts,
): { params: z.output<E['params']>; query: z.output<E['query']>; body: z.output<E['body']> } {
  const results = {
    params: endpoint.params.safeParse(parts.params),
    query: endpoint.query.safeParse(parts.query),
    body: endpoint.body.safeParse(parts.body),
  }
  const errors = Object.entries(results).flatMap(([part, result]) =>
    result.success ? [] : result.error.issues.flatMap(issue => told(part, issue)),
  )
  if (errors.length > 0) throw new InvalidRequest(errors.slice(0, mostErrors))
  const { params, query, body } = results
  return { params: params.data, query: query.data, body: body.data } as ReturnType<typeof checkParts<E>>
}

function told(part: string, issue: z.core.$ZodIssue): Array<{ field: string; message: string }> {
  const place = [part, ...issue.path.map(String)]
  if (issue.code !== 'unrecognized_keys') return [{ field: place.join('.'), message: issue.message.slice(0, 500) }]
  return issue.keys.map(key => ({ field: [...place, key.slice(0, 200)].join('.'), message: 'there is no such field' }))
}
