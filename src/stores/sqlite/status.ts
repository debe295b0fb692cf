/** The state of a store: its schema, size and projects. */
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { StoreStatus } from '../../log/status.ts'
import { type Database, openDatabase } from './database.ts'
import { asStoreError } from './errors.ts'
import { readSchemaNumber } from './open-schema.ts'
import { schemaNumber } from './schema.ts'

type ProjectRow = [project: string, conversations: number, events: number]

/**
 * Changes nothing. A store of another schema is told by its number; its projects are not counted.
 *
 * @throws {StoreUnusable} when there is no store, or the file is another program's
 */
export async function sqliteStatus(path: string): Promise<StoreStatus> {
  const file = resolve(path)
  const database = openDatabase({ path: file, durability: 'full', readOnly: true, busyTimeoutMs: 10_000 })
  try {
    const schema = readSchemaNumber(database)
    const projects = schema === schemaNumber ? projectsIn(database) : []
    const [version] = database.prepare('select sqlite_version()').get() as [string]
    const parts = [file, `${file}-wal`, `${file}-search`].filter(existsSync)
    return {
      kind: 'sqlite',
      place: file,
      server: `SQLite ${version}`,
      schema,
      newestSchema: schemaNumber,
      bytes: parts.reduce((sum, part) => sum + statSync(part).size, 0),
      projects: projects.map(([project, conversations, events]) => ({ project, conversations, events })),
    }
  } catch (error) {
    throw asStoreError(error, file)
  } finally {
    database.close()
  }
}

function projectsIn(database: Database): ProjectRow[] {
  return database
    .prepare(`
      with counted as (
        select c.project, count(*) as events from events e cross join conversations c using (conversation)
        group by c.project)
      select p.id, (select count(*) from conversations where project = p.project),
        coalesce((select events from counted where project = p.project), 0)
      from projects p order by p.id`)
    .all() as ProjectRow[]
}
