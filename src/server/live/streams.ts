/**
 * Live events over HTTP (SSE). Each listener is a cursor over the log: one that was dropped or disconnected goes on from
 * the id it saw last. The deltas of running agents come between events, without ids, because they are not stored.
 */

import type { UpdatesOptions } from '../../conversation/access/updates.ts'
import { ServerStopping, TooMany } from '../../errors.ts'
import type { Colloquy, Update } from '../../index.ts'
import type { ServerSettings } from '../settings.ts'
import { ClientStream } from './client-stream.ts'
import { deltaText, eventText, greeting, stopping } from './stream-text.ts'

interface StreamOptions extends Pick<UpdatesOptions, 'from' | 'conversationId' | 'sessionId'> {
  /** Types of events or names of updates; all when empty. */
  types: ReadonlySet<string>
  /** Also sends what agents answer while they answer it. */
  deltas?: boolean
}

export interface Streams {
  /**
   * @param drop cuts the connection: a client that does not read would not notice the end of its stream
   * @throws {PositionUnknown} when `from` is no position of the store
   */
  open(colloquy: Colloquy, options: StreamOptions, drop?: () => void): ReadableStream<Uint8Array>
  readonly count: number
  readonly dropped: number
  /** Listeners that have not read what they were sent last. */
  readonly unread: number
  /** Ends all streams with a hint to reconnect. */
  stop(): void
}

interface Listener {
  stream: ClientStream
  /** Called when the client has not read for too long. */
  drop(): void
}

export function streams(settings: ServerSettings): Streams {
  const listeners = new Set<Listener>()
  let dropped = 0
  let isStopping = false
  const timer = setInterval(() => {
    const now = performance.now()
    for (const { stream, drop } of listeners)
      if (stream.beat(now, settings.heartbeatMs) > settings.stallMs) {
        dropped++
        drop()
      }
  }, Math.min(settings.heartbeatMs, settings.stallMs) / 3).unref()

  function open(
    colloquy: Colloquy,
    { types, deltas = false, from, ...where }: StreamOptions,
    drop?: () => void,
  ): ReadableStream<Uint8Array> {
    if (isStopping) throw new ServerStopping()
    if (listeners.size >= settings.limits.streams) throw new TooMany('streams', 10)
    const stream = new ClientStream()
    const { signal } = stream
    const { project } = colloquy
    const updates = colloquy.subscribe({ ...where, signal, ...(from !== undefined && { from }) })
    const answers = deltas ? colloquy.agents.live({ ...where, soFar: true, signal }) : undefined
    const listener = {
      stream,
      drop() {
        settings.trace?.info({ project }, 'a listener that does not read is dropped')
        stream.end()
        drop?.()
      },
    }
    listeners.add(listener)
    signal.addEventListener('abort', () => listeners.delete(listener))
    const greeted = stream.send('event', greeting)

    const sendEvents = async () => {
      await greeted
      for await (const update of updates) if (isWanted(update, types)) await stream.send('event', eventText(update))
      stream.end()
    }
    const sendDeltas = async () => {
      await greeted
      for await (const update of answers ?? []) await stream.send('delta', deltaText(update))
    }
    Promise.all([sendEvents(), sendDeltas()]).catch(error => {
      settings.trace?.error({ error, project }, 'a live stream failed')
      stream.end()
    })
    return stream.body
  }

  return {
    open,
    get count() {
      return listeners.size
    },
    get unread() {
      return [...listeners].filter(({ stream }) => stream.isUnread).length
    },
    get dropped() {
      return dropped
    },
    stop() {
      isStopping = true
      clearInterval(timer)
      for (const { stream } of listeners) stream.end(stopping)
    },
  }
}

function isWanted({ name, event }: Update, types: ReadonlySet<string>): boolean {
  return types.size === 0 || types.has(name) || types.has(event.event.type)
}
