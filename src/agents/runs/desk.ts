/** What a run needs of the rest of the product: its session, its log, its requests. Whoever runs an agent hands it in. */
import type { Usage } from '../../log/events/message.ts'
import type { Part } from '../../log/events/part.ts'
import type { RunOutcome } from '../../log/events/run.ts'
import type { Strategy } from '../../log/events/strategy.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { RequestMessage } from '../../request/text/provider-message.ts'
import type { LivePart } from './live.ts'

/** A request of the session, ready to be sent. */
export interface RunRequest {
  system: string
  messages: RequestMessage[]
  budget: number
  totalTokens: number
}

export interface RequestTerms {
  /** Nothing after this version is looked at. */
  asOf: number
  /** Tokens that the run adds to it: the definitions of its tools. */
  reserve: number
  budget?: number
  strategy?: Strategy
}

export interface Said {
  role: 'user' | 'assistant'
  author?: string
  parts: Part[]
  replyTo?: string
  internal?: boolean
  usage?: Usage
  metadata?: Record<string, unknown>
  /** With it the agent acknowledges what it sees up to this version: the model has taken it in. */
  acknowledges?: number
}

export interface Ending {
  outcome: RunOutcome
  reason?: string
  steps: number
  toolCalls: number
  usage?: Usage
  durationMs: number
  answer?: string
}

/** Everything here writes under the run's lease: once that is lost, it throws `LeaseLost` and nothing is written. */
export interface RunDesk {
  readonly runId: string
  readonly head: SessionHead
  /** Milliseconds; for how long it took. */
  now(): number
  started(start: { trigger: number; model: string }): Promise<void>
  /** Also when the lease is lost: it says so then. */
  ended(ending: Ending): Promise<void>
  /** The newest version of the conversation. */
  version(): Promise<number>
  request(trigger: Message, terms: RequestTerms): Promise<RunRequest>
  say(said: Said): Promise<Message>
  /** Makes a checkpoint of all but so many tokens of the newest messages, small enough for a budget. */
  compact(keep: { tokens: number; budget: number }): Promise<unknown>
  /** What the session sees after a version, oldest first; the newest of it where it is much. */
  messagesAfter(version: number): Promise<readonly Message[]>
  /** Ids that the session has elsewhere, as they are now; and new ones. */
  outsideIds(): Promise<Readonly<Record<string, string>>>
  link(outsideIds: Readonly<Record<string, string>>): Promise<void>
  /** The image at a path of the work tree, if it is there and not too large to be sent. */
  image(path: string): Promise<Uint8Array | undefined>
  live(part: LivePart): void
}
