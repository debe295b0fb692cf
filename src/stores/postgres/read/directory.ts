/** Finds conversations and sessions, one by one or a page at a time. */
import type { Directory } from '../../../log/directory.ts'
import { maximumIdBytes } from '../../../log/events/id.ts'
import type { Database } from '../database.ts'
import type { Projects } from '../projects.ts'
import { conversationDirectory } from './conversations.ts'
import { sessionDirectory } from './sessions.ts'

export type Lists = Omit<Directory, 'totals' | 'landmark'>

export function directory(parts: { database: Database; projects: Projects }): Lists {
  return {
    ...conversationDirectory(parts),
    ...sessionDirectory(parts),
    async projects() {
      const rows = await parts.database.read<[string]>(
        `select id from projects where octet_length(id) <= ${maximumIdBytes} order by id`,
      )
      return rows.map(([id]) => id)
    },
  }
}
