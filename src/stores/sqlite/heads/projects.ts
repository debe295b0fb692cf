/** The numbers of projects. */
import { idProblem } from '../../../log/events/id.ts'
import type { Database } from '../database.ts'
import type { HeadCache } from './head-cache.ts'

export function projectRows(database: Database, cache: HeadCache) {
  const sql = {
    find: database.prepare('select project from projects where id = ?'),
    insert: database.prepare('insert into projects (id, created_at) values (?, ?)'),
  }

  function projectRow(project: string): number | undefined {
    const cached = cache.projects.get(project)
    if (cached !== undefined || idProblem(project)) return cached
    const [row] = (sql.find.get(project) as [number] | undefined) ?? []
    if (row !== undefined) cache.projects.set(project, row)
    return row
  }

  function ensureProject(project: string, now: number): number {
    const existing = projectRow(project)
    if (existing !== undefined) return existing
    const row = Number(sql.insert.run(project, now).lastInsertRowid)
    cache.projects.set(project, row)
    return row
  }

  return { projectRow, ensureProject }
}
