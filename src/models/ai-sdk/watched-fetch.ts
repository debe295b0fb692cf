/**
 * `fetch` for answers that stream: one that falls silent is given up, and one that is no event stream is refused.
 *
 * It looks at bytes, not at parts: a provider that sends only signs of life while its model thinks is not silent.
 */
import { timerMs } from '../../timers.ts'

/** Nothing came for longer than allowed. */
export class FellSilent extends Error {
  constructor(milliseconds: number) {
    super(`Nothing came for ${milliseconds / 1000} seconds.`)
  }
}

/** The answer is a page or something else that no model sent. */
export class NoEventStream extends Error {
  constructor(contentType: string, beginning: string) {
    super(
      `The server answered with ${contentType}, not with an event stream: is its address right? It begins: ${beginning}`,
    )
  }
}

export function watchedFetch(silenceMs: number): typeof fetch {
  return async (input, init) => {
    const watch = silenceWatch(silenceMs, init?.signal ?? undefined)
    const response = await watch.during(fetch(input, { ...init, signal: watch.signal }))
    if (!response.ok || !response.body) return response
    const contentType = response.headers.get('content-type') ?? ''
    if (contentType !== '' && !contentType.includes('event-stream')) {
      const text = await watch.during(response.text())
      throw new NoEventStream(contentType, text.slice(0, 200))
    }
    const { status, statusText, headers } = response
    return new Response(watchedBody(response.body, watch), { status, statusText, headers })
  }
}

interface SilenceWatch {
  readonly signal: AbortSignal
  /** Gives up on the whole exchange when this takes too long. */
  during<T>(work: Promise<T>): Promise<T>
}

function silenceWatch(silenceMs: number, outer: AbortSignal | undefined): SilenceWatch {
  const controller = new AbortController()
  return {
    signal: outer ? AbortSignal.any([outer, controller.signal]) : controller.signal,
    async during(work) {
      const timer = setTimeout(() => controller.abort(new FellSilent(silenceMs)), timerMs(silenceMs))
      try {
        return await work
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

/** The clock runs only while a read is waited for: a reader that takes its time is not the server's silence. */
function watchedBody(body: ReadableStream<Uint8Array>, watch: SilenceWatch): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await watch.during(reader.read())
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: reason => reader.cancel(reason),
    },
    // Without a store of its own it reads only when it is read.
    { highWaterMark: 0 },
  )
}
