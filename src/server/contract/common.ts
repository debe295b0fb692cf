/** Parts that many endpoints share: parameters of paths, pages, flags in queries. */
import { z } from 'zod'
import { Id } from '../../log/events/id.ts'
import { WorkItemType } from '../../log/events/work-item.ts'

export const Project = z.object({ project: Id })
export const ConversationPath = z.object({ project: Id, conversationId: Id })
export const SessionPath = z.object({ project: Id, sessionId: Id })
export const MessagePath = z.object({ project: Id, messageId: Id })

export const api = '/api/v1'
export const inProject = `${api}/projects/{project}`
export const ofConversation = `${inProject}/conversations/{conversationId}`
export const ofSession = `${inProject}/sessions/{sessionId}`

/** Numbers and flags come as text in a query. */
const digits = z.string().regex(/^\d{1,15}$/, 'must be a whole number')
export const QueryNumber = z.union([z.int().nonnegative(), digits]).transform(Number)
export const QueryFlag = z
  .union([z.boolean(), z.enum(['true', 'false'])])
  .transform(value => value === true || value === 'true')
export const Limit = QueryNumber.pipe(z.int().min(1).max(1000))
export const Cursor = z.string().min(1).max(2000)

/** Several, as `a,b`. */
export function oneOrMore<T extends string>(choices: z.ZodEnum<{ [K in T]: K }>) {
  return z
    .string()
    .transform(text => text.split(','))
    .pipe(z.array(choices))
}

export const Paging = { cursor: Cursor.optional(), limit: Limit.optional() }

/** A work item in a query: its type, and the ids that go with it. */
export const WorkItemQuery = {
  type: WorkItemType.optional(),
  featureId: Id.optional(),
  taskId: Id.optional(),
  beadId: Id.optional(),
  threadId: Id.optional(),
}

/** A page of a list; `next` is the cursor of the one after it, absent on the last. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), next: z.string().optional() })
}

export const Time = z.iso.datetime({ offset: true })

/** The name a schema has in the description of the API. */
export function named<T extends z.ZodType>(id: string, schema: T): T {
  return schema.meta({ id }) as T
}

/** RFC 9457, with our code and facts. */
export const Problem = named(
  'Problem',
  z.object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    facts: z.record(z.string(), z.unknown()),
    errors: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
    requestId: z.string(),
  }),
)
export type Problem = z.infer<typeof Problem>
