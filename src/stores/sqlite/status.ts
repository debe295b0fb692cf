/** What there is at a path, without changing it: schema, size, projects. */
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { StoreStatus } from '../../log/status.ts'
import { copiedName } from '../../log/upkeep/copy.ts'
import { openDatabase } from './database.ts'
import { asStoreError } from './errors.ts'
import { newestSchema, refuseForeign } from './migrate.ts'

/** @throws {StoreUnusable} when there is no store, or it is somebody else's or a newer program's */
export async function sqliteStatus(path: string): Promise<StoreStatus> {
  const file = resolve(path)
  const database = openDatabase({ path: file, durability: 'full', readOnly: true, busyTimeoutMs: 10_000 })
  try {
    const schema = refuseForeign(database)
    const rows = database
      .prepare(`
        with counted as (
          select c.project, count(*) as events from events e cross join conversations c using (conversation)
          group by c.project)
        select p.id, (select count(*) from conversations where project = p.project),
          coalesce((select events from counted where project = p.project), 0)
        from projects p order by p.id`)
      .all() as Array<[string, number, number]>
    const [[version]] = database.prepare('select sqlite_version()').all() as [[string]]
    const parts = [file, `${file}-wal`, `${file}-search`].filter(existsSync)
    return {
      kind: 'sqlite',
      place: file,
      server: `SQLite ${version}`,
      schema,
      newestSchema,
      bytes: parts.reduce((sum, part) => sum + statSync(part).size, 0),
      projects: rows.flatMap(([project, conversations, events]) =>
        copiedName(project) === undefined ? [{ project, conversations, events }] : [],
      ),
      unfinishedCopies: rows.flatMap(([project]) => copiedName(project) || []),
    }
  } catch (error) {
    throw asStoreError(error, file)
  } finally {
    database.close()
  }
}
