/** The archives of purged conversations. */
import type { Database } from '../database.ts'

export type PurgeRecords = ReturnType<typeof purgeRecords>

export function purgeRecords(database: Database) {
  const find = database.prepare(`
    select archive from purges join projects using (project)
    where id = ? and conversation_id = ? order by purge desc limit 1`)
  return {
    /** The archive of the newest purge of a conversation, if it was purged. */
    archiveOf: (project: string, conversationId: string) =>
      (find.get(project, conversationId) as [string] | undefined)?.[0],
  }
}
