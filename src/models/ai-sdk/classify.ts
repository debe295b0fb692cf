/**
 * Classifies a provider's failure by its status, error body and message.
 *
 * Messages are matched only where providers have no code: with most, a too long request is a plain 400.
 */
import { APICallError, InvalidResponseDataError, JSONParseError, TypeValidationError } from '@ai-sdk/provider'
import { type FailurePart, failed } from '../failure.ts'
import type { ModelFailureKind } from '../model.ts'
import { retryHint } from './retry-hint.ts'
import { FellSilent, NoEventStream } from './watched-fetch.ts'

/** @param error thrown by an SDK, or an error it put into the stream */
export function classify(error: unknown): FailurePart {
  const chain = causes(error)
  for (const cause of chain) {
    if (cause instanceof FellSilent) return failed('timed-out', cause.message)
    if (cause instanceof NoEventStream) return failed('bad-response', cause.message, { retryable: false })
  }
  const call = chain.find(cause => APICallError.isInstance(cause))
  if (call?.statusCode !== undefined && call.statusCode >= 400) return statusFailure(call, call.statusCode)
  if (call) return failed('network', deepestMessage(chain))
  if (chain.some(cause => JSONParseError.isInstance(cause) || TypeValidationError.isInstance(cause))) {
    return failed('bad-response', 'The provider sent an invalid message, perhaps an incomplete one.')
  }
  if (chain.some(cause => InvalidResponseDataError.isInstance(cause)))
    return failed('bad-response', deepestMessage(chain))
  if (chain.some(isBrokenConnection)) return failed('network', deepestMessage(chain))
  if (!(error instanceof Error) && typeof error === 'object' && error !== null) return streamFailure(error)
  return failed('failed', deepestMessage(chain))
}

function statusFailure(error: APICallError, status: number): FailurePart {
  const details = { ...errorIn(error.responseBody), status }
  const kind = kindOf({ ...details, message: `${details.message} ${error.message}` })
  const headers = error.responseHeaders ?? {}
  const message = details.message || error.message || `The provider answered with status ${status}.`
  const shouldRetry = headers['x-should-retry']
  return failed(kind, message, {
    status,
    ...retryHint(headers, message),
    ...((shouldRetry === 'true' || shouldRetry === 'false') && { retryable: shouldRetry === 'true' }),
  })
}

/** Classifies an error that the provider sent after the start of its answer. */
function streamFailure(error: object): FailurePart {
  const details = errorIn(JSON.stringify(error))
  const { code, message } = details
  const status = typeof code === 'number' && code >= 400 && code < 600 ? code : undefined
  const kind = kindOf({ ...details, status: status ?? 500 })
  return failed(kind, message || 'The provider ended the answer with an error.', {
    ...(status !== undefined && { status }),
    ...retryHint({}, message),
  })
}

interface ErrorDetails {
  message: string
  type: string
  code: string | number
}

/** Providers wrap their errors as `{error: {…}}`, `{error: "…"}` or not at all. */
function errorIn(body: string | undefined): ErrorDetails {
  let value: unknown
  try {
    value = JSON.parse(body ?? '')
  } catch {
    return { message: (body ?? '').trim().slice(0, 300), type: '', code: '' }
  }
  const outer = fields(value)
  if (typeof outer.error === 'string') return { message: outer.error, type: '', code: '' }
  const { message, type, code } = outer.error === undefined ? outer : fields(outer.error)
  return {
    message: typeof message === 'string' ? message : '',
    type: typeof type === 'string' ? type : '',
    code: typeof code === 'string' || typeof code === 'number' ? code : '',
  }
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

const tooLong =
  /prompt is too long|context[ _-]?(?:length|window|limit|size)|maximum context|too many tokens|token count exceeds|input is too long|reduce the length|request_too_large|exceed_context/i
const filtered = /content[ _-]?(?:filter|policy|management)|safety system|was flagged/i
const noCredit = /insufficient[_ ](?:quota|balance|credits?)|credit balance|billing|exceeded your current quota/i

function kindOf({ message, type, code, status }: ErrorDetails & { status: number }): ModelFailureKind {
  const all = `${type} ${code} ${message}`
  if (status === 402 || (status < 500 && noCredit.test(all))) return 'out-of-credit'
  if (status === 413 || tooLong.test(all)) return 'context-too-long'
  if (status === 401 || status === 403) return filtered.test(all) ? 'refused' : 'unauthorised'
  if (status === 429 || /rate[_ ]limit/i.test(type)) return 'rate-limited'
  if (status === 408) return 'timed-out'
  if (/overloaded/i.test(type)) return 'overloaded'
  if (status >= 500) return /authentication|permission/i.test(type) ? 'unauthorised' : 'overloaded'
  return filtered.test(all) ? 'refused' : 'bad-request'
}

function isBrokenConnection(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false
  const code = 'code' in cause ? String(cause.code) : ''
  return (
    /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET|UND_ERR)/.test(code) ||
    (cause instanceof TypeError && /terminated|fetch failed|network/i.test(cause.message))
  )
}

function causes(error: unknown): unknown[] {
  const chain: unknown[] = []
  for (let at = error; at !== undefined && at !== null && chain.length < 8; ) {
    chain.push(at)
    at = at instanceof Error ? at.cause : undefined
  }
  return chain
}

/** Returns the last message of the chain, which names the actual cause. */
function deepestMessage(chain: readonly unknown[]): string {
  for (const cause of chain.toReversed()) if (cause instanceof Error && cause.message !== '') return cause.message
  return String(chain[0])
}
