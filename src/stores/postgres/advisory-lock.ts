/** Locks that are numbers at the server: of conversations, for the length of a transaction, and of work that one node does. */
import type { Store } from '../../log/store.ts'
import type { Database, Run } from './database.ts'

/** The text that a conversation's lock is made of. */
export function conversationLock(epoch: string, project: number, conversationId: string): string {
  return `${epoch} ${project} conversation ${conversationId}`
}

/**
 * Takes a conversation's lock for a transaction that may append to it.
 *
 * Both locks come before the transaction gets its number: readers tell by the one on the table that it may write events,
 * and by the other the later one of two appends to a conversation has the higher number.
 */
export async function lockConversation(
  run: Run,
  { epoch, project, conversationId }: { epoch: string; project: number; conversationId: string },
): Promise<void> {
  await Promise.all([
    showAppend(run),
    run('select pg_advisory_xact_lock(hashtextextended($1, 0))', [conversationLock(epoch, project, conversationId)]),
  ])
}

/** Shows readers that this transaction is going to write events. Partitions are locked when they are written to. */
export async function showAppend(run: Run): Promise<void> {
  await run('lock table only events in row exclusive mode')
}

const idle = { endsAfterMs: 60_000, brokenEveryMs: 15_000 }

/**
 * Returns a function that does work on one node at a time, by a lock of a connection that is kept for it: when the node
 * dies, its connection ends and the lock is free. It returns undefined when another node is at the work.
 *
 * A node that is stopped and not dead keeps its connection. The server ends one that says nothing for a minute; what the
 * node writes when it goes on is refused by its lease.
 */
export function exclusiveWork(database: Database, epoch: string): NonNullable<Store['alone']> {
  return async (project, name, work) => {
    const connection = await database.connect()
    let pulse: NodeJS.Timeout | undefined
    try {
      await connection.query(`set idle_session_timeout = ${idle.endsAfterMs}`)
      const { rows } = await connection.query<{ taken: boolean }>(
        'select pg_try_advisory_lock(hashtextextended($1, 0)) as taken',
        [`${epoch} work ${name} of ${project}`],
      )
      if (!rows[0]!.taken) return undefined
      pulse = setInterval(() => connection.query('select 1').catch(() => undefined), idle.brokenEveryMs)
      pulse.unref()
      return await work()
    } finally {
      clearInterval(pulse)
      await connection.end().catch(() => undefined)
    }
  }
}
