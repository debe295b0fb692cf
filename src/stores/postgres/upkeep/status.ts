/** The state of a store: its schema, size and projects. */

import type { StoreStatus } from '../../../log/status.ts'
import { openDatabase } from '../database.ts'
import { asStoreError } from '../errors.ts'
import { readSchemaNumber } from '../open-schema.ts'
import { schemaNumber } from '../schema.ts'
import { parseUrl } from '../url.ts'

/**
 * Changes nothing. A store of another schema is told by its number; its projects are not counted.
 *
 * @throws {StoreUnusable} when the server cannot be used, or the tables are of another program
 */
export async function postgresStatus(address: string): Promise<StoreStatus> {
  const url = parseUrl(address)
  const database = openDatabase({ url, durability: 'full', readOnly: true, busyTimeoutMs: 10_000, connections: 1 })
  try {
    const schema = await database.transaction(run => readSchemaNumber(run, url), { readOnly: true })
    const [row] = await database.read<[string, number]>(
      `select current_setting('server_version'), coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind in ('r', 'p')`,
      [url.schema],
    )
    // Counted from the heads, in which branches count what they share with their parent.
    const projects =
      schema === schemaNumber
        ? await database.read<[string, number, number]>(
            `select p.id, count(c.*), coalesce(sum(c.version - coalesce(c.branch_version, 0)), 0)::bigint
            from projects p left join conversations c using (project) group by p.id order by p.id`,
          )
        : []
    return {
      kind: 'postgres',
      place: url.name,
      server: `PostgreSQL ${row![0]}`,
      schema,
      newestSchema: schemaNumber,
      bytes: row![1],
      projects: projects.map(([project, conversations, events]) => ({ project, conversations, events })),
    }
  } catch (error) {
    throw asStoreError(error, url.name)
  } finally {
    await database.close()
  }
}
