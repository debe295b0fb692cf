/** The headers of a write: its idempotency key, the expected version, the fence of a lease. */
import type { Context } from 'hono'
import { InvalidRequest } from '../errors.ts'
import type { WriteOptions } from '../log/engine.ts'
import { idProblem } from '../log/events/id.ts'
import type { Endpoint } from './contract/endpoint.ts'

/** @throws {InvalidRequest} when a header is invalid, or the endpoint does not take it */
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
