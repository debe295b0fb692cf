/**
 * The events of a project from now on, also when the log cannot be followed for a while: for whoever works by itself, whom
 * nobody would tell that a subscription ended.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { PositionUnknown } from '../../errors.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { Store } from '../../log/store.ts'

const tryAgainMs = 1000

interface FollowOptions {
  signal: AbortSignal
  /** Told when it goes on from now because where it was is not known any more: anything may have come meanwhile. */
  onGap?: () => void
}

export async function* followed(
  store: Pick<Store, 'subscribe' | 'position'>,
  project: string,
  { signal, onGap }: FollowOptions,
): AsyncGenerator<RecordedEvent> {
  const start = store.position().catch(() => undefined)
  let from: string | undefined
  while (!signal.aborted) {
    try {
      for await (const event of store.subscribe({ project, signal, ...(from !== undefined && { from }) })) {
        from = event.position
        yield event
      }
      return
    } catch (error) {
      // In a store that was put back there is no such place to go on from.
      from = error instanceof PositionUnknown ? undefined : (from ?? (await start))
      await wait(tryAgainMs, undefined, { signal, ref: false }).catch(() => undefined)
      // Right before the log is asked again, which is where it goes on from.
      if (from === undefined) onGap?.()
    }
  }
}
