/**
 * A session's head: one agent's view of a conversation in a few fields, folded from the session's own events.
 *
 * Messages do not change it: their number and tokens are differences of running sums in the log.
 */
import { z } from 'zod'
import { BranchPoint } from '../events/conversation.ts'
import { Metadata } from '../events/metadata.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'
import type { RequestBuilt } from '../events/request.ts'
import { RunOutcome } from '../events/run.ts'
import { type SessionConfigured, Sharing } from '../events/session.ts'
import { Strategy } from '../events/strategy.ts'
import { furthestTime } from '../events/time.ts'
import { WorkItem, workItemKey } from '../events/work-item.ts'
import { mergeMetadata } from './metadata.ts'

/**
 * Deleted sessions are hidden. Expired ones are replaced on their next use. All stay in the log.
 *
 * A session expires when no event that it sees arrived for its time. It is then shown as expired and takes no writes. The
 * sweep, its successor or `expireSession` record the expiry, which makes it permanent. Until then a message of others
 * makes it active again, because running sums cannot tell that the time was over before that message.
 */
export const SessionStatus = z.enum(['active', 'archived', 'expired', 'deleted'])
export type SessionStatus = z.infer<typeof SessionStatus>

/** Settings of a session's requests that differ from the project's. */
const SessionRequestSettings = z.object({
  strategy: Strategy.optional(),
  budget: z.int().optional(),
  model: z.string().optional(),
  recall: z.boolean().optional(),
})
type SessionRequestSettings = z.infer<typeof SessionRequestSettings>

export const SessionHead = z
  .object({
    id: z.string(),
    project: z.string(),
    conversationId: z.string(),
    agentName: z.string(),
    agentType: z.string(),
    workItem: WorkItem,
    taskState: z.string().optional(),
    sharing: Sharing,
    status: SessionStatus,
    expiresInMs: z.int().nullable(),
    /** Messages up to this version are outside the window, except those in `kept`. */
    windowStart: z.int(),
    kept: z.array(z.int()).readonly(),
    /** The agent has processed what it sees up to this version; undefined before the first acknowledgement. */
    acknowledged: z.int().optional(),
    compactions: z.int(),
    /** The window's newest checkpoint, if any: its version and what decisions need of it. */
    checkpoint: z
      .object({ version: z.int(), number: z.int(), upTo: z.int(), tokens: z.int(), totalSaved: z.int() })
      .optional(),
    /** The model's checkpoints did not help: the packer may omit messages, and the offline summariser takes over. */
    latched: z.boolean().optional(),
    /** Compactions failed since the last checkpoint: their number, and the version of the newest. */
    failed: z.object({ times: z.int(), version: z.int() }).optional(),
    /** Versions of the newest description and context. */
    describedAt: z.int().optional(),
    contextAt: z.int().optional(),
    /** The newest request that was built to be sent. */
    lastRequest: z
      .object({
        version: z.int(),
        upTo: z.int().optional(),
        tokens: z.number(),
        calibrated: z.number().optional(),
        budget: z.number(),
        at: z.string(),
      })
      .optional(),
    /** Its newest run: the version of its trigger, and its outcome; without one it is running. */
    run: z.object({ id: z.string(), trigger: z.int(), outcome: RunOutcome.optional() }).optional(),
    requests: SessionRequestSettings.optional(),
    outsideIds: z.record(z.string(), z.string()).readonly(),
    metadata: Metadata,
    replaces: z.string().optional(),
    /** In a branch: the branch point, and the parent's sessions whose messages count as its own. */
    branchOf: BranchPoint.optional(),
    continues: z.array(z.string()).readonly().optional(),
    createdAt: z.string(),
    /** Time of the session's own newest event; messages do not change it. For an expired session: its last use. */
    updatedAt: z.string(),
  })
  .meta({ id: 'SessionHead' })
export type SessionHead = z.infer<typeof SessionHead>

/** Returns the natural key: one active session per agent, work item and state. Never parsed. */
export function sessionKey(key: { agentName: string; workItem: WorkItem; taskState?: string | undefined }): string {
  return JSON.stringify([key.agentName, workItemKey(key.workItem), key.taskState ?? null])
}

/** Returns the id of the session an event belongs to, if any. */
export function sessionOf(recorded: RecordedEvent): string | undefined {
  const { event } = recorded
  return event.type !== 'message.added' && 'sessionId' in event ? event.sessionId : undefined
}

export function evolveSession(
  head: SessionHead | undefined,
  recorded: RecordedEvent,
  workItem: WorkItem,
): SessionHead | undefined {
  const { event, at, version } = recorded
  if (event.type === 'session.created') {
    return {
      id: event.sessionId,
      project: recorded.project,
      conversationId: recorded.conversationId,
      agentName: event.agentName,
      agentType: event.agentType,
      workItem,
      ...(event.taskState !== undefined && { taskState: event.taskState }),
      sharing: event.sharing,
      status: 'active',
      expiresInMs: event.expiresInMs,
      windowStart: 0,
      kept: [],
      compactions: 0,
      ...event.continues?.head,
      ...(event.branchOf && { branchOf: event.branchOf }),
      ...(event.continues && { continues: event.continues.sessionIds }),
      ...(event.acknowledged !== undefined && { acknowledged: event.acknowledged }),
      outsideIds: {},
      metadata: event.metadata ?? {},
      ...(event.replaces !== undefined && { replaces: event.replaces }),
      createdAt: at,
      updatedAt: at,
    }
  }
  if (!head) return undefined
  switch (event.type) {
    case 'session.cleared':
      return { ...withoutCheckpoint(head), windowStart: version, kept: [], updatedAt: at }
    case 'session.reset':
      return { ...withoutCheckpoint(head), windowStart: version, kept: event.kept, updatedAt: at }
    case 'session.acknowledged':
      return { ...head, acknowledged: event.upTo, updatedAt: at }
    case 'session.described':
      return { ...head, describedAt: version, updatedAt: at }
    case 'context.gathered':
      return { ...head, contextAt: version, updatedAt: at }
    case 'request.built':
      return { ...head, lastRequest: lastRequestOf(event, version, at), updatedAt: at }
    case 'checkpoint.taken': {
      const { number, upTo, tokens } = event.checkpoint
      const { latched: _, failed: __, ...rest } = head
      return {
        ...rest,
        checkpoint: { version, number, upTo, tokens: tokens.checkpoint, totalSaved: tokens.totalSaved },
        compactions: head.compactions + 1,
        updatedAt: at,
      }
    }
    case 'compaction.failed':
      if (event.superseded) return { ...head, updatedAt: at }
      return {
        ...head,
        ...(event.latched && { latched: true }),
        failed: { times: (head.failed?.times ?? 0) + 1, version },
        updatedAt: at,
      }
    case 'run.started':
      return { ...head, run: { id: event.runId, trigger: event.trigger }, updatedAt: at }
    case 'run.ended':
      return head.run?.id === event.runId
        ? { ...head, run: { ...head.run, outcome: event.outcome }, updatedAt: at }
        : head
    case 'session.archived':
      return { ...head, status: 'archived', updatedAt: at }
    case 'session.reopened':
      return { ...head, status: 'active', updatedAt: at }
    case 'session.expired':
      // Recording the expiry does not count as use.
      return { ...head, status: 'expired', updatedAt: event.lastActiveAt }
    case 'session.deleted':
      return { ...head, status: 'deleted', updatedAt: at }
    case 'session.annotated':
      return { ...head, metadata: mergeMetadata(head.metadata, event.metadata), updatedAt: at }
    case 'session.configured': {
      const { requests: _, ...rest } = head
      const requests = mergeSettings(head.requests, event.requests)
      return { ...rest, ...(Object.keys(requests).length > 0 && { requests }), updatedAt: at }
    }
    case 'session.linked': {
      const { [event.system]: _, ...others } = head.outsideIds
      const outsideIds = event.outsideId === null ? others : { ...others, [event.system]: event.outsideId }
      return { ...head, outsideIds, updatedAt: at }
    }
    default:
      return head
  }
}

/**
 * Returns the fields of a head that a session in a branch takes over. External ids stay behind, because two sessions
 * cannot continue one.
 */
export function inheritedHead(head: SessionHead): Record<string, unknown> {
  const { windowStart, kept, acknowledged, compactions, checkpoint, latched, describedAt, contextAt } = head
  const inherited = { windowStart, kept, acknowledged, compactions, checkpoint, latched, describedAt, contextAt }
  return Object.fromEntries(Object.entries(inherited).filter(([, value]) => value !== undefined))
}

function lastRequestOf({ upTo, tokens, calibrated, budget }: RequestBuilt, version: number, at: string) {
  return {
    version,
    ...(upTo !== undefined && { upTo }),
    tokens,
    ...(calibrated !== undefined && { calibrated }),
    budget,
    at,
  }
}

function mergeSettings(
  current: SessionRequestSettings | undefined,
  changes: SessionConfigured['requests'],
): SessionRequestSettings {
  const entries = Object.entries({ ...current, ...changes }).filter(
    ([, value]) => value !== null && value !== undefined,
  )
  return Object.fromEntries(entries)
}

/** A cleared or reset window starts without checkpoint and latch. */
function withoutCheckpoint(head: SessionHead): SessionHead {
  const { checkpoint: _, latched: __, failed: ___, ...rest } = head
  return rest
}

const changeTimes = new WeakMap<SessionHead, number>()

/** Time of the session's own last change. Cached, because every append needs it and parsing a date is slow. */
export function changedAtMs(head: SessionHead): number {
  let time = changeTimes.get(head)
  if (time === undefined) {
    time = Date.parse(head.updatedAt)
    changeTimes.set(head, time)
  }
  return time
}

/**
 * Returns when a session expires without use, or undefined if never. A time past what a date can hold counts as never.
 */
export function expiryOf(head: SessionHead, lastActiveAtMs: number): number | undefined {
  if (head.expiresInMs === null) return undefined
  const expiry = lastActiveAtMs + head.expiresInMs
  return expiry <= furthestTime ? expiry : undefined
}
