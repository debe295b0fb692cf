/**
 * `fetch` for streamed answers. It aborts a silent stream, and refuses an answer that is not an event stream.
 *
 * It watches bytes, so a provider that sends keep-alives while its model thinks is not silent.
 */
import { timerMs } from '../../timers.ts'

export class FellSilent extends Error {
  constructor(milliseconds: number) {
    super(`The provider sent nothing for ${milliseconds / 1000} seconds.`)
  }
}

export class NoEventStream extends Error {
  constructor(contentType: string, start: string) {
    super(
      `The server answered with ${contentType}, not with an event stream. Check its address. The answer starts with: ${start}`,
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
  /** Aborts the whole exchange when this takes too long. */
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

/** The timer runs only during a read, so that a slow reader does not count as silence. */
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
    // Reads only on demand.
    { highWaterMark: 0 },
  )
}
