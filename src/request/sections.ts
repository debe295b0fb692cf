/** What a request is put together from, before it is packed into its budget. */
import type { Message } from '../views/message.ts'

export type SectionName =
  | 'description'
  | 'context'
  | 'checkpoint'
  | 'pinned'
  | 'notice'
  | 'history'
  | 'state'
  | 'recall'
  | 'changes'
  | 'message'

/** A text section with its size, counted before. */
export interface TextSection {
  text: string
  tokens: number
}

/** A message found by recall: quoted, not covered. */
export interface Quote {
  version: number
  author: string
  text: string
  tokens: number
  /** Set on a message that only stands beside a hit: the hit's version. */
  beside?: number
}

/** The message the request is for. */
export interface Trigger {
  text: string
  tokens: number
  author: string
  /** Set when it is a message of the log: it then stands in the request once, here and not in the history. */
  version?: number
  /** Set when it has more than text: the message itself, to be told as providers take it. */
  message?: Message
}

/** What stands before the messages given, in the same window: known by its sums, not read. */
export interface Earlier {
  messages: number
  tokens: number
}

export interface Material {
  description: TextSection
  /** What seldom changes: project, instructions, feature, task. */
  context: TextSection
  checkpoint: (TextSection & { number: number; from: number; upTo: number; messages: number }) | undefined
  pinned: readonly Message[]
  /** The newest messages of the window, oldest first, without the trigger and without pinned ones. */
  history: readonly Message[]
  earlier: Earlier
  /** What code reads off the log: open calls, files, the newest words of the person. */
  state: TextSection
  /** What changes often: commits, task states. It stands after the history, so that prompt caches hit. */
  changes: TextSection
  recall: readonly Quote[]
  trigger: Trigger
}
