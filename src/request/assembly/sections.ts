/** What a request is put together from, before it is packed into its budget. */
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
  /** Who said it, where that is not the one person everybody knows: shown in a fence with this label. */
  label?: string
  /** Set when it is a message of the log: it then stands in the request once, here and not in the history. */
  version?: number
  /** What goes with it to models that see. */
  images?: readonly ImagePart[]
  /** Set when it has more than text: the message itself, to be told as providers take it. */
  message?: Message
}

/** What stands before the messages given, in the same window: known by its sums, not read. */
interface Earlier {
  messages: number
  tokens: number
}

/** What others said since the agent last acknowledged anything: told once, in a block of its own. */
export interface CatchUp {
  /** The newest of it, oldest first. */
  messages: readonly Message[]
  /** What came before those and is new to the agent as well: known by its sums, not read. */
  earlier: Earlier
  /** The newest version the agent had acknowledged. */
  since: number
  /** Where things stood when the phase last changed, if that was meanwhile. */
  handOff?: HandOff
}

export interface HandOff extends TextSection {
  /** From which phase to which, and by whom. */
  label: string
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
  /** Absent for an agent that never acknowledged anything: to it all is history. */
  catchUp?: CatchUp
  /** What code reads off the log: open calls, files, the newest words of the person. */
  state: TextSection
  /** What changes often: commits, task states. It stands after the history, so that prompt caches hit. */
  changes: TextSection
  recall: readonly Quote[]
  trigger: Trigger
}
