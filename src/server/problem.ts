/** Errors as problem details (RFC 9457) with our codes. An unexpected error shows no details. */
import { ColloquyError, InvalidInput, InvalidRequest, TooMany } from '../errors.ts'
import type { Problem } from './contract/common.ts'

export function problemOf(error: unknown, requestId: string): Problem {
  if (!(error instanceof ColloquyError)) {
    return {
      type: '/api/docs#unexpected',
      title: 'Unexpected',
      status: 500,
      detail: 'Something went wrong in the server. Its trace has the request id.',
      code: 'unexpected',
      facts: {},
      requestId,
    }
  }
  const { code, status, message, facts, name } = error
  const errors = fieldErrors(error)
  return {
    type: `/api/docs#${code}`,
    title: name.replace(/(?<=[a-z])(?=[A-Z])/g, ' '),
    status,
    detail: message,
    code,
    facts: { ...facts },
    ...(errors && { errors }),
    requestId,
  }
}

export function problemResponse(problem: Problem, error: unknown, { loomErrors = false } = {}): Response {
  const headers = new Headers({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' })
  if (problem.status === 401) headers.set('www-authenticate', 'Bearer realm="colloquy"')
  if (problem.status === 413) headers.set('connection', 'close')
  if (problem.status === 503) headers.set('retry-after', '1')
  if (error instanceof TooMany) headers.set('retry-after', String(error.retryAfterSeconds))
  const allowed = problem.facts.allowed
  if (problem.status === 405 && Array.isArray(allowed)) headers.set('allow', allowed.join(', '))
  const body = loomErrors ? { ...problem, error: problem.detail } : problem
  return new Response(JSON.stringify(body), { status: problem.status, headers })
}

function fieldErrors(error: ColloquyError): Problem['errors'] {
  if (error instanceof InvalidRequest) return error.facts.errors as NonNullable<Problem['errors']>
  if (error instanceof InvalidInput) return [{ field: error.field, message: String(error.facts.reason) }]
  return undefined
}
