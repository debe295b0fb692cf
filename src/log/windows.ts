/** The port for reading messages as a viewer sees them: newest windows, pages, and their size without reading them. */
import type { Message } from '../views/message.ts'
import type { LaneKind, LaneSums } from './lane.ts'
import type { Viewer } from './visibility.ts'

export interface Window {
  project: string
  conversationId: string
  viewer: Viewer
  kinds: readonly LaneKind[]
  /** Messages up to this version are outside, but for those in `kept`. */
  start: number
  kept: readonly number[]
  /** Messages after this version are outside too: the window as it was then. Default: it is open. */
  end?: number
}

export interface Page {
  /** Only messages before this version. */
  before?: number
  /** Only messages after this version. */
  after?: number
  /** How many at the most. With `after` the oldest of them, else the newest. */
  limit: number
}

export interface Windows {
  /** The messages of a page of the window, oldest first. */
  messages(window: Window, page: Page): Promise<Message[]>
  /** How much the window holds: running sums subtracted, nothing read or counted again. */
  measure(window: Window): Promise<LaneSums & { lastActiveAt: string | undefined }>
  /** A message by its id. */
  message(project: string, messageId: string): Promise<Message | undefined>
}
