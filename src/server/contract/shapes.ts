/** Schemas of answers that several resources share. The compiler checks that the managers' types fit them. */
import { z } from 'zod'
import { Checkpoint } from '../../log/events/checkpoint.ts'
import { Metadata } from '../../log/events/metadata.ts'
import { WorkItem } from '../../log/events/work-item.ts'
import { ConversationStatus } from '../../log/views/conversation.ts'
import { Message } from '../../log/views/message.ts'
import { RunsState } from '../../log/views/runs.ts'
import { Ledger } from '../../request/assembly/ledger.ts'
import { named } from './common.ts'

const Numbers = z.array(z.int()).readonly()

export const Conversation = named(
  'Conversation',
  z.object({
    id: z.string(),
    project: z.string(),
    title: z.string(),
    status: ConversationStatus,
    workItem: WorkItem,
    tracingId: z.string().optional(),
    metadata: Metadata,
    createdAt: z.string(),
    completedAt: z.string().optional(),
    archivedAt: z.string().optional(),
    restoredAt: z.string().optional(),
    summary: z.string().optional(),
    pins: Numbers.optional(),
    branchOf: z.object({ conversationId: z.string(), version: z.int() }).optional(),
    mergedInto: z.object({ conversationId: z.string(), messageId: z.string() }).optional(),
    phase: z.string().optional(),
    runs: RunsState.optional(),
    version: z.int(),
    activeAt: z.string(),
  }),
)

export const Sums = named('Sums', z.object({ messages: z.int(), tokens: z.int(), input: z.int(), output: z.int() }))

/** `event` is one of the facts in docs/storage.md, or one that a newer program wrote. */
export const RecordedEvent = named(
  'RecordedEvent',
  z.object({
    project: z.string(),
    conversationId: z.string(),
    version: z.int(),
    position: z.string(),
    at: z.string(),
    hash: z.string(),
    actor: z.string(),
    channel: z.string(),
    requestId: z.string().optional(),
    event: z.object({ type: z.string() }),
  }),
)

export const RequestMessage = z.object({ role: z.enum(['user', 'assistant']), content: z.unknown() })

const Piece = z.object({ what: z.string(), versions: Numbers.optional(), text: z.string() })

/** Both renderings in pieces with their origin. */
export const ExplainedRequest = named(
  'ExplainedRequest',
  z.object({
    system: z.array(Piece),
    messages: z.array(
      z.object({
        role: z.enum(['user', 'assistant']),
        parts: z.array(z.object({ type: z.string(), pieces: z.array(Piece) })),
      }),
    ),
    systemPrompt: z.array(Piece),
    userPrompt: z.array(Piece),
  }),
)

const requestFields = {
  strategy: z.string(),
  systemPrompt: z.string(),
  userPrompt: z.string(),
  system: z.string(),
  messages: z.array(RequestMessage),
  totalTokens: z.number(),
  calibratedTokens: z.number(),
  budget: z.number(),
  ledger: Ledger,
  omitted: z.number(),
  catchUp: z.object({ since: z.int(), messages: z.int(), omitted: z.int() }).optional(),
  checkpoint: z.int().optional(),
  /** On demand, in previews. */
  explained: ExplainedRequest.optional(),
}

export const AgentRequest = named('AgentRequest', z.object({ sessionId: z.string(), ...requestFields }))

export const AgentView = named(
  'AgentView',
  z.object({
    ...requestFields,
    conversationId: z.string(),
    agent: z.string(),
    sessionId: z.string().optional(),
    /** Acknowledge this version when the agent has taken the view in. */
    upTo: z.int(),
    /** References that were left as they are. */
    unresolved: z.array(z.object({ reference: z.string(), of: z.int().optional(), reason: z.string() })),
  }),
)

export const SessionMetrics = named(
  'SessionMetrics',
  z.object({
    messages: z.int(),
    tokens: z.int(),
    tokensIn: z.int(),
    tokensOut: z.int(),
    compactions: z.int(),
    tokensSaved: z.int(),
    budget: z.number(),
    used: z.number(),
    calibrated: z.number(),
    isMeasured: z.boolean(),
    level: z.enum(['ok', 'warn', 'compact']),
    untilTrigger: z.number(),
    latched: z.boolean(),
    /** The newest request that was built to be sent. */
    lastRequest: z
      .object({
        version: z.int(),
        tokens: z.number(),
        calibrated: z.number().optional(),
        budget: z.number(),
        at: z.string(),
      })
      .optional(),
  }),
)

export const CompactOutcome = named(
  'CompactOutcome',
  z.discriminatedUnion('outcome', [
    z.object({ outcome: z.literal('taken'), checkpoint: Checkpoint }),
    z.object({ outcome: z.enum(['nothing-to-do', 'held']) }),
    z.object({ outcome: z.literal('superseded'), reason: z.string() }),
    z.object({ outcome: z.literal('failed'), reason: z.string(), latched: z.boolean() }),
  ]),
)

const Since = z.object({
  conversationId: z.string(),
  title: z.string(),
  version: z.int(),
  messages: z.int(),
  tokens: z.int(),
  newest: z.array(Message),
})
export const Comparison = named(
  'Comparison',
  z.object({
    common: z.object({ conversationId: z.string(), version: z.int() }),
    left: Since,
    right: Since,
    differences: z.array(z.object({ field: z.string(), left: z.unknown().optional(), right: z.unknown().optional() })),
  }),
)
