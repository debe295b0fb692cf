/** Headers that every response has, and the answer to a preflight. */
import { pageHeader } from './access-check.ts'

/** Nothing is framed, sniffed, or loaded from elsewhere. */
const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not 'no-referrer': browsers would send our own forms with the origin null.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
}

/** Sets the headers on `response`. The gate has checked `origin`, so it is one that the server allows. */
export function setCommonHeaders({ headers }: Response, requestId: string, origin: string | undefined): void {
  for (const [name, value] of Object.entries(securityHeaders)) headers.set(name, value)
  headers.set('x-request-id', requestId)
  if (origin === undefined) return
  headers.set('access-control-allow-origin', origin)
  headers.set('access-control-expose-headers', 'etag, x-request-id, retry-after')
  headers.set('vary', 'origin')
}

export function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': `authorization, content-type, idempotency-key, if-match, if-none-match, colloquy-fence, last-event-id, x-request-id, ${pageHeader}`,
      'access-control-max-age': '600',
    },
  })
}
