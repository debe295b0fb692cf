/**
 * The page's single stream of live events: its state, its events, and when it was interrupted so that readers reload.
 *
 * A hidden page closes its connection after a while, because browsers allow few per server.
 */
import { ApiError, type Client, type LiveEvent, type LiveWords } from 'colloquy/client'
import { type LiveAnswers, noAnswers, withEvent, withWords } from './live-answers.ts'
import { pacedStore, type Store, store } from './store.ts'

/** `refused`: the server rejected the connection; a retry would not help. */
export type ConnectionState = 'connecting' | 'open' | 'lost' | 'paused' | 'refused'

export interface LiveConnection {
  readonly state: Store<ConnectionState>
  /** Reason for the refusal. */
  readonly problem: Store<string | undefined>
  /** Answers being streamed, by run. */
  readonly answers: Store<LiveAnswers>
  /** Each event once, in the order of the log. */
  onEvent(listener: (event: LiveEvent) => void): () => void
  /** The stream was interrupted and is open again: events may have been missed. */
  onReopened(listener: () => void): () => void
  /**
   * Resolves when reading may begin without missing events. If the stream does not open at once, reading starts anyway
   * and is repeated once it is open.
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
  /** True when a component may have read data before the stream was open. */
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
        // Another store is behind this address now: reload everything.
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
        // The server resends running answers from their beginning.
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
