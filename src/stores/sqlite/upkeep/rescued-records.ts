/**
 * What a store remembers beside its conversations, brought from a damaged file into a new one: idempotency keys, so that a
 * call repeated by its key is not recorded twice, and what was purged, so that its archive is found. Leases are not: who
 * held one claims it again.
 */
import type { Database } from '../database.ts'
import { headStore } from '../heads.ts'
import type { Value } from '../statement.ts'
import { inTransaction } from '../transaction.ts'

export const keyColumns = 'project, key, digest, conversation_id, first_version, last_version, session_id'
export const purgeColumns =
  'project, conversation_id, archive, events, hash, at, actor, channel, request, reason, restored_at'

/** Rows as they were read. In a damaged file a column may hold anything. */
export type RescuedRow = Value[]

const types = {
  keys: ['number', 'string', 'string', 'string', 'number', 'number', 'string?'],
  purges: [
    'number',
    'string',
    'string',
    'number',
    'bytes',
    'number',
    'string',
    'string',
    'string?',
    'string?',
    'number?',
  ],
} as const

export function looksLike(kind: keyof typeof types, row: readonly unknown[]): row is RescuedRow {
  return types[kind].every((type, index) => {
    const value = row[index]
    if (value === null) return type.endsWith('?')
    return value instanceof Uint8Array ? type === 'bytes' : type.startsWith(typeof value)
  })
}

/** Returns what could not be brought over, in words. Comes after the events: it raises the positions behind them. */
export function putRecords(
  target: Database,
  { projects, keys, purges }: { projects: ReadonlyMap<number, string>; keys: RescuedRow[]; purges: RescuedRow[] },
  now: number,
): string[] {
  const heads = headStore(target)
  const sql = {
    key: target.prepare(`insert or ignore into keys (${keyColumns}) values (?, ?, ?, ?, ?, ?, ?)`),
    purge: target.prepare(`insert into purges (${purgeColumns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    // Positions are counted: those of what was purged have to be missing here too.
    floor: target.prepare(`
      update meta set value = coalesce((select max(position) from events), 0) + (select sum(events) from purges)
      where name = 'position_floor' and exists (select 1 from purges)`),
  }
  const lost = { keys: 0, purges: 0 }
  const put = (kind: keyof typeof types, row: RescuedRow) => {
    const project = looksLike(kind, row) ? projects.get(row[0] as number) : undefined
    if (project === undefined) lost[kind]++
    else sql[kind === 'keys' ? 'key' : 'purge'].run(heads.ensureProject(project, now), ...row.slice(1))
  }
  inTransaction(target, () => {
    for (const row of keys) put('keys', row)
    for (const row of purges) put('purges', row)
    sql.floor.run()
  })
  return [
    ...(lost.keys > 0 ? [`${lost.keys} idempotency keys are damaged`] : []),
    ...(lost.purges > 0 ? [`${lost.purges} records of purges are damaged`] : []),
  ]
}
