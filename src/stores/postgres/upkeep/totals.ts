/** Totals of a project, from its heads and the running sums of its lanes. */

import type { ProjectTotals } from '../../../log/directory.ts'
import type { Database } from '../database.ts'
import type { Projects } from '../projects.ts'

export async function projectTotals(
  { database, projects }: { database: Database; projects: Projects },
  project: string,
): Promise<ProjectTotals> {
  const number = await projects.find(project)
  if (number === undefined) {
    return { conversations: 0, sessions: 0, events: 0, compactions: 0, messages: 0, tokens: 0, input: 0, output: 0 }
  }
  const [row] = await database.read<[number, number, number, number, number, number, number, number]>(
    `select c.conversations, s.sessions, c.events, s.compactions, l.messages, l.tokens, l.input, l.output
    from (select count(*) as conversations, coalesce(sum(c.version - coalesce(c.branch_version, 0)), 0)::bigint as events
        from conversations c where c.project = $1) c,
      (select count(*) filter (where status <> 'deleted') as sessions,
          coalesce(sum(compactions), 0)::bigint as compactions
        from sessions where project = $1) s,
      (select coalesce(sum(e.messages), 0)::bigint as messages, coalesce(sum(e.tokens), 0)::bigint as tokens,
          coalesce(sum(e.input), 0)::bigint as input, coalesce(sum(e.output), 0)::bigint as output
        from lanes l cross join lateral (
          select messages, tokens, input, output from events
          where project = l.project and conversation = l.conversation and lane = l.lane
          order by version desc limit 1) e
        where l.project = $1) l`,
    [number],
  )
  const [conversationCount, sessionCount, events, compactions, messages, tokens, input, output] = row!
  return {
    conversations: conversationCount,
    sessions: sessionCount,
    events,
    compactions,
    messages,
    tokens,
    input,
    output,
  }
}
