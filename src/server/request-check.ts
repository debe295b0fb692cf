/** Validates a request against its endpoint: parameters, query, body, and the headers of a write. */
import type { Context } from 'hono'
import type { z } from 'zod'
import { InvalidRequest } from '../errors.ts'
import { inputProblem, trust } from '../log/commands/input.ts'
import type { WriteOptions } from '../log/engine.ts'
import { idProblem } from '../log/events/id.ts'
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

/**
 * Reads the idempotency key, the expected version and the fence of a write.
 *
 * @throws {InvalidRequest} when a header is invalid, or the endpoint does not take it
 */
export function writeOptions(context: Context, endpoint: Endpoint): WriteOptions {
  const key = context.req.header('idempotency-key')
  const version = context.req.header('if-match')
  const fence = context.req.header('colloquy-fence')
  if (key === undefined && version === undefined && fence === undefined) return {}
  if (endpoint.method === 'get') return {}
  // A header that is silently ignored would promise what is not kept.
  if (!endpoint.keyed) throw refused('headers', 'this endpoint takes no idempotency-key, if-match or colloquy-fence')
  return {
    ...(key !== undefined && { idempotencyKey: keyOf(key) }),
    ...(version !== undefined && version !== '*' && { expectedVersion: versionOf(version) }),
    ...(fence !== undefined && { fence: fenceOf(fence) }),
  }
}

function keyOf(text: string): string {
  const problem = idProblem(text)
  if (problem) throw refused('idempotency-key', problem)
  return text
}

function versionOf(text: string): number {
  const [, digits] = /^"?(\d{1,15})"?$/.exec(text) ?? []
  if (digits === undefined) throw refused('if-match', 'must be a version of the conversation, as "12"')
  return Number(digits)
}

/** `GENERATION NAME`, the name percent-encoded. */
function fenceOf(text: string): { name: string; generation: number } {
  const [, generation = '', name = ''] = /^(\d{1,15}) (\S+)$/.exec(text) ?? []
  if (generation === '') throw refused('colloquy-fence', 'must be GENERATION NAME, the name percent-encoded')
  try {
    return { generation: Number(generation), name: decodeURIComponent(name) }
  } catch {
    throw refused('colloquy-fence', 'its name is not percent-encoded text')
  }
}

function refused(field: string, message: string): InvalidRequest {
  return new InvalidRequest([{ field, message }])
}
