/** What there is in a schema, without changing it: its version, size, projects. */

import type { StoreStatus } from '../../log/status.ts'
import { copiedName } from '../../log/upkeep/copy.ts'
import { openDatabase } from './database.ts'
import { asStoreError } from './errors.ts'
import { newestSchema, schemaVersion } from './migrate.ts'
import { placeOf } from './place.ts'

/** @throws {StoreUnusable} when the server cannot be used, or the schema is somebody else's or a newer program's */
export async function postgresStatus(url: string): Promise<StoreStatus> {
  const place = placeOf(url)
  const database = openDatabase({ place, durability: 'full', readOnly: true, busyTimeoutMs: 10_000, connections: 1 })
  try {
    const schema = await database.transaction(run => schemaVersion(run, place), { readOnly: true })
    const [row] = await database.read<[string, number]>(
      `select current_setting('server_version'), coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind in ('r', 'p')`,
      [place.schema],
    )
    const projects =
      schema === 0
        ? []
        : await database.read<[string, number, number]>(
            // Counted from the heads, in which branches count what they share with their parent.
            `select p.id, count(c.*), coalesce(sum(version${schema < 4 ? '' : ' - coalesce(c.branch_version, 0)'}), 0)::bigint
            from projects p left join conversations c using (project)
              ${schema < 10 ? '' : 'left join ends z using (project, conversation)'} group by p.id order by p.id`,
          )
    return {
      kind: 'postgres',
      place: place.name,
      server: `PostgreSQL ${row![0]}`,
      schema,
      newestSchema,
      bytes: row![1],
      projects: projects.flatMap(([project, conversations, events]) =>
        copiedName(project) === undefined ? [{ project, conversations, events }] : [],
      ),
      unfinishedCopies: projects.flatMap(([project]) => copiedName(project) || []),
    }
  } catch (error) {
    throw asStoreError(error, place.name)
  } finally {
    await database.close()
  }
}
