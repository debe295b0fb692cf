/** Finds what is wrong with a file as a whole. */
import type { Database } from '../database.ts'
import { lastPosition } from '../position.ts'
import { changedTables } from './table-definitions.ts'

export function fileProblems(
  database: Database,
  project: string | undefined,
): { problems: string[]; isReadable: boolean } {
  const changed = changedTables(database)
  if (changed.length > 0) {
    // Rows that are read by such a definition look damaged although they are whole.
    const problems = changed.map(table => `file structure: the table ${table} is not defined as it was made`)
    return { problems, isReadable: false }
  }
  const count = (sql: string) => (database.prepare(sql).get() as [number])[0]
  // Indexes too: what they do not lead to is not found, although it is there.
  const findings = database.prepare('pragma integrity_check(20)').all() as Array<[string]>
  const problems = findings.flatMap(([finding]) => (finding === 'ok' ? [] : [`file structure: ${finding}`]))
  if (!database.prepare(`select 1 from meta where name = 'position_floor'`).get()) {
    problems.push('the file does not say any more how far its log went')
  }
  const missing = project === undefined ? count(missingEvents) : 0
  if (missing > 0) problems.push(`${missing} events were removed from the end of conversations`)
  const orphans = count(`
    select count(*) from events e where not exists (select 1 from conversations c where c.conversation = e.conversation)`)
  if (orphans > 0) problems.push(`${orphans} events belong to no conversation`)
  const ofNoProject = count(`
    select count(*) from conversations c where not exists (select 1 from projects p where p.project = c.project)`)
  if (ofNoProject > 0) problems.push(`${ofNoProject} conversations belong to no project`)
  return { problems, isReadable: true }
}

/**
 * Positions are handed out one by one: an event that is neither there, nor purged, nor missing between others was taken
 * from the end of its conversation.
 */
const missingEvents = `
  select ${lastPosition()} - (select count(*) from events) - (select coalesce(sum(events), 0) from purges) - (
    select coalesce(sum(newest - first - events), 0) from (
      select max(e.version) as newest, count(*) as events,
        iif(json_valid(c.info), coalesce(json_extract(c.info, '$.branchOf.version'), 0), min(e.version) - 1) as first
      from conversations c join events e using (conversation) group by c.conversation))`
