/** The sections of a request, before they are packed into its budget. */
import type { Message } from '../../log/views/message.ts'
import type { ImagePart } from '../text/images.ts'

export type SectionName =
  | 'description'
  | 'context'
  | 'checkpoint'
  | 'pinned'
  | 'notice'
  | 'history'
  | 'state'
  | 'catch-up'
  | 'recall'
  | 'changes'
  | 'message'

/** A text with its token count. */
export interface TextSection {
  text: string
  tokens: number
}

/** A message found by recall. A quote does not count as coverage. */
export interface Quote {
  version: number
  author: string
  text: string
  tokens: number
  /** Version of the hit that this message is next to. Absent on a hit. */
  beside?: number
}

/** The message the request is for. */
export interface Trigger {
  text: string
  tokens: number
  author: string
  /** Author or kind of the message, shown with a fence. Absent for the user. */
  label?: string
  /** Set for a message of the log. It stands here once, and not in the history. */
  version?: number
  /** Images for models that see. */
  images?: readonly ImagePart[]
  /** Set when it has tool calls or results, which keep the form that providers take. */
  message?: Message
}

/** Older messages of the same window, known by their sums and not read. */
interface Earlier {
  messages: number
  tokens: number
}

/** Messages of others after the agent's cursor. They stand in a block of their own, once. */
export interface CatchUp {
  /** The newest, oldest first. */
  messages: readonly Message[]
  /** Older messages after the cursor. */
  earlier: Earlier
  /** The agent's cursor. */
  since: number
  /** The hand-over of the last phase change, if that was after the cursor. */
  handOff?: HandOff
}

export interface HandOff extends TextSection {
  /** The phases and the agent. */
  label: string
}

export interface Sections {
  description: TextSection
  /** The stable context: project, instructions, feature, task. */
  context: TextSection
  checkpoint: (TextSection & { number: number; from: number; upTo: number; messages: number }) | undefined
  pinned: readonly Message[]
  /** The newest messages of the window, oldest first, without the trigger and without pinned ones. */
  history: readonly Message[]
  earlier: Earlier
  /** Tokens of the window before the first message of the history, whatever became of them. */
  tokensBefore: number
  /** Versions of all standing instructions, in whichever section they are. */
  instructions: ReadonlySet<number>
  /** Those of them that are not in the history or the catch-up: behind the checkpoint, or older than what was read. */
  standing: readonly Message[]
  /** Absent for an agent that never acknowledged anything: then everything is history. */
  catchUp?: CatchUp
  /** The computed state: open calls, loops, delegations, shared knowledge. */
  state: TextSection
  /** The volatile context: commits, task states. It stands after the history, so that prompt caches hit. */
  changes: TextSection
  recall: readonly Quote[]
  trigger: Trigger
}
