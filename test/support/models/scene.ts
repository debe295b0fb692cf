/** The script of a model in a test, without any provider's protocol; each provider's fake server plays it. */

export interface Scene {
  reasoning?: { text: string; signature?: string }
  text?: string
  calls?: { id: string; name: string /** As the model wrote it, JSON or not. */; arguments: string }[]
  stop?: 'stop' | 'length' | 'tool-calls'
  usage?: { input: number; output: number; cacheRead?: number; cacheWrite?: number }
  /** Ends in place of the stop: the connection breaks, or nothing more comes. */
  ending?: 'cut' | 'stall'
}

export interface Refusal {
  kind: 'overloaded' | 'rate-limited' | 'context-too-long' | 'refused' | 'unauthorised' | 'bad-request'
  retryAfterSeconds?: number
}
