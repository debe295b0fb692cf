/**
 * How much a project holds. Every conversation is looked at, which takes too long for the engine's thread: half a second
 * with 50,000 of them.
 */
import type { ProjectTotals } from '../../../log/directory.ts'
import type { Database } from '../database.ts'
import { newestPosition } from '../read/event-queries.ts'

export function totaller(database: Database) {
  const sql = {
    project: database.prepare('select project from projects where id = ?'),
    counts: database.prepare(`
      select (select count(*) from conversations where project = ?1),
             (select count(*) from sessions where project = ?1 and status <> 'deleted'),
             (select coalesce(sum(
                (select version from events where position = ${newestPosition('c.conversation')})
                - iif(json_valid(c.info), coalesce(json_extract(c.info, '$.branchOf.version'), 0), 0)), 0)
              from conversations c where c.project = ?1),
             (select coalesce(sum(iif(json_valid(head), json_extract(head, '$.compactions'), 0)), 0)
              from sessions where project = ?1)`),
    sums: database.prepare(`
      select total(e.messages), total(e.tokens), total(e.input), total(e.output)
      from conversations c join lanes l using (conversation)
      join events e on e.position = (
        select position from events where conversation = c.conversation and lane = l.lane order by version desc limit 1)
      where c.project = ?`),
  }

  return (project: string): ProjectTotals => {
    // A number that no project has: one that is not there holds nothing.
    const [row] = (sql.project.get(project) as [number] | undefined) ?? [0]
    const [conversations, sessions, events, compactions] = sql.counts.get(row) as [number, number, number, number]
    const [messages, tokens, input, output] = sql.sums.get(row) as [number, number, number, number]
    return { conversations, sessions, events, compactions, messages, tokens, input, output }
  }
}
