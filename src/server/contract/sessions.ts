/** Sessions: one agent's view of a conversation, its messages, its requests, its checkpoints. */
import { z } from 'zod'
import { Session } from '../../conversation/access/session.ts'
import { MessageInput } from '../../log/commands/message-input.ts'
import { SessionOptions } from '../../log/commands/session-options.ts'
import { Checkpoint, CheckpointItem } from '../../log/events/checkpoint.ts'
import { SessionContext } from '../../log/events/context.ts'
import { AgentDescription } from '../../log/events/description.ts'
import { Id } from '../../log/events/id.ts'
import { Metadata } from '../../log/events/metadata.ts'
import { SessionConfigured } from '../../log/events/session.ts'
import { Strategy } from '../../log/events/strategy.ts'
import { WorkItemType } from '../../log/events/work-item.ts'
import { Message } from '../../log/views/message.ts'
import { SessionStatus } from '../../log/views/session.ts'
import { CheckpointDiff } from '../../request/compaction/diff.ts'
import {
  ConversationPath,
  inProject,
  Limit,
  listOf,
  ofConversation,
  ofSession,
  oneOrMore,
  Paging,
  Project,
  QueryFlag,
  QueryNumber,
  SessionPath,
  WorkItemQuery,
} from './common.ts'
import { endpoint } from './endpoint.ts'
import { AgentRequest, CompactOutcome, SessionMetrics } from './shapes.ts'

const Reason = z.strictObject({ reason: z.string().max(10_000).optional() }).optional()

export const RequestBody = z.strictObject({
  /** The trigger: a text, or a stored message. */
  message: z.union([z.string(), z.strictObject({ messageId: Id })]),
  budget: z.int().positive().optional(),
  strategy: Strategy.optional(),
  recall: z.boolean().optional(),
})

/** A preview also explains itself on demand. */
const PreviewBody = RequestBody.extend({ explain: z.boolean().optional() })

export const sessions = {
  list: endpoint({
    method: 'get',
    path: `${inProject}/sessions`,
    scope: 'read',
    summary: 'Sessions, newest first',
    params: Project,
    query: z.object({
      conversationId: Id.optional(),
      agentName: Id.optional(),
      ...WorkItemQuery,
      status: oneOrMore(SessionStatus).optional(),
      ...Paging,
    }),
    answer: listOf(Session),
  }),
  getOrCreate: endpoint({
    method: 'post',
    path: `${inProject}/sessions`,
    scope: 'write',
    summary: 'The active session of an agent on a work item, made if there is none; with fresh=true a new one',
    params: Project,
    query: z.object({ fresh: QueryFlag.optional() }),
    body: SessionOptions,
    answer: Session,
    keyed: true,
  }),
  active: endpoint({
    method: 'get',
    path: `${inProject}/active-session`,
    scope: 'read',
    summary: 'The active session of an agent on a work item, if there is one; nothing is made',
    params: Project,
    query: z.object({
      ...WorkItemQuery,
      type: WorkItemType,
      agentType: Id,
      agentName: Id.optional(),
      taskState: Id.optional(),
    }),
    answer: Session.nullable(),
  }),
  get: endpoint({
    method: 'get',
    path: ofSession,
    scope: 'read',
    summary: 'A session with its statistics',
    params: SessionPath,
    answer: Session,
  }),
  setMetadata: endpoint({
    method: 'patch',
    path: ofSession,
    scope: 'write',
    summary: 'Metadata merged key by key, null removes one',
    params: SessionPath,
    body: z.strictObject({ metadata: Metadata }),
    answer: Session,
    keyed: true,
  }),
  delete: endpoint({
    method: 'delete',
    path: ofSession,
    scope: 'write',
    summary: 'Hides it from lists and lookups; the log keeps all of it',
    params: SessionPath,
    query: z.object({ reason: z.string().max(10_000).optional() }),
    answer: z.object({ id: z.string(), status: z.literal('deleted') }),
    keyed: true,
  }),
  messages: endpoint({
    method: 'get',
    path: `${ofSession}/messages`,
    scope: 'read',
    summary:
      'Messages of its window, oldest first; kind=user-facing leaves internal ones out, kind=talk system ones too',
    params: SessionPath,
    query: z.object({
      kind: z.enum(['all', 'user-facing', 'talk']).optional(),
      limit: Limit.optional(),
      before: QueryNumber.optional(),
      after: QueryNumber.optional(),
    }),
    answer: z.object({ items: z.array(Message) }),
  }),
  addMessage: endpoint({
    method: 'post',
    path: `${ofSession}/messages`,
    scope: 'write',
    summary: 'Records a message; when this answers, it is durable',
    params: SessionPath,
    body: MessageInput,
    answer: Message,
    status: 201,
    keyed: true,
  }),
  clear: endpoint({
    method: 'post',
    path: `${ofSession}/clear`,
    scope: 'write',
    summary: 'Empties the window; the log keeps the messages',
    params: SessionPath,
    answer: Session,
    keyed: true,
  }),
  reset: endpoint({
    method: 'post',
    path: `${ofSession}/reset`,
    scope: 'write',
    summary: 'Empties the window; the first system message stays unless the body says otherwise',
    params: SessionPath,
    body: z.strictObject({ keepSystemMessage: z.boolean().optional() }).optional(),
    answer: Session,
    keyed: true,
  }),
  archive: endpoint({
    method: 'post',
    path: `${ofSession}/archive`,
    scope: 'write',
    summary: 'Makes it read-only',
    params: SessionPath,
    body: Reason,
    answer: Session,
    keyed: true,
  }),
  expire: endpoint({
    method: 'post',
    path: `${ofSession}/expire`,
    scope: 'write',
    summary: 'Expires it now: the next use makes its successor',
    params: SessionPath,
    answer: Session,
    keyed: true,
  }),
  reopen: endpoint({
    method: 'post',
    path: `${ofSession}/reopen`,
    scope: 'write',
    summary: 'Makes an archived one writable again',
    params: SessionPath,
    answer: Session,
    keyed: true,
  }),
  configure: endpoint({
    method: 'patch',
    path: `${ofSession}/settings`,
    scope: 'write',
    summary: "Strategy, budget, model and recall where they differ from the project's; null goes back to it",
    params: SessionPath,
    body: SessionConfigured.shape.requests,
    answer: Session,
    keyed: true,
  }),
  link: endpoint({
    method: 'put',
    path: `${ofSession}/outside-ids/{system}`,
    scope: 'write',
    summary: 'Sets its id in another system; null removes it',
    params: SessionPath.extend({ system: Id }),
    body: z.strictObject({ id: Id.nullable() }),
    answer: Session,
    keyed: true,
  }),
  context: endpoint({
    method: 'get',
    path: `${ofSession}/context`,
    scope: 'read',
    summary: 'The context of its requests',
    params: SessionPath,
    answer: SessionContext.nullable(),
  }),
  updateContext: endpoint({
    method: 'put',
    path: `${ofSession}/context`,
    scope: 'write',
    summary: "Gathers the context again; with gatherProject from the server's project folder and its git",
    params: SessionPath,
    body: z.strictObject({
      gatherProject: z.boolean().optional(),
      feature: SessionContext.shape.feature,
      task: SessionContext.shape.task,
      dagSummary: z.string().optional(),
    }),
    answer: SessionContext,
  }),
  description: endpoint({
    method: 'get',
    path: `${ofSession}/description`,
    scope: 'read',
    summary: 'The description of the agent for its model',
    params: SessionPath,
    answer: AgentDescription,
  }),
  describe: endpoint({
    method: 'put',
    path: `${ofSession}/description`,
    scope: 'write',
    summary: 'Sets the description of the agent',
    params: SessionPath,
    body: AgentDescription,
    answer: AgentDescription,
  }),
  checkpoint: endpoint({
    method: 'get',
    path: `${ofSession}/checkpoint`,
    scope: 'read',
    summary: 'The newest checkpoint of its window',
    params: SessionPath,
    answer: Checkpoint.nullable(),
  }),
  checkpoints: endpoint({
    method: 'get',
    path: `${ofSession}/checkpoints`,
    scope: 'read',
    summary: 'Every checkpoint of its window, newest first',
    params: SessionPath,
    answer: z.object({ items: z.array(Checkpoint) }),
  }),
  compareCheckpoints: endpoint({
    method: 'get',
    path: `${ofSession}/checkpoints/{first}/compare/{second}`,
    scope: 'read',
    summary: 'What changed from one checkpoint to another',
    params: SessionPath.extend({ first: QueryNumber, second: QueryNumber }),
    answer: CheckpointDiff,
  }),
  checkpointItem: endpoint({
    method: 'get',
    path: `${ofSession}/checkpoint-items/{itemId}`,
    scope: 'read',
    summary: 'An item of a checkpoint, and the messages behind it',
    params: SessionPath.extend({ itemId: Id }),
    answer: z.object({ item: CheckpointItem, checkpoint: z.int(), messages: z.array(Message) }),
  }),
  compact: endpoint({
    method: 'post',
    path: `${ofSession}/compact`,
    scope: 'write',
    summary: 'Compacts now, whatever the size',
    params: SessionPath,
    body: z
      .strictObject({
        keep: z
          .union([
            z.strictObject({ tokens: z.int().nonnegative() }),
            z.strictObject({ messages: z.int().nonnegative() }),
          ])
          .optional(),
        budget: z.int().positive().optional(),
      })
      .optional(),
    answer: CompactOutcome,
  }),
  request: endpoint({
    method: 'post',
    path: `${ofSession}/requests`,
    scope: 'write',
    summary: 'The request for its agent, inside the budget; records a manifest in the log',
    params: SessionPath,
    body: RequestBody,
    answer: AgentRequest,
  }),
  preview: endpoint({
    method: 'post',
    path: `${ofSession}/requests/preview`,
    scope: 'read',
    summary: 'The same without any side effect',
    params: SessionPath,
    body: PreviewBody,
    answer: AgentRequest,
  }),
  compacting: endpoint({
    method: 'get',
    path: `${ofConversation}/compacting`,
    scope: 'read',
    summary: 'Sessions of a conversation that are being compacted now, in any process',
    params: ConversationPath,
    answer: z.object({ items: z.array(z.string()) }),
  }),
  metrics: endpoint({
    method: 'get',
    path: `${ofSession}/metrics`,
    scope: 'read',
    summary: 'Totals, tokens saved by compaction, tokens until the next compaction',
    params: SessionPath,
    answer: SessionMetrics,
  }),
}
