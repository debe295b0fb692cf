/** Input of `addMessage`. Unknown fields are refused, because they would not be stored. */
import { z } from 'zod'
import { Audience } from '../events/audience.ts'
import { Id } from '../events/id.ts'
import { Role, Usage } from '../events/message.ts'
import { Metadata } from '../events/metadata.ts'
import { FilePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from '../events/part.ts'

/** Bounded so that sums over thousands of messages stay exact integers. */
export const maxTokens = 1_000_000_000_000
export const Tokens = z.int().nonnegative().max(maxTokens)

const ReportedUsage = Usage.extend({
  input: Tokens,
  output: Tokens,
  cacheRead: Tokens.optional(),
  cacheWrite: Tokens.optional(),
  reasoning: Tokens.optional(),
}).strict()

const PartInput = z.discriminatedUnion('type', [
  TextPart.strict(),
  ToolCallPart.strict(),
  ToolResultPart.strict(),
  ReasoningPart.strict(),
  FilePart.strict(),
])
const [ToEveryone, ToSession, ToAgents, ToDelegation, ToInternal] = Audience.options
const AudienceInput = z.discriminatedUnion('to', [
  ToEveryone.strict(),
  ToSession.strict(),
  ToAgents.strict(),
  ToDelegation.strict(),
  ToInternal.strict(),
])

export const MessageInput = z.strictObject({
  role: Role,
  /** Plain text: a short form of one text part. */
  content: z.string().optional(),
  parts: z.array(PartInput).optional(),
  /** Default: the agent for its own messages, else the role. */
  author: Id.optional(),
  agentType: Id.optional(),
  featureId: Id.optional(),
  taskId: Id.optional(),
  iteration: z.int().nonnegative().optional(),
  addressees: z.array(Id).optional(),
  mentions: z.array(Id).optional(),
  replyTo: Id.optional(),
  /** Default: depends on the session's sharing. */
  audience: AudienceInput.optional(),
  internal: z.boolean().optional(),
  pinned: z.boolean().optional(),
  usage: ReportedUsage.optional(),
  metadata: Metadata.optional(),
  envelope: z.unknown().optional(),
})
export type MessageInput = z.input<typeof MessageInput>
