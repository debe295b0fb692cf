/**
 * The horizon up to which the log is complete. Transactions commit in another order than they got their numbers; a reader
 * that goes by numbers must not pass one that is still under way.
 *
 * The usual horizon is the oldest transaction under way on the whole server: it costs nothing to ask for. But an idle
 * transaction of another program, in any database of the server, would hold every reader up. So a reader that was held up
 * for a while asks more precisely: which of the transactions under way have shown that they write events. An append shows
 * that before it gets its number, so none can be missed.
 */
import type { Run } from '../database.ts'

/** SQL of the usual horizon: events of transactions below it are all there. */
export const usualHorizon = 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint'

/**
 * Reads the precise horizon. Events below it are all there for a statement that starts after this one. A standby does not
 * know the locks of its primary; there the usual horizon is all there is.
 *
 * Locks know numbers of 32 bits; the rest is that of the newest number, or one less where the newest has just passed a
 * round of them.
 */
export async function preciseHorizon(run: Run): Promise<number> {
  const [row] = await run<[number]>(`
    with newest as (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as number)
    select case when pg_is_in_recovery() then ${usualHorizon} else coalesce(min(
      (newest.number >> 32 << 32) + x.number
        - case when x.number > (newest.number & 4294967295) then 4294967296 else 0 end), min(newest.number)) end
    from newest left join lateral (
      select t.transactionid::text::bigint as number
      from pg_locks w join pg_locks t on t.virtualtransaction = w.virtualtransaction and t.pid = w.pid
      where w.locktype = 'relation' and w.relation = 'events'::regclass and w.mode = 'RowExclusiveLock' and w.granted
        and w.database = (select oid from pg_database where datname = current_database())
        and t.locktype = 'transactionid' and t.mode = 'ExclusiveLock' and t.granted) x on true`)
  return row![0]
}

/** Describes the transaction that holds the usual horizon back, for a report. */
export async function oldestWriter(run: Run): Promise<string> {
  const [row] = await run<[number, string, string, number]>(`
    select pid, coalesce(datname, ''), coalesce(application_name, ''),
      extract(epoch from clock_timestamp() - xact_start)::integer
    from pg_stat_activity where backend_xid is not null order by age(backend_xid) desc limit 1`)
  if (!row) return 'a transaction that this role may not see'
  const [pid, database, application, seconds] = row
  return `process ${pid} (${[database, application].filter(Boolean).join(', ')}), for ${seconds} s`
}
