/**
 * Heads of conversations and sessions, and the lanes' running sums: read from the file, cached, and written back in the
 * transaction that changes them.
 */
import type { Database } from './database.ts'
import { conversationHeads } from './heads/conversations.ts'
import { HeadCache } from './heads/head-cache.ts'
import { laneHeads } from './heads/lanes.ts'
import { projectRows } from './heads/projects.ts'
import { sessionHeads } from './heads/sessions.ts'

export type HeadStore = ReturnType<typeof headStore>

export function headStore(database: Database) {
  const cache = new HeadCache()
  const dataVersion = database.prepare('pragma data_version')
  let seenVersion = -1
  const projects = projectRows(database, cache)
  const lanes = laneHeads(database, cache)
  return {
    ...projects,
    ...lanes,
    ...conversationHeads(database, cache, projects),
    ...sessionHeads(database, cache, { ...projects, ...lanes }),
    /** Drops the cache if another connection wrote, and returns whether one did. To be called before heads are read. */
    refresh(): boolean {
      const [version] = dataVersion.get() as [number]
      if (version === seenVersion) return false
      seenVersion = version
      cache.clear()
      return true
    },
    forget: () => cache.clear(),
    /** Changes whenever the cache is dropped. */
    generation: () => cache.generation,
  }
}
