/**
 * The identity of a store. A database that was restored from a dump into another server, or copied, is another store:
 * positions of the old one must not resume in it. It is told by the server's own identifier and the number of the
 * database, and gets an epoch of its own.
 *
 * Positions are made of transaction numbers, which start over on another server. There they count on from where the
 * old ones ended, by a base that is added.
 */
import { randomBytes } from 'node:crypto'
import type { Run } from './database.ts'

export interface Epoch {
  epoch: string
  /** Added to the server's transaction numbers. */
  base: number
}

/** Reads the epoch, and begins a new one where the store has moved. Runs in a transaction that holds the store's lock. */
export async function settleEpoch(run: Run, { readOnly }: { readOnly: boolean }): Promise<Epoch> {
  const [identity] = await run<[string, number]>(`
    select (select system_identifier::text from pg_control_system()) || ' ' ||
        (select oid::text from pg_database where datname = current_database()),
      pg_snapshot_xmax(pg_current_snapshot())::text::bigint`)
  const [server, nextNumber] = identity!
  const known = new Map(await run<[string, string]>(`select name, value from meta`))
  const epoch = known.get('epoch')
  if (epoch !== undefined && known.get('server') === server) return { epoch, base: Number(known.get('base')) }
  const [newest] = await run<[number]>(`select coalesce(max(tx), 0) from events`)
  const base = epoch === undefined ? 0 : Math.max(0, newest![0] + 1 - nextNumber)
  const fresh = { epoch: newEpoch(), base }
  if (readOnly) return fresh
  for (const [name, value] of Object.entries({ server, epoch: fresh.epoch, base: String(base) })) {
    await run(
      `insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value`,
      [name, value],
    )
  }
  return fresh
}

export function newEpoch(): string {
  return randomBytes(9).toString('base64url')
}
