/** A message as callers hand it in. */
import { z } from 'zod'
import { Audience } from '../events/audience.ts'
import { Id } from '../events/id.ts'
import { Role, Usage } from '../events/message.ts'
import { Metadata } from '../events/metadata.ts'
import { FilePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from '../events/part.ts'

/** No message takes so many, and the sum of thousands that do is still exact. */
export const mostTokens = 1_000_000_000_000
export const Tokens = z.int().nonnegative().max(mostTokens)

const ReportedUsage = Usage.extend({
  input: Tokens,
  output: Tokens,
  cacheRead: Tokens.optional(),
  cacheWrite: Tokens.optional(),
  reasoning: Tokens.optional(),
}).strict()

/** What the log does not know would not be stored: better said than dropped. */
const GivenPart = z.discriminatedUnion('type', [
  TextPart.strict(),
  ToolCallPart.strict(),
  ToolResultPart.strict(),
  ReasoningPart.strict(),
  FilePart.strict(),
])
const [ToEveryone, ToSession, ToAgents, ToDelegation, ToInternal] = Audience.options
const GivenAudience = z.discriminatedUnion('to', [
  ToEveryone.strict(),
  ToSession.strict(),
  ToAgents.strict(),
  ToDelegation.strict(),
  ToInternal.strict(),
])

export const MessageInput = z.strictObject({
  role: Role,
  /** Plain text, wherever parts are not needed. */
  content: z.string().optional(),
  parts: z.array(GivenPart).optional(),
  /** Default: the agent for its own messages, else the role. */
  author: Id.optional(),
  agentType: Id.optional(),
  featureId: Id.optional(),
  taskId: Id.optional(),
  iteration: z.int().nonnegative().optional(),
  addressees: z.array(Id).optional(),
  mentions: z.array(Id).optional(),
  replyTo: Id.optional(),
  /** Default: what the session's sharing says. */
  audience: GivenAudience.optional(),
  internal: z.boolean().optional(),
  pinned: z.boolean().optional(),
  usage: ReportedUsage.optional(),
  metadata: Metadata.optional(),
  envelope: z.unknown().optional(),
})
export type MessageInput = z.input<typeof MessageInput>
