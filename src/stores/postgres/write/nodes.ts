/** The register of the processes that serve the log. Time is the server's: nodes whose clocks differ agree on it. */
import type { NodeFacts, NodeRegister } from '../../../log/nodes.ts'
import { isoTime } from '../../../log/time.ts'
import type { Database } from '../database.ts'

type NodeRow = [id: string, facts: string, seenAt: number]

/** `null` stands for the server's own time. */
const time = (parameter: string) =>
  `coalesce(${parameter}::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)`

const sql = {
  announce: `insert into nodes (id, facts, seen_at, expires_at) values ($1, $2, ${time('$3')}, ${time('$3')} + $4::bigint)
    on conflict (id) do update
    set facts = excluded.facts, seen_at = excluded.seen_at, expires_at = excluded.expires_at`,
  forgetGone: `delete from nodes where expires_at <= ${time('$1')}`,
  forget: 'delete from nodes where id = $1',
  all: `select id, facts, seen_at from nodes where expires_at > ${time('$1')}`,
}

export function nodeRegister({
  database,
  leaseClock,
}: {
  database: Database
  leaseClock: () => number | null
}): NodeRegister {
  return {
    async putNode(node) {
      if (!node.facts) {
        await database.read(sql.forget, [node.id])
        return
      }
      const { id, facts, forMs } = node
      await database.read(sql.forgetGone, [leaseClock()])
      await database.read(sql.announce, [id, JSON.stringify(facts), leaseClock(), forMs])
    },
    async nodes() {
      const rows = await database.read<NodeRow>(sql.all, [leaseClock()])
      return rows
        .map(([id, facts, seenAt]) => ({ id, ...(JSON.parse(facts) as NodeFacts), seenAt: isoTime(seenAt) }))
        .sort((a, b) => a.startedAt.localeCompare(b.startedAt))
    },
  }
}
