/**
 * Checks of every request before anything is read: host, origin, principal, rate, and whether a page of another site
 * sent it. A request that fails one check is refused.
 */
import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { AccessRefused, AccessRequired, NotJson, PlaceRefused, TooMany } from '../../errors.ts'
import type { ServerSettings } from '../settings.ts'
import type { Principal } from './principal.ts'
import type { Tickets } from './tickets.ts'
import { digestOf, type TokenBook, whoHolds } from './tokens.ts'

/** Required with a cookie: a page of another site cannot set it. */
export const pageHeader = 'colloquy-request'

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export interface Gate {
  /** @throws {PlaceRefused} when host or origin is not ours */
  checkPlace(context: Context): void
  /** Returns undefined without credentials. @throws {AccessRequired} when they are invalid */
  principalOf(context: Context): Principal | undefined
  /** @throws {NotJson} when an unsafe request has a body that does not say it is JSON */
  checkKind(context: Context): void
  cookieName(context: Context): string
  /** Compares with the owner's token. @throws {TooMany} after too many attempts */
  isOwners(token: string): boolean
}

export interface Owner {
  token: string
  name: string
}

export function gate(parts: {
  settings: ServerSettings
  owner: Owner
  tickets: Tickets
  book: TokenBook | undefined
}): Gate {
  const { settings, owner, tickets, book } = parts
  const known = { name: owner.name, digest: digestOf(owner.token) }
  const allows = rateLimit(settings.limits.requestsPerSecond)
  const allowsGuess = rateLimit(5)

  // Cookies do not tell ports apart: two servers on one machine must not take each other's.
  const cookieName = (context: Context) =>
    `colloquy-${(context.req.header('host') ?? '').split(':').at(-1)?.replace(/\W/g, '') || 'local'}`

  function authenticated(context: Context): Principal | undefined {
    const authorization = context.req.header('authorization')
    if (authorization !== undefined) {
      const [, token] = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization) ?? []
      const principal = token === undefined ? undefined : whoHolds(token, known, book)
      if (!principal) throw new AccessRequired('The token is unknown')
      return principal
    }
    const cookie = getCookie(context, cookieName(context))
    if (cookie === undefined) return undefined
    if (!tickets.isCookie(cookie)) throw new AccessRequired('The cookie has expired')
    const site = context.req.header('sec-fetch-site')
    if (site !== undefined && site !== 'same-origin' && site !== 'none') {
      throw new AccessRefused('A page of another site sent this request.', { site })
    }
    if (!safeMethods.has(context.req.method) && context.req.header(pageHeader) === undefined) {
      throw new AccessRefused(`With a cookie a request that changes something needs the header "${pageHeader}: 1".`)
    }
    return { name: owner.name, scope: 'admin', projects: 'all', by: 'cookie' }
  }

  return {
    cookieName,
    isOwners(token) {
      const waitSeconds = allowsGuess('')
      if (waitSeconds > 0) throw new TooMany('failed attempts', waitSeconds)
      return whoHolds(token, known, undefined) !== undefined
    },
    checkPlace(context) {
      const host = (context.req.header('host') ?? '').toLowerCase()
      if (!settings.hosts.has(host)) throw new PlaceRefused({ what: 'host', value: host.slice(0, 200) })
      const origin = context.req.header('origin')?.toLowerCase()
      if (origin !== undefined && !settings.origins.has(origin)) {
        throw new PlaceRefused({ what: 'origin', value: origin.slice(0, 200) })
      }
    },
    principalOf(context) {
      const principal = authenticated(context)
      const waitSeconds = allows(principal?.name ?? '')
      if (waitSeconds > 0) throw new TooMany('requests', waitSeconds)
      return principal
    },
    checkKind(context) {
      if (safeMethods.has(context.req.method)) return
      const type = context.req.header('content-type')
      const hasBody =
        context.req.header('transfer-encoding') !== undefined || Number(context.req.header('content-length') ?? 0) > 0
      if (type === undefined ? hasBody : !/^application\/json(;|$)/i.test(type)) {
        throw new NotJson('The body must be JSON: send it with "content-type: application/json".', 415)
      }
    },
  }
}

/** Returns the seconds to wait, 0 for none. Each name has a bucket that refills with time. */
function rateLimit(perSecond: number | null): (name: string) => number {
  if (perSecond === null) return () => 0
  const max = perSecond * 2
  const buckets = new Map<string, { tokens: number; at: number }>()
  return name => {
    const now = performance.now()
    const bucket = buckets.get(name) ?? { tokens: max, at: now }
    const tokens = Math.min(max, bucket.tokens + ((now - bucket.at) / 1000) * perSecond)
    buckets.set(name, { tokens: Math.max(0, tokens - 1), at: now })
    return tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - tokens) / perSecond))
  }
}
