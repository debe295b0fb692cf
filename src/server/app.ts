/**
 * The server as a Hono app: the gate before everything, then the contract, endpoint by endpoint. `start.ts` listens; this
 * file knows no sockets.
 */
import { createHash, randomUUID } from 'node:crypto'
import { type Context, Hono } from 'hono'
import { getPath } from 'hono/utils/url'
import type { ServerOptions } from '../app/configuration/server-settings.ts'
import { AccessRequired, NoSuchRoute, ServerStopping } from '../errors.ts'
import type { Colloquy } from '../index.ts'
import { idProblem } from '../log/events/id.ts'
import { type Gate, gate, type Owner } from './access/access-check.ts'
import { preflight, setCommonHeaders } from './access/headers.ts'
import { demandProject, demandScope, type Principal } from './access/principal.ts'
import { tickets } from './access/tickets.ts'
import type { TokenBook } from './access/tokens.ts'
import type { Endpoint } from './contract/endpoint.ts'
import { contract, endpoints } from './contract/index.ts'
import type { Handler } from './handler.ts'
import { streams } from './live/streams.ts'
import { jobs } from './operation/jobs.ts'
import { metrics, type RequestKind } from './operation/metrics.ts'
import { nodeRegister } from './operation/nodes.ts'
import { ui } from './pages/ui.ts'
import { problemOf, problemResponse } from './problem.ts'
import { readBody } from './request-body.ts'
import { checkParts, writeOptions } from './request-check.ts'
import { buildingHandlers } from './resources/building.ts'
import { conversationHandlers } from './resources/conversations.ts'
import { demoHandlers } from './resources/demo.ts'
import { dispatchHandlers } from './resources/dispatch.ts'
import { loomHandlers } from './resources/loom.ts'
import { operationHandlers } from './resources/operations.ts'
import { pastHandlers } from './resources/past.ts'
import { projectHandlers } from './resources/projects.ts'
import { runHandlers } from './resources/runs.ts'
import { sessionHandlers } from './resources/sessions.ts'
import { teamHandlers } from './resources/teams.ts'
import { workHandlers } from './resources/work.ts'
import type { ServerParts } from './server-parts.ts'
import { type ServerSettings, serverSettings } from './settings.ts'
import { version } from './version.ts'

export interface CreateServer {
  colloquy: Colloquy
  /** The one who started the server, and may do everything. */
  owner: Owner
  /** Further tokens, each with its projects and scope. */
  book?: TokenBook
  configuration?: ServerOptions
}

export interface ColloquyServer {
  readonly app: Hono
  readonly settings: ServerSettings
  /** Issues a ticket for the address that a person opens. It is valid once. */
  ticket(): string
  /** Ends live streams with a hint to come back, and refuses new ones. Running requests go on. */
  drain(): void
  /** Ends the background work. The store stays open, for the caller to close. */
  close(): Promise<void>
}

type Variables = {
  Variables: {
    requestId: string
    endpoint: Endpoint | undefined
    principal: Principal | undefined
  }
}

export function createServer({ colloquy, owner, book, configuration }: CreateServer): ColloquyServer {
  const settings = serverSettings(configuration)
  const { trace } = settings
  const entry = tickets(owner.token)
  const door = gate({ settings, owner, tickets: entry, book })
  const pages = ui({ door, tickets: entry, basePath: settings.basePath })
  const counted = metrics(colloquy)
  const live = streams(settings)
  const working = jobs({
    colloquy,
    everyMs: settings.sweepEveryMs,
    metrics: counted,
    onFailure: (error, project) => trace?.error({ error, project }, 'a maintenance sweep failed'),
  })
  const nodes = nodeRegister({
    colloquy,
    streams: live,
    onFailure: error => trace?.debug({ error }, 'this node could not say that it is there'),
  })
  const server: ServerParts = { colloquy, settings, streams: live, jobs: working, metrics: counted, nodes }
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
    loom: loomHandlers(),
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
    setCommonHeaders(context.res, requestId, origin)
    const { status } = context.res
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
      problemResponse(problem, error, { loomErrors: context.get('endpoint')?.loomErrors === true })
    setCommonHeaders(response, requestId, undefined)
    return response
  })

  app.get('/', context => pages.home(context))
  app.post('/enter', context => pages.enter(context))
  app.get('/api/docs.css', context => pages.style(context))

  for (const { resource, name, endpoint } of endpoints) {
    const handler = (handlers[resource] as Record<string, Handler<Endpoint>>)[name]!
    app.on(endpoint.method.toUpperCase(), endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'), async context => {
      context.set('endpoint', endpoint)
      return serve(context, { endpoint, handler, server, door, isStopping })
    })
  }

  app.notFound(async context => {
    const { path, method } = context.req
    // Without a token no caller learns which routes exist.
    if (!door.principalOf(context)) throw new AccessRequired()
    const found = await pages.elsewhere(context)
    if (found) return found
    throw new NoSuchRoute({ method, path, allowed: methodsAt(path) })
  })

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

interface Call {
  endpoint: Endpoint
  handler: Handler<Endpoint>
  server: ServerParts
  door: Gate
  isStopping: boolean
}

/** Checks the caller and the input of a request, then lets the handler of its endpoint answer. */
async function serve(
  context: Context<Variables>,
  { endpoint, handler, server, door, isStopping }: Call,
): Promise<Response> {
  const { colloquy, settings } = server
  const { scope } = endpoint
  const principal = scope === 'open' ? anyone : door.principalOf(context)
  if (!principal) throw new AccessRequired()
  context.set('principal', principal)
  demandScope(principal, scope)
  door.checkKind(context)
  if (isStopping && endpoint.method !== 'get') throw new ServerStopping()
  const params = context.req.param() as Record<string, string>
  const query = context.req.query()
  const project = params.project ?? query.project ?? query.project_id ?? projectOf(principal, colloquy.project)
  demandProject(principal, project)
  const body = endpoint.method === 'get' ? undefined : await readBody(context, settings.limits)
  const checked = checkParts(endpoint, { params, query, body })
  const requestId = context.get('requestId')
  const within = colloquy.as({ project, actor: principal.name, channel: 'http', requestId })
  const write = writeOptions(context, endpoint)
  const answer = await handler({ ...checked, colloquy: within, write, principal, server, context })
  return answer instanceof Response ? answer : json(context, endpoint, answer)
}

/** The caller of an open endpoint, who needs no token and may do nothing else. */
const anyone: Principal = { name: 'nobody', scope: 'read', projects: 'all', by: 'token' }

/** Returns the project of a request that names none: the server's own, or else the token's first. */
function projectOf({ projects }: Principal, own: string): string {
  return projects === 'all' || projects.includes(own) ? own : (projects[0] ?? '')
}

function kindOf(endpoint: Endpoint | undefined): RequestKind {
  if (endpoint === contract.sessions.addMessage || endpoint === contract.conversations.say) return 'append'
  return endpoint === contract.sessions.request || endpoint === contract.teams.view ? 'request' : 'other'
}

function json(context: Context, endpoint: Endpoint, answer: unknown): Response {
  const text = JSON.stringify(answer)
  const headers: Record<string, string> = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  if (endpoint.method === 'get' && endpoint.scope !== 'open') {
    const etag =
      endpoint === contract.conversations.get
        ? `"${(answer as { version: number }).version}"`
        : `"${createHash('sha1').update(text).digest('base64url')}"`
    headers.etag = etag
    headers['cache-control'] = 'private, no-cache'
    const known = context.req.header('if-none-match')?.split(/,\s*/)
    if (known?.some(one => one.replace(/^W\//, '') === etag)) return new Response(null, { status: 304, headers })
  }
  return new Response(text, { status: endpoint.statusOf?.(answer) ?? endpoint.status, headers })
}

/** Removes the base path, if it is there: a proxy may have removed it already. */
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
