/** The inputs of a request: everything that is read from the store for it, before any of it becomes text. */
import type { Checkpoint } from '../../log/events/checkpoint.ts'
import type { SessionContext } from '../../log/events/context.ts'
import type { AgentDescription } from '../../log/events/description.ts'
import type { RequestBuilt } from '../../log/events/request.ts'
import type { ConversationInfo } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { KnownLimits } from './model-limits.ts'
import type { Quote } from './sections.ts'
import type { EffectiveSettings } from './settings.ts'
import type { SharedKnowledge } from './shared-lines.ts'

export interface RequestInputs {
  session: SessionHead
  conversation: ConversationInfo | undefined
  settings: EffectiveSettings
  limits: KnownLimits
  /** Tokens for the request, after the caller's reserve. */
  budget: number
  /** The caller's `asOf`. The manifest keeps it. */
  asOf: number | undefined
  /** The newest version of the snapshot. No later event is used. */
  end: number
  /** Absent for an agent without a description of its own: then the built-in one of its type counts. */
  description: AgentDescription | undefined
  context: SessionContext | undefined
  /** Absent where the strategy uses none. */
  checkpoint: Checkpoint | undefined
  lastRequest: { version: number; manifest: RequestBuilt } | undefined
  shared: readonly SharedKnowledge[]
  /** References that could not be resolved, a line each. */
  unresolved: readonly string[]
  /** The window behind the checkpoint: all of it, or the part that the agent has acknowledged. */
  known: Stretch
  /** The part that the agent has not acknowledged. Absent for an agent that never acknowledged anything. */
  unseen: Stretch | undefined
  /** The text, or the stored message, that the request answers. */
  trigger: string | Message
  /** Versions of the standing instructions: the newest, and the one that began the agent's present work. */
  instructions: ReadonlySet<number>
  /** Those of them that are outside the stretches that were read. */
  unreadInstructions: readonly Message[]
  /** Contents of references that are recorded outside the stretches that were read. */
  contents: readonly Message[]
  /** Messages that stay in the request although they are outside the stretches: pinned, kept by a reset, the system message. */
  pinned: readonly Message[]
  /** Messages of the window that were read outside the stretches, so that they do not count as left out. */
  readElsewhere: readonly Message[]
  /** Version of the system message, where the strategy keeps it. */
  systemMessage: number | undefined
  quotes: readonly QuotedMessage[]
}

/** A range of the window with its sums and the newest of its messages, oldest first. */
export interface Stretch {
  /** Versions after this one, up to `end`. */
  start: number
  end: number
  sums: { messages: number; tokens: number }
  messages: readonly Message[]
}

export type QuotedMessage = Omit<Quote, 'tokens'>
