/**
 * The events of a project from now on, for parts that work by themselves. When the log cannot be read for a while, they go
 * on afterwards where they were.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { PositionUnknown } from '../../errors.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { StoreCalls } from '../../log/store.ts'

const retryMs = 1000

interface FollowOptions {
  signal: AbortSignal
  /** Called when its position is unknown and it goes on from now: events may be missed. */
  onGap?: () => void
}

export async function* followed(
  store: Pick<StoreCalls, 'subscribe' | 'position'>,
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
      // A restored store does not know the position.
      from = error instanceof PositionUnknown ? undefined : (from ?? (await start))
      await wait(retryMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (from === undefined) onGap?.()
    }
  }
}
