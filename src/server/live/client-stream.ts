/**
 * The body of one live stream. It holds one event and one delta at most, and both only while the client reads: a client
 * that stops reading costs no queue, and is dropped after a while.
 */
import { heartbeat } from './stream-text.ts'

/** Deltas sent in a row while an event waits. */
const maxDeltasInARow = 16

type Kind = 'event' | 'delta'

interface Offer {
  bytes: Uint8Array
  /** Called when the client reads on, or the stream ends. */
  resolve(): void
}

export class ClientStream {
  readonly body: ReadableStream<Uint8Array>
  /** Aborted when the stream ends. */
  readonly #end = new AbortController()
  readonly #offers = new Map<Kind, Offer>()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #sent: Offer | undefined
  #deltasInARow = 0
  #isReading = false
  #changedAt = performance.now()

  constructor() {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        pull: () => this.#read(),
        cancel: () => {
          this.#controller = undefined
          this.end()
        },
      },
      { highWaterMark: 0 },
    )
  }

  get signal(): AbortSignal {
    return this.#end.signal
  }

  /** The client has yet to read the last chunk. */
  get isUnread(): boolean {
    return !this.#isReading
  }

  /** Resolves when the client has read it and reads on. */
  send(kind: Kind, bytes: Uint8Array): Promise<void> {
    return new Promise(resolve => {
      if (this.signal.aborted) return resolve()
      this.#offers.set(kind, { bytes, resolve })
      this.#flush()
    })
  }

  /** Sends a sign of life to a quiet client. Returns for how long the last chunk is unread. */
  beat(now: number, heartbeatMs: number): number {
    const sinceMs = now - this.#changedAt
    if (!this.#isReading) return sinceMs
    if (sinceMs >= heartbeatMs) this.#enqueue(heartbeat)
    return 0
  }

  end(last?: Uint8Array): void {
    if (this.signal.aborted) return
    this.#end.abort()
    for (const { resolve } of this.#offers.values()) resolve()
    this.#sent?.resolve()
    if (last) this.#controller?.enqueue(last)
    this.#controller?.close()
  }

  #read(): void {
    this.#isReading = true
    this.#changedAt = performance.now()
    this.#sent?.resolve()
    this.#sent = undefined
    this.#flush()
  }

  /** Deltas that lead to an answer go before it, as far as they are there. */
  #flush(): void {
    if (!this.#isReading) return
    const isDelta = this.#offers.has('delta') && (!this.#offers.has('event') || this.#deltasInARow < maxDeltasInARow)
    const kind = isDelta ? 'delta' : 'event'
    const offer = this.#offers.get(kind)
    if (!offer) return
    this.#deltasInARow = isDelta ? this.#deltasInARow + 1 : 0
    this.#offers.delete(kind)
    this.#sent = offer
    this.#enqueue(offer.bytes)
  }

  #enqueue(bytes: Uint8Array): void {
    this.#isReading = false
    this.#changedAt = performance.now()
    this.#controller?.enqueue(bytes)
  }
}
