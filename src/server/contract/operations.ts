/** The server itself: health, metrics, its description, jobs, live events. */
import { z } from 'zod'
import { Id } from '../../log/events/id.ts'
import { api, inProject, named, Project, QueryFlag } from './common.ts'
import { endpoint } from './endpoint.ts'

const Ok = z.object({ status: z.literal('ok') })

export const Job = z.object({
  name: z.string(),
  project: z.string(),
  everyMs: z.int().nullable(),
  isRunning: z.boolean(),
  runs: z.int(),
  lastStartedAt: z.string().optional(),
  lastEndedAt: z.string().optional(),
  lastOutcome: z.record(z.string(), z.unknown()).optional(),
  lastError: z.string().optional(),
  /** The session of a compaction. */
  sessionId: z.string().optional(),
})

export const ServerNode = named(
  'ServerNode',
  z.object({
    id: z.string(),
    /** Its machine and process. */
    name: z.string(),
    version: z.string(),
    startedAt: z.string(),
    seenAt: z.string(),
    /** It is the one that answers. */
    isHere: z.boolean(),
    /** Its metrics: memoryBytes, loopDelayMs, subscribers, writesWaiting, runs, modelCalls, modelCallsWaiting. */
    figures: z.record(z.string(), z.number()).readonly(),
  }),
)

export const Swept = z.object({ expired: z.int(), archived: z.int(), skipped: z.boolean() })

export const VerifyReport = z.object({
  conversations: z.int(),
  events: z.int(),
  damages: z.array(
    z.object({ project: z.string(), conversationId: z.string(), version: z.int().optional(), what: z.string() }),
  ),
  clean: z.boolean(),
})

export const operations = {
  health: endpoint({ method: 'get', path: '/health', scope: 'open', summary: 'The process answers', answer: Ok }),
  ready: endpoint({
    method: 'get',
    path: '/ready',
    scope: 'open',
    summary: 'The store answers; 503 while it does not, or the server stops',
    answer: Ok,
  }),
  metrics: endpoint({
    method: 'get',
    path: '/metrics',
    scope: 'read',
    summary: 'Metrics in the format of Prometheus',
    answer: z.string(),
    streams: 'text/plain',
  }),
  describe: endpoint({
    method: 'get',
    path: `${api}/openapi.json`,
    scope: 'read',
    summary: 'This description, as OpenAPI 3.1',
    answer: z.record(z.string(), z.unknown()),
  }),
  docs: endpoint({
    method: 'get',
    path: '/api/docs',
    scope: 'read',
    summary: 'This description as a page',
    answer: z.string(),
    streams: 'text/html',
  }),
  whoami: endpoint({
    method: 'get',
    path: `${api}/me`,
    scope: 'read',
    summary: 'The name, scope and projects of the token',
    answer: z.object({
      name: z.string(),
      scope: z.enum(['read', 'write', 'admin']),
      projects: z.union([z.literal('all'), z.array(z.string()).readonly()]),
      project: z.string(),
    }),
  }),
  events: endpoint({
    method: 'get',
    path: `${api}/events`,
    scope: 'read',
    summary: 'Live events (SSE). Ids are positions: Last-Event-ID, or from=, continues exactly there',
    query: z.object({
      project: Id.optional(),
      conversation: Id.optional(),
      session: Id.optional(),
      /** Types of events (`message.added`) or names of updates (`session:updated`), with commas. */
      type: z.string().max(1000).optional(),
      /** 'start', 'now' (default) or a position. */
      from: z.string().max(200).optional(),
      /** Also sends the deltas of running agents: events `run:live` without an id, which are not stored. */
      deltas: QueryFlag.optional(),
    }),
    answer: z.string(),
    streams: 'text/event-stream',
  }),
  jobs: endpoint({
    method: 'get',
    path: `${api}/jobs`,
    scope: 'read',
    summary: 'Background work: the maintenance sweep (expiry, time-outs, archiving), compactions, the demo',
    answer: z.object({ items: z.array(Job) }),
  }),
  nodes: endpoint({
    method: 'get',
    path: `${api}/nodes`,
    scope: 'read',
    summary: 'Servers of this store with their metrics; for tokens that are valid for all projects',
    answer: z.object({ items: z.array(ServerNode) }),
  }),
  maintain: endpoint({
    method: 'post',
    path: `${inProject}/maintenance`,
    scope: 'admin',
    summary: 'Runs the maintenance sweep now',
    params: Project,
    answer: Swept,
  }),
  verify: endpoint({
    method: 'post',
    path: `${inProject}/verify`,
    scope: 'admin',
    summary: 'Checks every hash, head and sum of the project',
    params: Project,
    answer: VerifyReport,
  }),
}
