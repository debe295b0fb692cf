/**
 * The UI over HTTP: its files, the ways in, and the entry page for browsers without access.
 *
 * Only the ways in and the stylesheet of the entry page are open.
 */
import type { Context } from 'hono'
import { setCookie } from 'hono/cookie'
import { AccessRequired, TooMany } from '../../errors.ts'
import type { Gate } from '../access/access-check.ts'
import type { Tickets } from '../access/tickets.ts'
import { docsStyle, page } from './docs-page.ts'
import { entryPage } from './entry-page.ts'
import { webFiles } from './web-files.ts'

/** Maximum size of the form: a token and its name. */
const maxFormBytes = 4096

interface Ui {
  /** `GET /`: with a ticket the cookie and an address without the ticket, with a cookie the UI. */
  home(context: Context): Promise<Response>
  /** `POST /enter`: the form of the entry page. */
  enter(context: Context): Promise<Response>
  /** `GET /api/docs.css`: the stylesheet of the entry page and the API description. Open. */
  style(context: Context): Response
  /** Any other path: a file of the UI, or a redirect to the UI for a browser. */
  elsewhere(context: Context): Promise<Response | undefined>
  /** The entry page for a browser without access, in place of a problem in JSON. */
  entry(error: unknown, context: Context): Response | undefined
}

export function ui({ door, tickets, basePath }: { door: Gate; tickets: Tickets; basePath: string }): Ui {
  const files = webFiles()
  const home = `${basePath}/`

  function admit(context: Context): Response {
    const { value, maxAgeSeconds } = tickets.cookie()
    setCookie(context, door.cookieName(context), value, {
      httpOnly: true,
      sameSite: 'Strict',
      // Without a slash at its end, so that the cookie is sent to that path, too.
      path: basePath || '/',
      maxAge: maxAgeSeconds,
    })
    return context.redirect(home, 303)
  }

  async function enter(context: Context): Promise<Response> {
    const isForm = /^application\/x-www-form-urlencoded(;|$)/i.test(context.req.header('content-type') ?? '')
    const size = Number(context.req.header('content-length') ?? Number.NaN)
    // A page of another site can send a form, too. A browser names its origin, and the gate has checked that.
    if (!isForm || !(size <= maxFormBytes) || context.req.header('origin') === undefined) throw new AccessRequired()
    const token = new URLSearchParams(await context.req.text()).get('token')?.trim() ?? ''
    if (!door.isOwners(token)) throw new AccessRequired('That is not the token of this server')
    return admit(context)
  }

  return {
    enter,
    style: context => context.body(docsStyle, 200, { 'content-type': 'text/css; charset=utf-8' }),
    async home(context) {
      const ticket = context.req.query('ticket')
      if (ticket !== undefined) {
        if (tickets.redeem(ticket)) return admit(context)
        throw new AccessRequired('The ticket was used, or is too old. Start the server again')
      }
      if (!door.principalOf(context)) throw new AccessRequired()
      // Relative addresses of its files need the slash.
      if (basePath !== '' && new URL(context.req.url).pathname === basePath) return context.redirect(home, 302)
      return (await files.answer('/', context)) ?? context.html(withoutUi(basePath))
    },
    async elsewhere(context) {
      const { path, method } = context.req
      if (method !== 'GET' || path.startsWith('/api/')) return undefined
      return (await files.answer(path, context)) ?? (wantsPage(context) ? context.redirect(home, 302) : undefined)
    },
    entry(error, context) {
      const isOurs = error instanceof AccessRequired || (error instanceof TooMany && context.req.path === '/enter')
      if (!isOurs || !wantsPage(context) || context.req.path.startsWith('/api/v1/')) return undefined
      const reason = error instanceof AccessRequired ? error.reason : error.message
      const headers: Record<string, string> = {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        ...(error instanceof TooMany && { 'retry-after': String(error.retryAfterSeconds) }),
      }
      return new Response(entryPage({ basePath, reason }), { status: error.status, headers })
    },
  }
}

function wantsPage(context: Context): boolean {
  return (context.req.header('accept') ?? '').includes('text/html')
}

function withoutUi(basePath: string): string {
  return page(
    'Colloquy',
    `<main><h1>Colloquy</h1><p>The server runs; its pages were not built (<code>npm run build</code>). <a href="${basePath}/api/docs">What it offers</a>, <a href="${basePath}/api/v1/me">who you are</a>, <a href="${basePath}/api/v1/projects">your projects</a>.</p></main>`,
    basePath,
  )
}
