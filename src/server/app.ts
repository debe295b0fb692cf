/**
 * The server as a Hono app: the gate before everything, then the contract, endpoint by endpoint. Listening is
 * `start.ts`'s; here nothing knows of sockets.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono } from 'hono'
import { getPath } from 'hono/utils/url'
import { AccessRequired, NoSuchRoute, ServerStopping } from '../errors.ts'
import type { Colloquy } from '../index.ts'
import { idProblem } from '../log/events/id.ts'
import { gate, meantHeader, type Owner } from './access/access-check.ts'
import { securityHeaders } from './access/headers.ts'
import { demandProject, demandScope, type Principal } from './access/principal.ts'
import { tickets } from './access/tickets.ts'
import type { TokenBook } from './access/tokens.ts'
import { readBody } from './body.ts'
import { checkParts } from './check.ts'
import type { ServerParts } from './context.ts'
import type { Endpoint } from './contract/endpoint.ts'
import { contract, endpoints } from './contract/index.ts'
import type { Handler } from './handler.ts'
import { jobs } from './operation/jobs.ts'
import { figures } from './operation/metrics.ts'
import { nodeRegister } from './operation/nodes.ts'
import { ui } from './pages/ui.ts'
import { problemOf, problemResponse } from './problem.ts'
import { buildingHandlers } from './resources/building.ts'
import { conversationHandlers } from './resources/conversations.ts'
import { demoHandlers } from './resources/demo.ts'
import { dispatchHandlers } from './resources/dispatch.ts'
import { seed003Handlers } from './resources/loom.ts'
import { operationHandlers } from './resources/operations.ts'
import { pastHandlers } from './resources/past.ts'
import { projectHandlers } from './resources/projects.ts'
import { runHandlers } from './resources/runs.ts'
import { sessionHandlers } from './resources/sessions.ts'
import { teamHandlers } from './resources/teams.ts'
import { workHandlers } from './resources/work.ts'
import { completeServerSettings, type ServerSettings, type ServerSettingsInput } from './settings.ts'
import { streams } from './streams.ts'
import { version } from './version.ts'
import { writeOptions } from './write-options.ts'

export interface CreateServer {
  colloquy: Colloquy
  /** Who started it: may do everything. */
  owner: Owner
  /** Further tokens, each with its projects and scope. */
  book?: TokenBook
  configuration?: ServerSettingsInput
}

export interface ColloquyServer {
  readonly app: Hono
  readonly settings: ServerSettings
  /** A ticket for the address a person opens: good once. */
  ticket(): string
  /** Ends live streams with a hint to come back, and refuses new ones. What is under way goes on. */
  drain(): void
  /** Ends what runs in the background. The store stays open: who opened it closes it. */
  close(): Promise<void>
}

type Variables = {
  Variables: {
    requestId: string
    endpoint: Endpoint | undefined
    principal: Principal | undefined
    /** The status of an answer that is on its way already, with all its headers. */
    answered: number | undefined
  }
}

export function createServer({ colloquy, owner, book, configuration }: CreateServer): ColloquyServer {
  const settings = completeServerSettings(configuration)
  const { trace, limits } = settings
  const entry = tickets(owner.token)
  const door = gate({ settings, owner, tickets: entry, book })
  const pages = ui({ door, tickets: entry, basePath: settings.basePath })
  const counted = figures(colloquy)
  const live = streams(settings)
  const working = jobs({
    colloquy,
    everyMs: settings.sweepEveryMs,
    figures: counted,
    onFailure: (error, project) => trace?.error({ error, project }, 'a maintenance sweep failed'),
  })
  const nodes = nodeRegister({
    colloquy,
    streams: live,
    onFailure: error => trace?.debug({ error }, 'this node could not say that it is there'),
  })
  const server: ServerParts = { colloquy, settings, streams: live, jobs: working, figures: counted, nodes }
  let isStopping = false

  const handlers = {
    projects: projectHandlers(),
    conversations: conversationHandlers(),
    past: pastHandlers(),
    sessions: sessionHandlers(),
    teams: teamHandlers(),
    runs: runHandlers(),
    work: workHandlers(),
    dispatch: dispatchHandlers(),
    building: buildingHandlers(),
    demo: demoHandlers(),
    seed003: seed003Handlers(),
    operations: operationHandlers({ version, isStopping: () => isStopping }),
  } satisfies Record<keyof typeof contract, unknown>

  const app = new Hono<Variables>({ getPath: request => pathBelow(settings.basePath, getPath(request)) })

  app.use(async (context, next) => {
    const started = performance.now()
    const given = context.req.header('x-request-id')
    const requestId = given !== undefined && given.length <= 128 && !idProblem(given) ? given : randomUUID()
    context.set('requestId', requestId)
    door.checkPlace(context)
    const origin = context.req.header('origin')
    if (context.req.method === 'OPTIONS' && origin !== undefined) context.res = preflight()
    else await next()
    const answered = context.get('answered')
    if (answered === undefined) finish(context, requestId, origin)
    const status = answered ?? context.res.status
    const seconds = (performance.now() - started) / 1000
    const endpoint = context.get('endpoint')
    counted.answered(context.req.method, status, seconds, kindOf(endpoint))
    if (!trace?.isLevelEnabled('debug')) return
    trace.debug(
      {
        requestId,
        method: context.req.method,
        // Never the address itself: it may carry a ticket.
        route: endpoint?.path ?? context.req.path,
        status,
        ms: Math.round(seconds * 1000),
        by: context.get('principal')?.name,
      },
      'answered',
    )
  })

  app.onError((error, context) => {
    const requestId = context.get('requestId') ?? randomUUID()
    const problem = problemOf(error, requestId)
    if (problem.status >= 500) trace?.error({ requestId, error }, 'a request failed')
    const response =
      pages.entry(error, context) ??
      problemResponse(problem, error, { seedErrors: context.get('endpoint')?.seedErrors === true })
    finish({ res: response }, requestId, undefined)
    return response
  })

  app.get('/', context => pages.home(context))
  app.post('/enter', context => pages.enter(context))
  app.get('/api/docs.css', context => pages.style(context))

  for (const { resource, name, endpoint } of endpoints) {
    const handler = (handlers[resource] as Record<string, Handler<Endpoint>>)[name]!
    app.on(endpoint.method.toUpperCase(), endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'), async context => {
      context.set('endpoint', endpoint)
      return serve(context, endpoint, handler)
    })
  }

  app.notFound(async context => {
    const { path, method } = context.req
    // Who has no token is not told what there is.
    if (!door.principalOf(context)) throw new AccessRequired()
    const found = await pages.elsewhere(context)
    if (found) return found
    throw new NoSuchRoute({ method, path, allowed: methodsAt(path) })
  })

  async function serve(context: Context<Variables>, endpoint: Endpoint, handler: Handler<Endpoint>): Promise<Response> {
    const { scope } = endpoint
    const principal = scope === 'open' ? nobody : door.principalOf(context)
    if (!principal) throw new AccessRequired()
    context.set('principal', principal)
    demandScope(principal, scope === 'open' ? 'open' : scope)
    door.checkKind(context)
    if (isStopping && endpoint.method !== 'get') throw new ServerStopping()
    const params = context.req.param() as Record<string, string>
    const query = context.req.query()
    const project = params.project ?? query.project ?? query.project_id ?? projectOf(principal)
    demandProject(principal, project)
    const body = endpoint.method === 'get' ? undefined : await readBody(context, limits)
    const checked = checkParts(endpoint, { params, query, body })
    const requestId = context.get('requestId')
    const within = colloquy.as({ project, actor: principal.name, channel: 'http', requestId })
    const write = writeOptions(context, endpoint)
    const answer = await handler({ ...checked, colloquy: within, write, principal, server, context })
    if (answer instanceof Response) return answer
    const { status, text, headers } = json(context, endpoint, answer, requestId)
    context.set('answered', status)
    const { outgoing } = (context.env ?? {}) as Partial<HttpBindings>
    if (!outgoing) return new Response(text, { status, headers })
    // Straight to the socket: a web response around it would be taken apart again piece by piece.
    if (text !== null) headers['content-length'] = String(Buffer.byteLength(text))
    outgoing.writeHead(status, headers)
    outgoing.end(text ?? undefined)
    return RESPONSE_ALREADY_SENT
  }

  /** What a token means that says no project: its own, or the one the server was started for. */
  function projectOf({ projects }: Principal): string {
    return projects === 'all' || projects.includes(colloquy.project) ? colloquy.project : (projects[0] ?? '')
  }

  return {
    app: app as unknown as Hono,
    settings,
    ticket: () => entry.issue(),
    drain() {
      isStopping = true
      live.stop()
    },
    async close() {
      isStopping = true
      live.stop()
      counted.close()
      await working.close()
      await nodes.close()
    },
  }
}

/** Who asks an open endpoint. May nothing. */
const nobody: Principal = { name: 'nobody', scope: 'read', projects: 'all', by: 'token' }

function kindOf(endpoint: Endpoint | undefined): 'append' | 'request' | 'other' {
  if (endpoint === contract.sessions.addMessage || endpoint === contract.conversations.say) return 'append'
  return endpoint === contract.sessions.request || endpoint === contract.teams.view ? 'request' : 'other'
}

interface Answer {
  status: number
  text: string | null
  headers: Record<string, string>
}

function json(context: Context, endpoint: Endpoint, answer: unknown, requestId: string): Answer {
  const text = JSON.stringify(answer)
  const headers = commonHeaders(requestId, context.req.header('origin'))
  headers['content-type'] = 'application/json'
  headers['cache-control'] = 'no-store'
  if (endpoint.method === 'get' && endpoint.scope !== 'open') {
    const etag =
      endpoint === contract.conversations.get
        ? `"${(answer as { version: number }).version}"`
        : `"${createHash('sha1').update(text).digest('base64url')}"`
    headers.etag = etag
    headers['cache-control'] = 'private, no-cache'
    const known = context.req.header('if-none-match')?.split(/,\s*/)
    if (known?.some(one => one.replace(/^W\//, '') === etag)) return { status: 304, text: null, headers }
  }
  return { status: endpoint.statusOf?.(answer) ?? endpoint.status, text, headers }
}

function finish(context: { res: Response }, requestId: string, origin: string | undefined): void {
  const { headers } = context.res
  for (const [name, value] of Object.entries(commonHeaders(requestId, origin))) headers.set(name, value)
}

function commonHeaders(requestId: string, origin: string | undefined): Record<string, string> {
  return {
    ...securityHeaders,
    'x-request-id': requestId,
    // The gate let it through, so it is one of ours.
    ...(origin !== undefined && {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'etag, x-request-id, retry-after',
      vary: 'origin',
    }),
  }
}

function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': `authorization, content-type, idempotency-key, if-match, if-none-match, colloquy-fence, last-event-id, x-request-id, ${meantHeader}`,
      'access-control-max-age': '600',
    },
  })
}

/** A path without the one that everything is below, if it is there: a proxy may have taken it off. */
function pathBelow(basePath: string, path: string): string {
  if (basePath === '' || (path !== basePath && !path.startsWith(`${basePath}/`))) return path
  return path.slice(basePath.length) || '/'
}

const shapes = endpoints.map(({ endpoint }) => ({
  method: endpoint.method.toUpperCase(),
  shape: new RegExp(`^${endpoint.path.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`),
}))

function methodsAt(path: string): string[] {
  return [...new Set(shapes.filter(({ shape }) => shape.test(path)).map(({ method }) => method))]
}
