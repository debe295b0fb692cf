/** The port for reading messages as a viewer sees them: newest windows, pages, and their size without reading them. */
import type { BranchPoint } from './events/conversation.ts'
import { type LaneKind, type LaneSums, laneKinds } from './records/lane.ts'
import type { Message } from './views/message.ts'
import type { SessionHead } from './views/session.ts'
import { type Viewer, viewerOf } from './visibility.ts'

export interface Window {
  project: string
  conversationId: string
  viewer: Viewer
  kinds: readonly LaneKind[]
  /** Messages up to this version are outside, except those in `kept`. */
  start: number
  kept: readonly number[]
  /** Messages after this version are outside too: the window as it was then. Default: it is open. */
  end?: number
  /** The conversation is a branch: what its parent says up to there belongs to the window too. */
  branchOf?: BranchPoint
}

/** Everything a session works with, or some kinds of it. */
export function windowOf(head: SessionHead, kinds: readonly LaneKind[] = laneKinds): Window {
  const { project, conversationId, windowStart: start, kept, branchOf } = head
  return { project, conversationId, viewer: viewerOf(head), kinds, start, kept, ...(branchOf && { branchOf }) }
}

/** All that a session ever saw, whatever was cleared or reset since. */
export function lifeOf(head: SessionHead): Window {
  return { ...windowOf(head), start: 0, kept: [] }
}

export interface Page {
  /** Only messages before this version. */
  before?: number
  /** Only messages after this version. */
  after?: number
  /** At most so many messages: with `after` the oldest of them, else the newest. */
  limit: number
}

export interface Windows {
  /** The messages of a page of the window, oldest first. */
  messages(window: Window, page: Page): Promise<Message[]>
  /** The size of the window. Running sums are subtracted; no message is read or counted again. */
  measure(window: Window): Promise<LaneSums & { lastActiveAt: string | undefined }>
  /** A message by its id. */
  message(project: string, messageId: string): Promise<Message | undefined>
}
