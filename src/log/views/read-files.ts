/**
 * Files that agents have read and therefore may write. Folded from the log.
 *
 * Only the newest are kept. A forgotten file must be read again before it is written.
 */
import type { RecordedEvent } from '../events/recorded-event.ts'

/** Paths by agent, oldest first. */
export type ReadFiles = Readonly<Record<string, readonly string[]>>

const rememberedFiles = 200

export function evolveReadFiles(state: ReadFiles | undefined, { event }: RecordedEvent): ReadFiles | undefined {
  if (event.type === 'phase.changed' && event.forgetsReadFiles) return undefined
  if (event.type !== 'file.read') return state
  const { agent, path } = event
  const pathsByAgent = new Map(Object.entries(state ?? {}))
  const paths = (pathsByAgent.get(agent) ?? []).filter(known => known !== path)
  // Inserted again, so that the most recent reader comes last and the least recent first.
  pathsByAgent.delete(agent)
  pathsByAgent.set(agent, [...paths, path])
  let count = 0
  for (const { length } of pathsByAgent.values()) count += length
  for (const [name, list] of pathsByAgent) {
    if (count <= rememberedFiles) break
    const dropped = Math.min(count - rememberedFiles, list.length)
    count -= dropped
    if (dropped === list.length) pathsByAgent.delete(name)
    else pathsByAgent.set(name, list.slice(dropped))
  }
  return Object.fromEntries(pathsByAgent)
}

export function hasRead(state: ReadFiles | undefined, agent: string, path: string): boolean {
  return state !== undefined && Object.hasOwn(state, agent) && state[agent]!.includes(path)
}
