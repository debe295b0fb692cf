/** Live events across lost connections: a new connection continues where the last one ended, and no event comes twice. */

import { createParser } from 'eventsource-parser'
import type { WorkItem } from '../log/events/work-item.ts'
import { contract } from '../server/contract/index.ts'
import { addressOf, type Connection, pause } from './call.ts'
import { apiError } from './error.ts'

export interface LiveEvent {
  name: string
  action: string
  project: string
  conversationId: string
  sessionId?: string
  /** The work item, for updates of work. */
  item?: WorkItem
  version: number
  /** A later stream continues from here. */
  position: string
  at: string
  actor: string
  channel: string
  requestId?: string
  /** The type of the event: `message.added` … */
  type: string
  /** The event itself; absent when it is too large. */
  event?: Record<string, unknown>
  isLarge?: boolean
}

/** A delta of a running agent. It is not stored: the log has the complete answer. */
export interface LiveWords {
  name: 'run:live'
  project: string
  conversationId: string
  sessionId: string
  runId: string
  agent: string
  /**
   * `run-start`, the model's own parts (`start`, `text-delta` …, `finish`), `tool-start`, `tool-end`, `question`,
   * `run-end`; `missed` where this reader was too slow. After `start` the answer begins again.
   */
  part: { type: string; id?: string; text?: string } & Record<string, unknown>
}

export interface LiveOptions {
  project?: string
  conversation?: string
  session?: string
  /** Types of events or names of updates. */
  types?: readonly string[]
  /** 'start', 'now' (default), or the position of the last event seen. */
  from?: string
  /** Also sends the deltas of running agents, first those of their answers so far. */
  deltas?: boolean
  signal?: AbortSignal
  /** Called when the connection opens, and when it is lost and being made again. */
  onState?: (state: 'open' | 'lost') => void
}

/** @throws {ApiError} when the server refuses: a retry would not help */
export async function* liveEvents(
  connection: Connection,
  options: LiveOptions = {},
): AsyncGenerator<LiveEvent | LiveWords> {
  const { types, signal, project = connection.project, conversation, session, from, deltas, onState } = options
  const query = { project, conversation, session, type: types?.join(','), from, deltas }
  let last: string | undefined
  let waitMs = 1000
  while (!signal?.aborted) {
    const answer = await connection
      .fetch(addressOf(connection, contract.operations.events, { query }), {
        headers: {
          ...connection.headers,
          accept: 'text/event-stream',
          ...(last !== undefined && { 'last-event-id': last }),
        },
        ...(signal && { signal }),
      })
      .catch(() => undefined)
    if (answer && !answer.ok && answer.status !== 503 && answer.status !== 429) throw await apiError(answer)
    if (answer?.ok && answer.body) {
      onState?.('open')
      const reading = events(answer.body, ms => {
        waitMs = ms
      })
      try {
        for await (const event of reading) {
          if ('position' in event) last = event.position
          yield event
        }
      } catch {
        // The connection was cut; the next one goes on after `last`.
      }
    }
    if (!signal?.aborted) onState?.('lost')
    if (!signal?.aborted) await pause(waitMs, signal).catch(() => undefined)
  }
}

async function* events(
  body: ReadableStream<Uint8Array>,
  onRetry: (ms: number) => void,
): AsyncGenerator<LiveEvent | LiveWords> {
  const ready: Array<LiveEvent | LiveWords> = []
  const parser = createParser({
    onEvent: ({ id, event, data }) => {
      if (id !== undefined) ready.push(JSON.parse(data) as LiveEvent)
      else if (event === 'run:live') ready.push({ name: event, ...(JSON.parse(data) as Omit<LiveWords, 'name'>) })
    },
    onRetry,
  })
  const reader = body.getReader()
  const text = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      parser.feed(text.decode(value, { stream: true }))
      yield* ready.splice(0)
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
