/** The register of nodes, in the file they serve. */
import type { NodeFacts, Nodes } from '../../../log/nodes.ts'
import { isoTime } from '../../../log/time.ts'
import type { Access } from '../access.ts'
import type { Database } from '../database.ts'

type NodeRow = [id: string, facts: string, seenAt: number]

export function nodeRegister({
  database,
  clock,
  reading,
  writing,
}: { database: Database; clock: () => number } & Access): Nodes {
  // Prepared when it is needed: a file of an older schema that is only read has no such table.
  const run = (sql: string) => database.prepare(sql)
  return {
    announceNode: ({ id, facts, forMs }) =>
      writing(() => {
        const now = clock()
        run('delete from nodes where expires_at <= ?').run(now)
        run(`insert into nodes (id, facts, seen_at, expires_at) values (?, ?, ?, ?)
          on conflict (id) do update
          set facts = excluded.facts, seen_at = excluded.seen_at, expires_at = excluded.expires_at`).run(
          id,
          JSON.stringify(facts),
          now,
          now + forMs,
        )
      }),
    forgetNode: id =>
      writing(() => {
        run('delete from nodes where id = ?').run(id)
      }),
    nodes: () =>
      reading(() => {
        const rows = run('select id, facts, seen_at from nodes where expires_at > ?').all(clock()) as NodeRow[]
        return rows
          .map(([id, facts, seenAt]) => ({ id, ...(JSON.parse(facts) as NodeFacts), seenAt: isoTime(seenAt) }))
          .sort((a, b) => a.startedAt.localeCompare(b.startedAt))
      }),
  }
}
