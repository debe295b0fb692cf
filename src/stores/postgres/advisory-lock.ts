/**
 * Work that one node at a time does, by an advisory lock of a connection that is kept for it: when the node dies, its
 * connection ends and the lock is free.
 *
 * A node that is stopped and not dead keeps its connection. The server ends one that says nothing for a minute; what the
 * node writes when it goes on is for its lease to refuse.
 */
import type { Upkeep } from '../../log/upkeep.ts'
import type { Database } from './database.ts'
import { lockKeyOf } from './write/draft.ts'

const silence = { endsAfterMs: 60_000, brokenEveryMs: 15_000 }

export function exclusive(database: Database, epoch: string): NonNullable<Upkeep['alone']> {
  return async (project, name, work) => {
    const connection = await database.connect()
    let pulse: NodeJS.Timeout | undefined
    try {
      await connection.query(`set idle_session_timeout = ${silence.endsAfterMs}`)
      const { rows } = await connection.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
        lockKeyOf(epoch, project, `alone ${name}`),
      ])
      if (!rows[0]!.taken) return undefined
      pulse = setInterval(() => connection.query('select 1').catch(() => undefined), silence.brokenEveryMs)
      pulse.unref()
      return await work()
    } finally {
      clearInterval(pulse)
      await connection.end().catch(() => undefined)
    }
  }
}
