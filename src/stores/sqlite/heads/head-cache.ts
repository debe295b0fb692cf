/** Heads in memory. They are right as long as no other connection wrote, and are dropped when one did. */
import { Recent } from '../../../log/lru.ts'
import type { Lane, LaneKind, LaneSums } from '../../../log/records/lane.ts'
import type { ConversationHead } from '../../../log/views/conversation.ts'
import type { SessionHead } from '../../../log/views/session.ts'

export interface ConversationEntry {
  row: number
  head: ConversationHead
  hash: Uint8Array
  /** The recency stored in the row, which lags behind by up to a minute. */
  recentAt: number
  /** Lanes that were written to, by kind and audience. */
  lanes: Map<string, LaneEntry>
}

export interface LaneEntry extends Lane {
  row: number
  sums: LaneSums
}

/** A lane that a viewer sees. */
export interface SeenLane {
  row: number
  kind: LaneKind
}

export interface SessionEntry {
  row: number
  head: SessionHead
  /** The expiry stored in the row; undefined where it was not read. */
  expiresAt?: number | null
}

const limits = { sessions: 100, conversations: 256 }

export class HeadCache {
  readonly projects = new Map<string, number>()
  readonly conversations = new Recent<ConversationEntry>(limits.conversations)
  readonly sessions = new Recent<SessionEntry>(limits.sessions)
  /** By conversation and viewer. */
  readonly seenLanes = new Recent<SeenLane[]>(limits.sessions)
  /** Changes whenever the cache is dropped. */
  generation = 0

  clear(): void {
    this.generation++
    this.projects.clear()
    this.conversations.clear()
    this.sessions.clear()
    this.seenLanes.clear()
  }
}

export function keyOf(project: string, id: string): string {
  return `${project}\0${id}`
}
