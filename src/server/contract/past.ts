/** What was: a conversation, its sessions, what an agent saw and what was sent, as of a version; and all of it step by step. */
import { z } from 'zod'
import { Id } from '../../log/events/id.ts'
import { RequestBuilt } from '../../log/events/request.ts'
import { Message } from '../../log/views/message.ts'
import { SessionHead } from '../../log/views/session.ts'
import { ConversationPath, Limit, listOf, named, ofConversation, QueryFlag, QueryNumber } from './common.ts'
import { endpoint } from './endpoint.ts'
import { AgentRequest, AgentView, Conversation, RecordedEvent } from './shapes.ts'
import { PreviewBody } from './teams.ts'

const AtVersion = ConversationPath.extend({ version: QueryNumber })
const AtSession = AtVersion.extend({ sessionId: Id })
const PastConversation = Conversation.omit({ version: true, activeAt: true })

export const PastRequest = named(
  'PastRequest',
  z.object({
    version: z.int(),
    manifest: RequestBuilt,
    request: AgentRequest,
    /** Whether it has the size that was recorded when it was sent. */
    isExact: z.boolean(),
  }),
)

export const past = {
  messages: endpoint({
    method: 'get',
    path: `${ofConversation}/at/{version}/messages`,
    scope: 'read',
    summary: 'Messages of then: the newest, or those before or after a version',
    params: AtVersion,
    query: z.object({ limit: Limit.optional(), before: QueryNumber.optional(), after: QueryNumber.optional() }),
    answer: z.object({ items: z.array(Message) }),
  }),
  session: endpoint({
    method: 'get',
    path: `${ofConversation}/at/{version}/sessions/{sessionId}`,
    scope: 'read',
    summary: 'A session as it was',
    params: AtSession,
    answer: SessionHead,
  }),
  request: endpoint({
    method: 'get',
    path: `${ofConversation}/at/{version}/sessions/{sessionId}/request`,
    scope: 'read',
    summary: 'The newest request of a session that had been sent by then, rendered again from its manifest',
    params: AtSession,
    query: z.object({ explain: QueryFlag.optional() }),
    answer: PastRequest.nullable(),
  }),
  view: endpoint({
    method: 'post',
    path: `${ofConversation}/at/{version}/views/preview`,
    scope: 'read',
    summary: 'What an agent would have been sent then',
    params: AtVersion,
    body: PreviewBody,
    answer: AgentView,
  }),
  replay: endpoint({
    method: 'get',
    path: `${ofConversation}/replay`,
    scope: 'read',
    summary:
      'Event by event what happened, and how the conversation stood after it; `next` is the `from` of the next page',
    params: ConversationPath,
    query: z.object({
      from: QueryNumber.pipe(z.int().positive()).optional(),
      to: QueryNumber.optional(),
      limit: QueryNumber.pipe(z.int().min(1).max(200)).optional(),
    }),
    answer: listOf(z.object({ version: z.int(), event: RecordedEvent, conversation: PastConversation })),
  }),
}
