/**
 * Brings a schema to today's form, one numbered step at a time, each in a transaction of its own under a lock that all
 * nodes take: an interrupted migration leaves a whole earlier version and goes on at the next open.
 */
import { StoreUnusable } from '../../errors.ts'
import type { Database, Run } from './database.ts'
import { type Epoch, settleEpoch } from './epoch.ts'
import { log } from './migrations/001-log.ts'
import { isolation } from './migrations/003-isolation.ts'
import { teamsAndBranches } from './migrations/004-teams-and-branches.ts'
import { searchFilters } from './migrations/005-search-filters.ts'
import { work } from './migrations/006-work.ts'
import { landmarks } from './migrations/007-landmarks.ts'
import { nodes } from './migrations/009-nodes.ts'
import { ends } from './migrations/010-ends.ts'

/** A step that made the call that appends, which a later one makes anew. */
const madeAnew: readonly string[] = []

/** Changes nothing: whoever does not know the checksums of today would take new rows for damaged, and is kept out. */
const checksums: readonly string[] = []

const migrations: ReadonlyArray<readonly string[]> = [
  log,
  madeAnew,
  isolation,
  teamsAndBranches,
  searchFilters,
  work,
  landmarks,
  madeAnew,
  nodes,
  ends,
  checksums,
]

export const newestSchema = migrations.length

const oldestServer = 140_000

export async function migrate(database: Database, { readOnly }: { readOnly: boolean }): Promise<Epoch> {
  for (;;) {
    const epoch = await database.transaction(run => step(database, run, readOnly))
    if (epoch) return epoch
  }
}

/** Takes the next step; the epoch when there is none left. */
async function step({ place }: Database, run: Run, readOnly: boolean): Promise<Epoch | undefined> {
  // Looking first spares every later opening the lock.
  if ((await schemaVersion(run, place)) === newestSchema && (await isSettled(run))) {
    return settleEpoch(run, { readOnly: true })
  }
  if (!readOnly)
    await run(`select pg_advisory_xact_lock(hashtextextended('colloquy migrations ' || $1, 0))`, [place.schema])
  const version = await schemaVersion(run, place)
  refuseNewer(version, place)
  if (version === newestSchema) return settleEpoch(run, { readOnly })
  if (readOnly) {
    throw new StoreUnusable(`${place.name} is empty or of an older schema: open it for writing once.`, {
      found: version,
    })
  }
  if (version === 0) await run(`create schema if not exists ${place.schema}`)
  for (const statement of migrations[version]!) await run(statement)
  await run(
    `insert into meta (name, value) values ('schema', $1) on conflict (name) do update set value = excluded.value`,
    [String(version + 1)],
  )
  return undefined
}

/** Whether the epoch is that of this server, so that there is nothing to write. */
async function isSettled(run: Run): Promise<boolean> {
  const [row] = await run<[boolean]>(`
    select exists (select 1 from meta where name = 'server' and value =
      (select system_identifier::text from pg_control_system()) || ' ' ||
      (select oid::text from pg_database where datname = current_database()))`)
  return row![0]
}

/** The schema it has; 0 when there is none yet. Refuses one that is somebody else's. Writes nothing. */
export async function schemaVersion(run: Run, place: Database['place']): Promise<number> {
  const [found] = await run<[number, boolean, number]>(
    `select current_setting('server_version_num')::integer,
      exists (select 1 from pg_class where relnamespace = n.oid and relname = 'meta' and relkind = 'r'),
      (select count(*)::integer from pg_class where relnamespace = n.oid)
    from (select (select oid from pg_namespace where nspname = $1) as oid) n`,
    [place.schema],
  )
  const [server, hasMeta, relations] = found!
  if (server < oldestServer) {
    throw new StoreUnusable(`PostgreSQL 14 or newer is needed; this is ${Math.floor(server / 10_000)}.`, { server })
  }
  if (!hasMeta) {
    if (relations === 0) return 0
    throw new StoreUnusable(
      `${place.name} has tables, but they are not Colloquy's. Nothing was changed; choose another schema.`,
      { place: place.name },
    )
  }
  const [row] = await run<[string | null]>(`select (select value from meta where name = 'schema')`)
  const version = Number(row![0] ?? Number.NaN)
  if (!Number.isSafeInteger(version)) {
    throw new StoreUnusable(
      `${place.name} has tables, but they are not Colloquy's. Nothing was changed; choose another schema.`,
      { place: place.name },
    )
  }
  refuseNewer(version, place)
  return version
}

function refuseNewer(found: number, place: Database['place']): void {
  if (found <= newestSchema) return
  throw new StoreUnusable(
    `${place.name} was written by a newer Colloquy (schema ${found}; this one knows ${newestSchema}). Nothing was changed; update Colloquy.`,
    { place: place.name, found, newest: newestSchema },
  )
}
