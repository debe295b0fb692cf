/** A model that says a little, waits until the test lets it go, and says the rest. Stops in between as a real one does. */
import type { Model } from 'colloquy'
import type { ModelPart } from 'colloquy/models'

export interface HeldModel extends Model {
  /** Resolves when the first words are out. */
  readonly begun: Promise<void>
  /** Lets it say the rest. */
  goOn(): void
}

export function heldModel(first: string, rest: string): HeldModel {
  const start = signal()
  const held = signal()
  return {
    name: 'held',
    takesTools: true,
    begun: start.promise,
    goOn: held.resolve,
    async *stream({ signal: stopping }): AsyncGenerator<ModelPart> {
      yield { type: 'start', model: 'held' }
      yield { type: 'text-start', id: 'text' }
      yield { type: 'text-delta', id: 'text', text: first }
      start.resolve()
      const stopped = new Promise<void>(resolve => stopping?.addEventListener('abort', () => resolve(), { once: true }))
      await Promise.race([held.promise, stopped])
      if (stopping?.aborted) {
        yield { type: 'failure', kind: 'cancelled', message: 'It was stopped.', retryable: false }
        return
      }
      yield { type: 'text-delta', id: 'text', text: rest }
      yield { type: 'text-end', id: 'text' }
      yield { type: 'finish', stopReason: 'stop', usage: { input: 10, output: 5 } }
    },
  }
}

function signal(): { promise: Promise<void>; resolve(): void } {
  let resolve = () => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve: () => resolve() }
}
