/**
 * Live events to those who listen (SSE). Each listener is a cursor over the log, so one that stops reading costs no
 * queue: it is dropped after a while and goes on from the id it saw last. What agents say while they say it comes
 * between, without ids: it is nowhere stored, and too much of it is not kept for a slow reader.
 */
import { ServerStopping, TooMany } from '../errors.ts'
import type { Colloquy, LiveUpdate, RecordedEvent, Update, UpdatesOptions } from '../index.ts'
import type { ServerSettings } from './settings.ts'

interface Listening extends Pick<UpdatesOptions, 'from' | 'conversationId' | 'sessionId'> {
  /** Types of events or names of updates; all when empty. */
  types: ReadonlySet<string>
  /** Also what agents say while they say it. */
  deltas?: boolean
}

export interface Streams {
  /**
   * @param drop cuts the connection: a client that does not read would not notice the end of its stream
   * @throws {PositionUnknown} when `from` is no position of the store
   */
  open(colloquy: Colloquy, listening: Listening, drop?: () => void): ReadableStream<Uint8Array>
  readonly count: number
  readonly dropped: number
  /** Listeners that have not read what they were sent last. */
  readonly unread: number
  /** Tells everybody to come back in a moment, and ends. */
  stop(): void
}

interface Listener {
  /** Called now and then: says that the stream is alive, or drops who does not read. */
  beat(now: number): void
  isUnread(): boolean
  stop(): void
}

const text = new TextEncoder()
/** Larger events are told without their content: it can be fetched by version. */
const largestEvent = 256 * 1024
/** Then an event that waits goes first. */
const mostDeltasInARow = 16

export function streams(settings: ServerSettings): Streams {
  const listeners = new Set<Listener>()
  let dropped = 0
  let isStopping = false
  const timer = setInterval(() => {
    const now = performance.now()
    for (const listener of listeners) listener.beat(now)
  }, Math.min(settings.heartbeatMs, settings.stallMs) / 3).unref()

  function open(colloquy: Colloquy, listening: Listening, drop?: () => void): ReadableStream<Uint8Array> {
    if (isStopping) throw new ServerStopping()
    if (listeners.size >= settings.limits.streams) throw new TooMany('streams', 10)
    const { types, deltas = false, ...options } = listening
    const events = source(colloquy.subscribe(options), () => wake?.())
    const { conversationId, sessionId } = options
    const words = deltas
      ? source(
          colloquy.agents.live({
            soFar: true,
            ...(conversationId !== undefined && { conversationId }),
            ...(sessionId !== undefined && { sessionId }),
          }),
          () => wake?.(),
        )
      : undefined
    let deltasInARow = 0
    let isDue = false
    let wake: (() => void) | undefined
    let pulled = performance.now()
    let isPulling = false
    let isEnded = false
    let position = listening.from
    const end = () => {
      if (isEnded) return
      isEnded = true
      listeners.delete(listener)
      events.close()
      words?.close()
      wake?.()
    }
    const listener: Listener = {
      beat(now) {
        if (isPulling) {
          if (now - pulled < settings.heartbeatMs) return
          isDue = true
          wake?.()
        } else if (now - pulled > settings.stallMs) {
          dropped++
          settings.trace?.info({ position, project: colloquy.project }, 'a listener that does not read is dropped')
          end()
          drop?.()
        }
      },
      isUnread: () => !isPulling,
      stop: () => wake?.(),
    }
    listeners.add(listener)
    let greeting: string | undefined = 'retry: 1000\n\n'

    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          isPulling = true
          pulled = performance.now()
          const chunk = await nextChunk()
          isPulling = false
          pulled = performance.now()
          if (isEnded && chunk === undefined) return controller.close()
          if (chunk !== undefined) controller.enqueue(typeof chunk === 'string' ? text.encode(chunk) : chunk)
          if (isStopping) {
            controller.close()
            end()
          }
        },
        cancel: end,
      },
      { highWaterMark: 0 },
    )

    async function nextChunk(): Promise<string | Uint8Array | undefined> {
      for (;;) {
        if (isEnded) return undefined
        if (greeting !== undefined) {
          const said = greeting
          greeting = undefined
          return said
        }
        if (isStopping) return 'retry: 500\nevent: server:stopping\ndata: {}\n\n'
        if (events.failure) {
          settings.trace?.error({ error: events.failure, position }, 'a live stream failed')
          end()
          return undefined
        }
        // What was said on the way to an answer comes before the answer, as far as it is there.
        if (words?.ready && (!events.ready || deltasInARow < mostDeltasInARow)) {
          const { done, value } = words.take()
          deltasInARow++
          if (!done) return toldWords(value)
        } else if (events.ready) {
          const { done, value } = events.take()
          deltasInARow = 0
          if (done) {
            end()
            return undefined
          }
          position = value.position
          if (types.size === 0 || types.has(value.name) || types.has(value.event.event.type)) return told(value)
        } else if (isDue) {
          isDue = false
          return ': alive\n\n'
        } else {
          events.ask()
          words?.ask()
          await new Promise<void>(resolve => {
            wake = resolve
          })
          wake = undefined
        }
      }
    }
  }

  return {
    open,
    get count() {
      return listeners.size
    },
    get unread() {
      return [...listeners].filter(listener => listener.isUnread()).length
    },
    get dropped() {
      return dropped
    },
    stop() {
      isStopping = true
      clearInterval(timer)
      for (const listener of listeners) listener.stop()
    },
  }
}

interface Source<T> {
  readonly ready: boolean
  readonly failure: unknown
  /** Gets the next one ready, if none is and nobody asked. */
  ask(): void
  /** The one that is ready. */
  take(): IteratorResult<T, undefined>
  close(): void
}

/** One item ahead of an iterator, so that two can be waited for at once. */
function source<T>(items: AsyncIterableIterator<T>, onReady: () => void): Source<T> {
  let result: IteratorResult<T, undefined> | undefined
  let failure: unknown
  let isAsking = false
  return {
    get ready() {
      return result !== undefined
    },
    get failure() {
      return failure
    },
    ask() {
      // Whoever has ended has nothing more to say.
      if (isAsking || result) return
      isAsking = true
      items.next().then(
        next => {
          isAsking = next.done === true
          result = next
          onReady()
        },
        error => {
          failure = error
          onReady()
        },
      )
    },
    take() {
      const taken = result!
      result = undefined
      return taken
    },
    close() {
      items.return?.().catch(() => undefined)
    },
  }
}

/** Listeners of one event share its text: writing it out costs more than sending it. */
const written = new WeakMap<RecordedEvent, Uint8Array>()

function told(update: Update): Uint8Array {
  const known = written.get(update.event)
  if (known) return known
  const { name, action, project, conversationId, version, position, at, event: recorded } = update
  const { actor, channel, requestId, event } = recorded
  const place = {
    name,
    action,
    project,
    conversationId,
    ...('sessionId' in update && { sessionId: update.sessionId }),
    ...('item' in update && { item: update.item }),
    version,
    position,
    at,
    actor,
    channel,
    ...(requestId !== undefined && { requestId }),
  }
  let data = JSON.stringify({ ...place, type: event.type, event })
  if (data.length > largestEvent) data = JSON.stringify({ ...place, type: event.type, isLarge: true })
  const bytes = text.encode(`id: ${position}\nevent: ${name}\ndata: ${data}\n\n`)
  written.set(recorded, bytes)
  return bytes
}

const writtenWords = new WeakMap<LiveUpdate, Uint8Array>()

/** Without an id: whoever comes back goes on after the last event, and is told anew what is being said then. */
function toldWords(update: LiveUpdate): Uint8Array {
  const known = writtenWords.get(update)
  if (known) return known
  const bytes = text.encode(`event: run:live\ndata: ${JSON.stringify(update)}\n\n`)
  writtenWords.set(update, bytes)
  return bytes
}
