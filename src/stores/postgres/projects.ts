/** The numbers of projects. A project is never removed, so a cached number stays right. */
import { InvalidInput } from '../../errors.ts'
import { idProblem } from '../../log/events/id.ts'
import { Recent } from '../../log/lru.ts'
import type { Database } from './database.ts'

const maxCached = 10_000

export type Projects = ReturnType<typeof projectNumbers>

export function projectNumbers(database: Database) {
  const numbers = new Recent<number>(maxCached)

  async function find(project: string): Promise<number | undefined> {
    const cached = numbers.get(project)
    if (cached !== undefined || idProblem(project)) return cached
    const [row] = await database.read<[number]>('select project from projects where id = $1', [project])
    if (row) numbers.set(project, row[0])
    return row?.[0]
  }

  return {
    find,
    /** The number if it is cached. */
    known: (project: string) => numbers.get(project),
    async ensure(project: string, now: number): Promise<number> {
      const number = await find(project)
      if (number !== undefined) return number
      const problem = idProblem(project)
      if (problem) throw new InvalidInput('project', problem)
      await database.read('insert into projects (id, created_at) values ($1, $2) on conflict do nothing', [
        project,
        now,
      ])
      return (await find(project))!
    },
  }
}
