/** The port through which a run reaches its session, log and requests. */
import type { Usage } from '../../log/events/message.ts'
import type { Part } from '../../log/events/part.ts'
import type { RunOutcome } from '../../log/events/run.ts'
import type { Strategy } from '../../log/events/strategy.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { RequestMessage } from '../../request/text/provider-message.ts'
import type { LivePart } from './live-channel.ts'

/** A request of the session, ready to send. */
export interface RunRequest {
  system: string
  messages: RequestMessage[]
  budget: number
  totalTokens: number
}

export interface RequestTerms {
  /** Later versions are ignored. */
  asOf: number
  /** Tokens the run adds to the request: its tools' definitions. */
  reserve: number
  budget?: number
  strategy?: Strategy
}

interface NewMessage {
  role: 'user' | 'assistant'
  author?: string
  parts: Part[]
  replyTo?: string
  internal?: boolean
  usage?: Usage
  metadata?: Record<string, unknown>
  /** Acknowledges the agent's messages up to this version, because the model was sent them. */
  acknowledges?: number
}

interface RunEnd {
  outcome: RunOutcome
  reason?: string
  steps: number
  toolCalls: number
  usage?: Usage
  durationMs: number
  answer?: string
}

/** Writes happen under the run's lease: once it is lost, they throw `LeaseLost` and write nothing. */
export interface RunPort {
  readonly runId: string
  readonly head: SessionHead
  /** Milliseconds, for measuring durations. */
  now(): number
  recordStart(start: { trigger: number; model: string }): Promise<void>
  /** Also records that the lease was lost. */
  recordEnd(end: RunEnd): Promise<void>
  /** Returns the newest version of the conversation. */
  version(): Promise<number>
  request(trigger: Message, terms: RequestTerms): Promise<RunRequest>
  addMessage(message: NewMessage): Promise<Message>
  /** Compacts all but `keep.tokens` of the newest messages into a checkpoint that fits `keep.budget`. */
  compact(keep: { tokens: number; budget: number }): Promise<unknown>
  /** Messages the session sees after a version, oldest first; only the newest if there are many. */
  messagesAfter(version: number): Promise<readonly Message[]>
  /** The session's ids in other systems. */
  outsideIds(): Promise<Readonly<Record<string, string>>>
  link(outsideIds: Readonly<Record<string, string>>): Promise<void>
  /** Reads an image of the work tree, if it exists and is small enough to send. */
  image(path: string): Promise<Uint8Array | undefined>
  live(part: LivePart): void
}
