/** One call of an endpoint, with retries where they are safe: for reads, and for writes with an idempotency key. */
import type { Endpoint } from '../server/contract/endpoint.ts'
import { apiError } from './error.ts'

export interface Connection {
  url: string
  headers: Record<string, string>
  project: string | undefined
  fetch: typeof fetch
  retries: number
}

export interface CallOptions {
  /** Default: a new one for each write that takes one, so that a retry is safe. */
  idempotencyKey?: string
  /** Refuses the write unless the conversation is at this version. */
  expectedVersion?: number
  /** Refuses the write unless this lease is still held. */
  fence?: { name: string; generation: number }
  signal?: AbortSignal
}

export type CallInput = Record<string, unknown> & { query?: Record<string, unknown>; body?: unknown }

export async function call(
  connection: Connection,
  endpoint: Endpoint,
  input: CallInput = {},
  options: CallOptions = {},
): Promise<Response> {
  const isWrite = endpoint.method !== 'get'
  const key = options.idempotencyKey ?? (isWrite && endpoint.keyed ? crypto.randomUUID() : undefined)
  const isRepeatable = !isWrite || key !== undefined || endpoint.method === 'put' || endpoint.path.endsWith('/preview')
  const { expectedVersion, fence, signal } = options
  const request = {
    method: endpoint.method.toUpperCase(),
    headers: {
      ...connection.headers,
      ...(isWrite && { 'content-type': 'application/json', 'colloquy-request': '1' }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(expectedVersion !== undefined && { 'if-match': `"${expectedVersion}"` }),
      ...(fence && { 'colloquy-fence': `${fence.generation} ${encodeURIComponent(fence.name)}` }),
    },
    ...(isWrite && input.body !== undefined && { body: JSON.stringify(input.body) }),
    ...(signal && { signal }),
  }
  const address = addressOf(connection, endpoint, input)
  for (let attempt = 0; ; attempt++) {
    const last = !isRepeatable || attempt >= connection.retries
    const answer = await connection.fetch(address, request).catch(error => {
      if (last || signal?.aborted) throw error
      return undefined
    })
    if (answer?.ok) return answer
    if (answer && (last || !isTransient(answer.status))) throw await apiError(answer)
    await answer?.body?.cancel()
    await pause(waitMs(answer, attempt), signal)
  }
}

/** Failures that a retry may get past: too many requests, a server that stops, a proxy in between. */
function isTransient(status: number): boolean {
  return status === 429 || status === 502 || status === 503 || status === 504
}

function waitMs(answer: Response | undefined, attempt: number): number {
  const retryAfter = Number(answer?.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(retryAfter) ? Math.min(retryAfter * 1000, 10_000) : Math.min(100 * 2 ** attempt, 5000)
}

export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        reject(signal.reason)
      },
      { once: true },
    )
  })
}

export function addressOf(connection: Connection, endpoint: Endpoint, input: CallInput): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = input[name] ?? (name === 'project' ? connection.project : undefined)
    if (value === undefined) throw new TypeError(`${name} is missing`)
    return encodeURIComponent(String(value))
  })
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined) query.set(name, Array.isArray(value) ? value.join(',') : String(value))
  }
  const text = query.toString()
  return `${connection.url}${path}${text === '' ? '' : `?${text}`}`
}
