/** A relative time with the exact one on hover. One clock updates all of them. */
import { store, useStore } from '../connection/store.ts'
import { exact, relative } from '../format.ts'

export const clock = store(Date.now())
setInterval(() => clock.set(Date.now()), 20_000)

export function Time({ at, className }: { at: string; className?: string }) {
  return (
    <time dateTime={at} title={exact(at)} className={className}>
      {relative(at, Math.max(useStore(clock), Date.parse(at) || 0))}
    </time>
  )
}
