/** The register of nodes, in the file they serve. */
import type { NodeFacts, NodeRegister } from '../../../log/nodes.ts'
import { isoTime } from '../../../log/time.ts'
import type { Access } from '../access.ts'
import type { Database } from '../database.ts'

type NodeRow = [id: string, facts: string, seenAt: number]

export function nodeRegister({
  database,
  clock,
  reading,
  writing,
}: { database: Database; clock: () => number } & Access): NodeRegister {
  const sql = {
    forgetExpired: database.prepare('delete from nodes where expires_at <= ?'),
    announce: database.prepare(`
      insert into nodes (id, facts, seen_at, expires_at) values (?, ?, ?, ?)
      on conflict (id) do update
      set facts = excluded.facts, seen_at = excluded.seen_at, expires_at = excluded.expires_at`),
    forget: database.prepare('delete from nodes where id = ?'),
    all: database.prepare('select id, facts, seen_at from nodes where expires_at > ?'),
  }
  return {
    putNode: node =>
      writing(() => {
        if (!node.facts) {
          sql.forget.run(node.id)
          return
        }
        const { id, facts, forMs } = node
        const now = clock()
        sql.forgetExpired.run(now)
        sql.announce.run(id, JSON.stringify(facts), now, now + forMs)
      }),
    nodes: () =>
      reading(() => {
        const rows = sql.all.all(clock()) as NodeRow[]
        return rows
          .map(([id, facts, seenAt]) => ({ id, ...(JSON.parse(facts) as NodeFacts), seenAt: isoTime(seenAt) }))
          .sort((a, b) => a.startedAt.localeCompare(b.startedAt))
      }),
  }
}
