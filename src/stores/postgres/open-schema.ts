/** Makes the schema where there is none yet, and refuses one that is not today's. */
import { StoreUnusable } from '../../errors.ts'
import type { Database, Run } from './database.ts'
import { type Epoch, settleEpoch } from './epoch.ts'
import { schema, schemaNumber } from './schema.ts'
import type { ServerUrl } from './url.ts'

const oldestServer = 140_000

/**
 * Opens the schema, making it where it is missing. All of it is one transaction under a lock that every node takes: an
 * interrupted one leaves nothing, and the next opening starts over.
 *
 * @throws {StoreUnusable} when the schema is of another version, or of another program
 */
export function openSchema({ url, transaction }: Database, { readOnly }: { readOnly: boolean }): Promise<Epoch> {
  return transaction(async run => {
    // Looking first spares every later opening the lock.
    if ((await usableSchema(run, url)) !== 0 && (await isSettled(run))) return settleEpoch(run, { readOnly: true })
    if (!readOnly) await run(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`colloquy schema ${url.schema}`])
    if ((await usableSchema(run, url)) !== 0) return settleEpoch(run, { readOnly })
    if (readOnly) {
      throw new StoreUnusable(`${url.name} is empty. Open it for writing once; that makes its tables.`, { found: 0 })
    }
    await run(`create schema if not exists ${url.schema}`)
    for (const statement of schema) await run(statement)
    await run(`insert into meta (name, value) values ('schema', $1)`, [String(schemaNumber)])
    return settleEpoch(run, { readOnly })
  })
}

/** Tells that the epoch is that of this server, so that there is nothing to write. */
async function isSettled(run: Run): Promise<boolean> {
  const [row] = await run<[boolean]>(`
    select exists (select 1 from meta where name = 'server' and value =
      (select system_identifier::text from pg_control_system()) || ' ' ||
      (select oid::text from pg_database where datname = current_database()))`)
  return row![0]
}

/** Reads the number of the schema; 0 when there is none yet. Refuses any other than today's. */
async function usableSchema(run: Run, url: ServerUrl): Promise<number> {
  const found = await readSchemaNumber(run, url)
  if (found === 0 || found === schemaNumber) return found
  throw new StoreUnusable(
    `${url.name} has schema ${found}; this version of Colloquy reads and writes schema ${schemaNumber}. Nothing was changed. Export its conversations with the version that made it and restore them into a new schema, or start with an empty one.`,
    { found },
  )
}

/**
 * Reads the number of the schema; 0 when there is none yet. Writes nothing.
 *
 * @throws {StoreUnusable} when the server is too old, or the tables are of another program
 */
export async function readSchemaNumber(run: Run, url: ServerUrl): Promise<number> {
  const [row] = await run<[number, boolean, number]>(
    `select current_setting('server_version_num')::integer,
      exists (select 1 from pg_class where relnamespace = n.oid and relname = 'meta' and relkind = 'r'),
      (select count(*)::integer from pg_class where relnamespace = n.oid)
    from (select (select oid from pg_namespace where nspname = $1) as oid) n`,
    [url.schema],
  )
  const [server, hasMeta, relations] = row!
  if (server < oldestServer) {
    throw new StoreUnusable(
      `PostgreSQL 14 or newer is needed; this is ${Math.floor(server / 10_000)}. Nothing was changed.`,
      { server },
    )
  }
  if (!hasMeta && relations === 0) return 0
  const [meta] = hasMeta
    ? await run<[string | null]>(`select (select value from meta where name = 'schema')`)
    : [undefined]
  const number = Number(meta?.[0] ?? Number.NaN)
  if (Number.isSafeInteger(number)) return number
  throw new StoreUnusable(
    `${url.name} has tables, but they are not Colloquy's. Nothing was changed; choose another schema.`,
    { place: url.name },
  )
}
