/** Schemas for query arguments. Without them a misspelt filter would return everything, and a bad value nothing. */
import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { DurationMs } from '../../log/commands/duration.ts'
import { parseInput } from '../../log/commands/input.ts'
import { Id } from '../../log/events/id.ts'
import { Role } from '../../log/events/message.ts'
import { isDay } from '../../log/events/time.ts'
import { BeadState, FeatureState, TaskState } from '../../log/events/work/work.ts'
import { WorkItem, WorkItemType } from '../../log/events/work-item.ts'
import type { Progress } from '../../log/upkeep.ts'
import { ConversationStatus } from '../../log/views/conversation.ts'
import { SessionStatus } from '../../log/views/session.ts'

const Limit = z.int('must be a whole number').positive('must be a positive whole number')
const Version = z.int('must be a whole number').nonnegative('must not be negative')
const isoTime = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i
/** `Date.parse` alone reads "1" as 2001. */
const isTime = (text: string) => {
  const day = isoTime.exec(text)?.[1]
  return day !== undefined && isDay(day) && !Number.isNaN(Date.parse(text))
}
const Time = z.string().refine(isTime, 'must be an ISO time')
const Page = { cursor: z.string().optional(), limit: Limit.optional() }

const isFunction = (value: unknown) => typeof value === 'function'
const isSignal = (value: unknown) => isFunction((value as Partial<AbortSignal> | null)?.addEventListener)
const Signal = z.custom<AbortSignal>(isSignal, 'must be an AbortSignal')

const inputs = {
  conversations: z.strictObject({
    ...Page,
    status: z.array(ConversationStatus).optional(),
    type: WorkItemType.optional(),
    branchesOf: z.string().optional(),
  }),
  sessions: z.strictObject({
    ...Page,
    status: z.array(SessionStatus).optional(),
    conversationId: Id.optional(),
    workItem: WorkItem.optional(),
    agentName: Id.optional(),
  }),
  features: z.strictObject({ ...Page, states: z.array(FeatureState).optional() }),
  tasks: z.strictObject({ states: z.array(TaskState).optional() }),
  beads: z.strictObject({ ...Page, states: z.array(BeadState).optional() }),
  events: z.strictObject({
    from: Version.optional(),
    to: Version.optional(),
    limit: Limit.optional(),
    backwards: z.boolean().optional(),
    facts: z.boolean().optional(),
  }),
  replay: z.strictObject({ from: Version.optional(), to: Version.optional() }),
  search: z.strictObject({
    text: z.string().optional(),
    conversationId: Id.optional(),
    author: Id.optional(),
    role: Role.optional(),
    phase: Id.optional(),
    participant: Id.optional(),
    agent: Id.optional(),
    workItem: WorkItem.optional(),
    archived: z.boolean().optional(),
    before: Version.optional(),
    since: Time.optional(),
    until: Time.optional(),
    limit: Limit.optional(),
    offset: Version.optional(),
  }),
  audit: z.strictObject({
    ...Page,
    actor: Id.optional(),
    channel: Id.optional(),
    requestId: Id.optional(),
    type: z.string().optional(),
    conversationId: Id.optional(),
    since: Time.optional(),
    until: Time.optional(),
  }),
  totals: z.strictObject(Page),
  phases: z.strictObject(Page),
  turns: z.strictObject(Page),
  routing: z.strictObject({ limit: Limit.optional() }),
  updates: z.strictObject({
    from: z.string().optional(),
    conversationId: z.string().optional(),
    sessionId: z.string().optional(),
    name: z.string().optional(),
    signal: Signal.optional(),
  }),
  upkeep: z.strictObject({
    onProgress: z.custom<Progress>(isFunction, 'must be a function').optional(),
    allProjects: z.boolean().optional(),
  }),
  purge: z.strictObject({ signal: Signal.optional() }),
  reason: z.object({ reason: z.string().optional() }),
  pinned: z.object({ pinned: z.boolean() }),
  changes: z.object({
    changes: z.strictObject({ title: z.unknown().optional(), metadata: z.unknown().optional() }),
  }),
  archive: z.object({ archive: z.string() }),
  upTo: z.object({ upTo: Version }),
  claim: z.strictObject({
    trigger: z.strictObject({ messageId: z.string() }).optional(),
    forMs: DurationMs.optional(),
  }),
  claimed: z.object({
    fence: z.strictObject({ name: z.string(), generation: z.int() }),
    forMs: DurationMs.optional(),
  }),
  workItem: z.object({ workItem: WorkItem }),
  undone: z.strictObject({ turnId: z.string().optional(), reason: z.string().optional() }),
  stopped: z.strictObject({ agent: z.string(), executionId: z.string().optional() }),
}

/** @throws {InvalidInput} naming the field */
export function checkAsked(kind: keyof typeof inputs, input: object): void {
  parseInput(inputs[kind], input)
}

/** @throws {InvalidInput} naming the field */
export function checkPage(page: { limit?: number; before?: number; after?: number }): void {
  if (typeof page !== 'object' || page === null) throw new InvalidInput('page', 'must be an object')
  for (const name in page) {
    if (name !== 'limit' && name !== 'before' && name !== 'after')
      throw new InvalidInput(name, 'there is no such field; use limit, before or after')
  }
  const { limit, before, after } = page
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0)) {
    throw new InvalidInput('limit', 'must be a positive whole number')
  }
  checkVersion('before', before)
  checkVersion('after', after)
}

function checkVersion(field: string, version: number | undefined): void {
  if (version === undefined || (Number.isSafeInteger(version) && version >= 0)) return
  throw new InvalidInput(field, 'must be a version: a whole number')
}
