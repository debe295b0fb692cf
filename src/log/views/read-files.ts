/**
 * Files that agents have read and therefore may write. Folded from the log.
 *
 * Only the newest are kept. A forgotten file must be read again before it is written, which is the safe side.
 */
import type { RecordedEvent } from '../events/recorded-event.ts'

/** Paths by agent, oldest first. */
export type ReadFiles = Readonly<Record<string, readonly string[]>>

const filesRemembered = 200

export function evolveReadFiles(state: ReadFiles | undefined, { event }: RecordedEvent): ReadFiles | undefined {
  if (event.type === 'phase.changed' && event.forgetsReadFiles) return undefined
  if (event.type !== 'file.read') return state
  const { agent, path } = event
  const known = new Map(Object.entries(state ?? {}))
  const paths = (known.get(agent) ?? []).filter(one => one !== path)
  // Inserted again, so that the most recent reader comes last and the least recent first.
  known.delete(agent)
  known.set(agent, [...paths, path])
  let count = 0
  for (const { length } of known.values()) count += length
  for (const [name, list] of known) {
    if (count <= filesRemembered) break
    const dropped = Math.min(count - filesRemembered, list.length)
    count -= dropped
    if (dropped === list.length) known.delete(name)
    else known.set(name, list.slice(dropped))
  }
  return Object.fromEntries(known)
}

export function hasRead(state: ReadFiles | undefined, agent: string, path: string): boolean {
  return state !== undefined && Object.hasOwn(state, agent) && state[agent]!.includes(path)
}
