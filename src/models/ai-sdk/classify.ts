/**
 * What went wrong with a provider, from its status, its error body and its words.
 *
 * Words are looked at last and only where providers have no code for it: a request that is too long is a plain 400 with
 * most of them.
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
  if (call?.statusCode !== undefined && call.statusCode >= 400) return answered(call, call.statusCode)
  if (call) return failed('network', deepest(chain))
  if (chain.some(cause => JSONParseError.isInstance(cause) || TypeValidationError.isInstance(cause))) {
    return failed('bad-response', 'The provider sent something that is not its protocol; perhaps half a message.')
  }
  if (chain.some(cause => InvalidResponseDataError.isInstance(cause))) return failed('bad-response', deepest(chain))
  if (chain.some(isBrokenConnection)) return failed('network', deepest(chain))
  if (!(error instanceof Error) && typeof error === 'object' && error !== null) return streamed(error)
  return failed('failed', deepest(chain))
}

/** The provider answered with an error status. */
function answered(error: APICallError, status: number): FailurePart {
  const said = { ...errorIn(error.responseBody), status }
  const kind = kindOf({ ...said, message: `${said.message} ${error.message}` })
  const headers = error.responseHeaders ?? {}
  const message = said.message || error.message || `The provider answered with status ${status}.`
  const shouldRetry = headers['x-should-retry']
  return failed(kind, message, {
    status,
    ...retryHint(headers, message),
    ...((shouldRetry === 'true' || shouldRetry === 'false') && { retryable: shouldRetry === 'true' }),
  })
}

/** The provider began to answer and then sent an error. */
function streamed(error: object): FailurePart {
  const said = errorIn(JSON.stringify(error))
  const status = typeof said.code === 'number' && said.code >= 400 && said.code < 600 ? said.code : undefined
  const kind = kindOf({ ...said, status: status ?? 500 })
  return failed(kind, said.message || 'The provider broke the answer off with an error.', {
    ...(status !== undefined && { status }),
    ...retryHint({}, said.message),
  })
}

interface Said {
  message: string
  type: string
  code: string | number
}

/** Providers wrap their errors as `{error: {…}}`, `{error: "…"}` or not at all. */
function errorIn(body: string | undefined): Said {
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

function kindOf({ message, type, code, status }: Said & { status: number }): ModelFailureKind {
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

/** The last cause with something to say is the one that tells what happened. */
function deepest(chain: readonly unknown[]): string {
  for (const cause of chain.toReversed()) if (cause instanceof Error && cause.message !== '') return cause.message
  return String(chain[0])
}
