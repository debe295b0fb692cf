/**
 * The one stream of live events a page has, and what everybody may know of it: whether it is open, what came, and that it
 * was interrupted, so that what was read before has to be read again.
 *
 * A page that nobody looks at gives its connection back after a while, because browsers have few per server.
 */
import { ApiError, type Client, type LiveEvent, type LiveWords } from 'colloquy/client'
import { type LiveAnswers, noAnswers, withEvent, withWords } from './live-answers.ts'
import { pacedStore, type Store, store } from './store.ts'

/** `refused`: the server said no, and trying again would not help. */
export type ConnectionState = 'connecting' | 'open' | 'lost' | 'paused' | 'refused'

export interface LiveConnection {
  readonly state: Store<ConnectionState>
  /** Why it was refused. */
  readonly problem: Store<string | undefined>
  /** What agents are saying right now, by run. */
  readonly answers: Store<LiveAnswers>
  /** Each event once, in the order of the log. */
  onEvent(listener: (event: LiveEvent) => void): () => void
  /** The stream is there again after it was not: something may have been missed. */
  onReopened(listener: () => void): () => void
  /**
   * From here on nothing is missed, so reading may begin. Where the stream does not come at once reading does not wait for
   * it, and is done again when it is there.
   */
  readonly ready: Promise<void>
  open(): void
  close(): void
}

const hiddenForMs = 60_000
const patienceMs = 500

export function liveConnection(client: Client): LiveConnection {
  const state = store<ConnectionState>('connecting')
  const problem = store<string | undefined>(undefined)
  const answers = pacedStore(noAnswers)
  const eventListeners = new Set<(event: LiveEvent) => void>()
  const reopenedListeners = new Set<() => void>()
  let stream: AbortController | undefined
  let position: string | undefined
  let wasOpen = false
  /** Somebody may have read before the stream was there. */
  let mayHaveMissed = false
  let isReady = () => {}
  const ready = new Promise<void>(resolve => {
    isReady = resolve
  })
  let hiding: ReturnType<typeof setTimeout> | undefined

  function start(): void {
    if (stream) return
    const current = new AbortController()
    stream = current
    state.set(wasOpen ? 'lost' : 'connecting')
    setTimeout(() => {
      mayHaveMissed = true
      isReady()
    }, patienceMs)
    read(current.signal).catch((error: unknown) => {
      if (current.signal.aborted) return
      isReady()
      if (error instanceof ApiError && position !== undefined && error.code.includes('position')) {
        // Another store is behind the address now: everything is read anew.
        position = undefined
        stop()
        start()
        return
      }
      problem.set(error instanceof ApiError ? error.message : String(error))
      state.set('refused')
    })
  }

  async function read(signal: AbortSignal): Promise<void> {
    const events = client.live({
      signal,
      deltas: true,
      ...(position !== undefined && { from: position }),
      onState: now => {
        if (signal.aborted) return
        if (now === 'lost') return state.set('lost')
        // Whoever is speaking is told from the beginning.
        answers.set(noAnswers)
        state.set('open')
        wasOpen = true
        if (mayHaveMissed) for (const listener of [...reopenedListeners]) listener()
        mayHaveMissed = true
        isReady()
      },
    })
    for await (const event of events) {
      if (event.name === 'run:live') {
        answers.set(withWords(answers.get(), event as LiveWords))
        continue
      }
      if (!('position' in event)) continue
      answers.set(withEvent(answers.get(), event))
      position = event.position
      for (const listener of [...eventListeners]) listener(event)
    }
  }

  function stop(): void {
    stream?.abort()
    stream = undefined
  }

  function pause(): void {
    stop()
    state.set('paused')
  }

  function onVisibility(): void {
    clearTimeout(hiding)
    if (document.visibilityState === 'visible') start()
    else hiding = setTimeout(pause, hiddenForMs)
  }

  return {
    state,
    problem,
    answers,
    ready,
    onEvent(listener) {
      eventListeners.add(listener)
      return () => eventListeners.delete(listener)
    },
    onReopened(listener) {
      reopenedListeners.add(listener)
      return () => reopenedListeners.delete(listener)
    },
    open() {
      document.addEventListener('visibilitychange', onVisibility)
      start()
    },
    close() {
      document.removeEventListener('visibilitychange', onVisibility)
      clearTimeout(hiding)
      stop()
    },
  }
}
