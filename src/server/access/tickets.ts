/**
 * Tickets let a browser in without a token in its address bar. The printed address has a ticket that is valid once, for
 * ten minutes. It becomes a cookie that scripts cannot read and other sites cannot send.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const ticketMs = 10 * 60_000
const cookieMs = 12 * 60 * 60_000

export interface Tickets {
  /** A new ticket. */
  issue(): string
  /** Returns true for a valid ticket, and makes it invalid. */
  redeem(ticket: string): boolean
  /** The value of a cookie, signed with the owner's token: a new token ends every cookie. */
  cookie(): { value: string; maxAgeSeconds: number }
  isCookie(value: string): boolean
}

export function tickets(token: string, clock: () => number = Date.now): Tickets {
  const open = new Map<string, number>()
  const sign = (text: string) => createHmac('sha256', token).update(`cookie ${text}`).digest()
  return {
    issue() {
      const now = clock()
      for (const [ticket, until] of open) if (until < now) open.delete(ticket)
      const ticket = randomBytes(24).toString('base64url')
      open.set(ticket, now + ticketMs)
      return ticket
    },
    redeem(ticket) {
      const until = open.get(ticket)
      open.delete(ticket)
      return until !== undefined && until >= clock()
    },
    cookie() {
      const text = `${clock() + cookieMs}.${randomBytes(12).toString('base64url')}`
      return { value: `${text}.${sign(text).toString('base64url')}`, maxAgeSeconds: cookieMs / 1000 }
    },
    isCookie(value) {
      const [until = '', nonce = '', signature = ''] = value.split('.')
      const given = Buffer.from(signature, 'base64url')
      const expected = sign(`${until}.${nonce}`)
      return given.length === expected.length && timingSafeEqual(given, expected) && Number(until) >= clock()
    },
  }
}
