/** Giving work to agents: the server's dispatcher, what is under way anywhere, what is parked; and the orchestrator. */
import { z } from 'zod'
import { MessageInput } from '../../log/commands/message-input.ts'
import { Id } from '../../log/events/id.ts'
import { Usage } from '../../log/events/message.ts'
import { GuardKind } from '../../log/events/work/dispatch.ts'
import { ConversationPath, inProject, named, ofConversation, Project, QueryFlag } from './common.ts'
import { endpoint } from './endpoint.ts'

const Dispatched = z.discriminatedUnion('type', [
  z.object({ type: z.literal('task'), featureId: Id, taskId: Id }),
  z.object({ type: z.literal('bead'), beadId: Id }),
])

const Counts = z.object({
  started: z.int(),
  done: z.int(),
  continued: z.int(),
  failed: z.int(),
  parked: z.int(),
  stopped: z.int(),
  /** Items that another node had taken over when their work was done. */
  lost: z.int(),
})

export const DispatcherStatus = named(
  'DispatcherStatus',
  z.object({
    node: z.string(),
    state: z.enum(['running', 'stopping', 'over']),
    concurrency: z.int(),
    running: z
      .array(
        z.object({
          item: Dispatched,
          title: z.string(),
          agent: z.string(),
          hop: z.int(),
          startedAt: z.string(),
        }),
      )
      .readonly(),
    counts: Counts,
  }),
)

export const RunningDispatch = named(
  'RunningDispatch',
  z.object({
    item: Dispatched,
    title: z.string(),
    agent: z.string(),
    node: z.string(),
    startedAt: z.string(),
    hop: z.int(),
    isDead: z.boolean(),
    conversationId: z.string(),
  }),
)

export const ParkedItem = named(
  'ParkedItem',
  z.object({
    item: Dispatched,
    title: z.string(),
    state: z.string(),
    since: z.string(),
    reason: z.string(),
    guard: GuardKind.optional(),
    waitsFor: z.string().optional(),
    attempts: z.int(),
    conversationId: z.string(),
  }),
)

export const Orchestration = named(
  'Orchestration',
  z.object({
    outcome: z.enum(['started', 'ended', 'idle', 'busy', 'blocked', 'stopped', 'failed']),
    reason: z.string().optional(),
    loop: z.object({ kind: z.string(), finding: z.string(), evidence: z.array(z.int()).readonly() }).optional(),
    turns: z.int(),
    usage: Usage,
  }),
)

export const dispatch = {
  status: endpoint({
    method: 'get',
    path: `${inProject}/dispatcher`,
    scope: 'read',
    summary: 'Dispatchers of the server, and dispatched items of all processes',
    params: Project,
    answer: z.object({ dispatchers: z.array(DispatcherStatus), running: z.array(RunningDispatch) }),
  }),
  start: endpoint({
    method: 'post',
    path: `${inProject}/dispatcher/start`,
    scope: 'admin',
    summary: 'Starts the dispatcher of the server, unless it is running',
    params: Project,
    body: z
      .strictObject({ once: z.boolean().optional(), concurrency: z.int().positive().max(100).optional() })
      .optional(),
    answer: DispatcherStatus,
  }),
  stop: endpoint({
    method: 'post',
    path: `${inProject}/dispatcher/stop`,
    scope: 'admin',
    summary: 'Stops the dispatcher of the server and its runs; their partial answers are kept',
    params: Project,
    answer: z.object({ stopped: z.int() }),
  }),
  parked: endpoint({
    method: 'get',
    path: `${inProject}/parked`,
    scope: 'read',
    summary: 'Items that need a person, with reasons: parked beads, blocked and failed tasks',
    params: Project,
    answer: z.object({ items: z.array(ParkedItem) }),
  }),
  clear: endpoint({
    method: 'post',
    path: `${inProject}/parked/clear`,
    scope: 'write',
    summary: 'Clears the guards of an item, so that it goes on',
    params: Project,
    body: z.strictObject({ item: Dispatched, reason: z.string().max(10_000).optional() }),
    answer: z.object({ cleared: z.literal(true) }),
    keyed: true,
  }),
  orchestrate: endpoint({
    method: 'post',
    path: `${ofConversation}/orchestrate`,
    scope: 'write',
    summary: 'Runs the orchestrator until no work is left; with wait=true answers at its end',
    params: ConversationPath,
    query: z.object({ wait: QueryFlag.optional() }),
    body: z
      .strictObject({
        message: z.union([z.string().min(1), MessageInput]).optional(),
        agents: z.record(Id, z.string().max(10_000)).optional(),
      })
      .optional(),
    answer: Orchestration,
    statusOf: ({ outcome }) => (outcome === 'started' ? 202 : 200),
  }),
}
