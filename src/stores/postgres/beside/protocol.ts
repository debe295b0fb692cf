/** What the engine's thread and the worker beside it say to each other. */

export interface FeedSettings {
  url: string
  busyTimeoutMs: number
  base: number
}

export interface FeedCall {
  id: number
  project: number
}

export interface FeedReply {
  id: number
  /** Absent when it went well. */
  error?: string
}
