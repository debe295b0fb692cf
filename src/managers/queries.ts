/** What callers ask for, checked: a mistake in a question would otherwise look like an answer with nothing in it. */
import { z } from 'zod'
import { parseInput } from '../commands/input.ts'
import { InvalidInput } from '../errors.ts'
import { Role } from '../events/message.ts'
import { WorkItem } from '../events/work-item.ts'
import type { ConversationQuery, SessionQuery } from '../log/directory.ts'
import type { EventRange } from '../log/event-log.ts'
import type { SearchQuery } from '../log/search.ts'
import type { ConversationStatus } from '../views/conversation.ts'
import type { SessionStatus } from '../views/session.ts'

const Limit = z.int('must be a whole number').positive('must be a positive whole number')
const Version = z.int('must be a whole number').nonnegative('must not be negative')
const Time = z.string().refine(text => !Number.isNaN(Date.parse(text)), 'must be an ISO time')
const Page = { cursor: z.string().optional(), limit: Limit.optional() }

const ConversationsAsked = z.object({
  ...Page,
  status: z.array(z.enum(['active', 'completed', 'archived'] satisfies ConversationStatus[])).optional(),
  type: z.enum(['feature', 'task', 'bead', 'thread']).optional(),
  branchesOf: z.string().optional(),
})

const SessionsAsked = z.object({
  ...Page,
  status: z.array(z.enum(['active', 'archived', 'expired', 'deleted'] satisfies SessionStatus[])).optional(),
  conversationId: z.string().optional(),
  workItem: WorkItem.optional(),
  agentName: z.string().optional(),
})

const EventsAsked = z.object({
  from: Version.optional(),
  to: Version.optional(),
  limit: Limit.optional(),
  backwards: z.boolean().optional(),
  facts: z.boolean().optional(),
})

const SearchAsked = z.object({
  text: z.string().optional(),
  conversationId: z.string().optional(),
  author: z.string().optional(),
  role: Role.optional(),
  phase: z.string().optional(),
  participant: z.string().optional(),
  agent: z.string().optional(),
  workItem: WorkItem.optional(),
  archived: z.boolean().optional(),
  before: Version.optional(),
  since: Time.optional(),
  until: Time.optional(),
  limit: Limit.optional(),
  offset: Version.optional(),
})

/** @throws {InvalidInput} naming the field */
export function checkConversationQuery(query: Omit<ConversationQuery, 'project'>): void {
  parseInput(ConversationsAsked, query)
}

/** @throws {InvalidInput} naming the field */
export function checkSessionQuery(query: Omit<SessionQuery, 'project'>): void {
  parseInput(SessionsAsked, query)
}

/** @throws {InvalidInput} naming the field */
export function checkEventRange(range: Omit<EventRange, 'project' | 'conversationId'>): void {
  parseInput(EventsAsked, range)
}

/** @throws {InvalidInput} naming the field */
export function checkSearch(query: Partial<SearchQuery>): void {
  parseInput(SearchAsked, query)
}

/**
 * By hand: windows are read far more often than lists.
 *
 * @throws {InvalidInput} naming the field
 */
export function checkPage(page: { limit?: number; before?: number; after?: number }): void {
  if (typeof page !== 'object' || page === null) throw new InvalidInput('page', 'must be an object')
  const { limit, before, after } = page
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0)) {
    throw new InvalidInput('limit', 'must be a positive whole number')
  }
  refuseOddVersion('before', before)
  refuseOddVersion('after', after)
}

function refuseOddVersion(field: string, version: number | undefined): void {
  if (version === undefined || (Number.isSafeInteger(version) && version >= 0)) return
  throw new InvalidInput(field, 'must be a version: a whole number')
}
