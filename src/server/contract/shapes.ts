/** What answers are made of. The types the managers return must fit these: the compiler sees to it. */
import { z } from 'zod'
import { Checkpoint, CheckpointItem, CheckpointSection } from '../../log/events/checkpoint.ts'
import { MessageAdded, Usage } from '../../log/events/message.ts'
import { Metadata } from '../../log/events/metadata.ts'
import { RunOutcome } from '../../log/events/run.ts'
import { WorkItem } from '../../log/events/work-item.ts'
import { named } from './common.ts'

const Numbers = z.array(z.int()).readonly()
const Names = z.array(z.string()).readonly()

export const Message = named(
  'Message',
  MessageAdded.omit({ type: true, messageId: true }).extend({
    id: z.string(),
    conversationId: z.string(),
    version: z.int(),
    timestamp: z.string(),
    content: z.string(),
    missing: z.object({ because: z.enum(['erased', 'damaged', 'unknown']), reason: z.string() }).optional(),
  }),
)

export const Conversation = named(
  'Conversation',
  z.object({
    id: z.string(),
    project: z.string(),
    title: z.string(),
    status: z.enum(['active', 'completed', 'archived']),
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
    /** Agents at work on it, and what all runs took. */
    runs: z
      .object({
        open: z
          .array(
            z.object({
              id: z.string(),
              sessionId: z.string(),
              agent: z.string(),
              version: z.int(),
              startedAt: z.string(),
            }),
          )
          .readonly(),
        ended: z.int(),
        usage: Usage,
        withoutCost: z.int(),
      })
      .optional(),
    version: z.int(),
    activeAt: z.string(),
  }),
)

export const Sums = named('Sums', z.object({ messages: z.int(), tokens: z.int(), input: z.int(), output: z.int() }))

export const SessionHead = named(
  'SessionHead',
  z.object({
    id: z.string(),
    project: z.string(),
    conversationId: z.string(),
    agentName: z.string(),
    agentType: z.string(),
    workItem: WorkItem,
    taskState: z.string().optional(),
    sharing: z.string(),
    status: z.enum(['active', 'archived', 'expired', 'deleted']),
    expiresInMs: z.int().nullable(),
    windowStart: z.int(),
    kept: Numbers,
    acknowledged: z.int().optional(),
    /** Its newest run; without an outcome it is under way. */
    run: z.object({ id: z.string(), trigger: z.int(), outcome: RunOutcome.optional() }).optional(),
    compactions: z.int(),
    /** The newest checkpoint of its window. */
    checkpoint: z
      .object({ version: z.int(), number: z.int(), upTo: z.int(), tokens: z.int(), totalSaved: z.int() })
      .optional(),
    latched: z.boolean().optional(),
    outsideIds: z.record(z.string(), z.string()).readonly(),
    metadata: Metadata,
    replaces: z.string().optional(),
    createdAt: z.string(),
    updatedAt: z.string(),
  }),
)

export const SessionStats = named(
  'SessionStats',
  z.object({
    messages: z.int(),
    tokens: z.int(),
    tokensIn: z.int(),
    tokensOut: z.int(),
    compactions: z.int(),
    lastActivityAt: z.string(),
    total: z.object({ messages: z.int(), tokens: z.int(), tokensIn: z.int(), tokensOut: z.int() }),
  }),
)

export const Session = named(
  'Session',
  SessionHead.extend({
    type: z.enum(['feature', 'task', 'bead', 'thread']),
    expiresAt: z.string().nullable(),
    stats: SessionStats,
  }),
)

/** The event itself is one of the facts in docs/storage.md; one that a newer program wrote passes as it is. */
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

const Ledger = named(
  'Ledger',
  z.object({
    budget: z.number(),
    used: z.number(),
    free: z.number(),
    calibrated: z.number(),
    isMeasured: z.boolean(),
    entries: z.array(
      z.object({
        what: z.string(),
        fate: z.enum(['kept', 'trimmed', 'summarised', 'left-out']),
        tokens: z.number(),
        why: z.string(),
        versions: Numbers.optional(),
        range: z.object({ from: z.int(), to: z.int(), messages: z.int() }).optional(),
      }),
    ),
    /** Whose limits the budget was made from; the window beyond the budget is kept for the answer. */
    model: z
      .object({
        name: z.string().optional(),
        known: z.boolean(),
        contextWindow: z.number(),
        outputLimit: z.number(),
        inputLimit: z.number().optional(),
      })
      .optional(),
    notes: z.array(z.string()),
  }),
)

const Piece = z.object({ what: z.string(), versions: Numbers.optional(), text: z.string() })

/** Both renderings in pieces that say where each comes from; put together they are the rendering. */
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
    z.object({ outcome: z.literal('failed'), reason: z.string(), latched: z.boolean() }),
  ]),
)

export const CheckpointDiff = named(
  'CheckpointDiff',
  z.object({
    added: z.array(CheckpointItem),
    resolved: z.array(CheckpointItem),
    reopened: z.array(CheckpointItem),
    moved: z.array(z.object({ item: CheckpointItem, from: CheckpointSection, to: CheckpointSection })),
    rewritten: z.array(z.object({ item: CheckpointItem, before: z.string(), after: z.string() })),
    dropped: z.array(CheckpointItem),
  }),
)

export const Turn = named(
  'Turn',
  z.object({
    id: z.string(),
    number: z.int(),
    version: z.int(),
    startedAt: z.string(),
    orchestrator: z.string(),
    agents: Names,
    phase: z.string().optional(),
    reason: z.string(),
    instruction: z.string().optional(),
    status: z.string(),
    completions: z.array(
      z.object({
        agent: z.string(),
        message: z.string(),
        outcome: z.enum(['completed', 'failed']),
        version: z.int(),
        at: z.string(),
      }),
    ),
    missing: z.array(z.string()),
    endReason: z.string().optional(),
  }),
)

const RoutingEntry = z.object({
  phase: z.string().optional(),
  agents: z.array(z.string()),
  reason: z.string(),
  timestamp: z.string(),
  completions: z.array(
    z.object({ agent: z.string(), message: z.string(), timestamp: z.string(), failed: z.literal(true).optional() }),
  ),
  outcome: z.string().optional(),
})

export const RoutingContext = named(
  'RoutingContext',
  z.object({
    user_request: z.string(),
    routing_history: z.array(RoutingEntry),
    current_routing: RoutingEntry.nullable(),
  }),
)

export const Delegation = named(
  'Delegation',
  z.object({
    id: z.string(),
    conversationId: z.string(),
    parentId: z.string(),
    from: z.string(),
    to: z.string(),
    task: z.string(),
    status: z.string(),
    startedAt: z.string(),
    result: z.string().optional(),
  }),
)

export const CurrentPhase = named(
  'CurrentPhase',
  z.object({
    phase: z.string().nullable(),
    legal: Names,
    since: z.string().optional(),
    from: z.string().optional(),
    message: z.string().optional(),
    reason: z.string().optional(),
    summary: z.string().optional(),
    agent: z.string().optional(),
    actor: z.string().optional(),
    timeoutMs: z.int().optional(),
    stuckAt: z.string().optional(),
  }),
)

export const PhaseChange = named(
  'PhaseChange',
  z.object({
    version: z.int(),
    at: z.string(),
    actor: z.string(),
    to: z.string(),
    from: z.string().optional(),
    message: z.string().optional(),
    reason: z.string().optional(),
    summary: z.string().optional(),
    agent: z.string().optional(),
  }),
)

export const Execution = z.object({ executionId: z.string(), agent: z.string(), startedAt: z.string() })
export const ExecutionTime = named(
  'ExecutionTime',
  z.object({
    totalMs: z.number(),
    agents: z.record(z.string(), z.number()),
    isActive: z.boolean(),
    running: z.array(Execution),
  }),
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

export const SearchHit = named(
  'SearchHit',
  z.object({
    conversationId: z.string(),
    title: z.string(),
    messageId: z.string(),
    version: z.int(),
    author: z.string(),
    role: z.enum(['user', 'assistant', 'system']),
    at: z.string(),
    archived: z.boolean(),
    snippet: z.string(),
    highlights: z.array(z.tuple([z.int(), z.int()]).readonly()).readonly(),
    score: z.number(),
  }),
)
export const TitleHit = named(
  'TitleHit',
  z.object({
    conversationId: z.string(),
    title: z.string(),
    status: z.enum(['active', 'completed', 'archived']),
    workItem: WorkItem,
    score: z.number(),
  }),
)
