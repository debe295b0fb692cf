/** Time travel: a conversation, its sessions, views and requests as of a version, and the steps between. */
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
    /** It has the size that was recorded when it was sent. */
    isExact: z.boolean(),
  }),
)

export const past = {
  messages: endpoint({
    method: 'get',
    path: `${ofConversation}/at/{version}/messages`,
    scope: 'read',
    summary: 'Messages at that version: the newest, or those before or after a version',
    params: AtVersion,
    query: z.object({ limit: Limit.optional(), before: QueryNumber.optional(), after: QueryNumber.optional() }),
    answer: z.object({ items: z.array(Message) }),
  }),
  session: endpoint({
    method: 'get',
    path: `${ofConversation}/at/{version}/sessions/{sessionId}`,
    scope: 'read',
    summary: 'A session at that version',
    params: AtSession,
    answer: SessionHead,
  }),
  request: endpoint({
    method: 'get',
    path: `${ofConversation}/at/{version}/sessions/{sessionId}/request`,
    scope: 'read',
    summary: 'The newest request of a session sent by then, rendered again from its manifest',
    params: AtSession,
    query: z.object({ explain: QueryFlag.optional() }),
    answer: PastRequest.nullable(),
  }),
  view: endpoint({
    method: 'post',
    path: `${ofConversation}/at/{version}/views/preview`,
    scope: 'read',
    summary: 'The view of an agent at that version',
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
