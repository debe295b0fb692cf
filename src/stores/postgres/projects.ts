/** The numbers of projects. A project is never removed, so a number once known is known for good. */
import { InvalidInput } from '../../errors.ts'
import { idProblem } from '../../events/id.ts'
import { Recent } from '../../log/recent.ts'
import type { Database } from './database.ts'

const kept = 10_000

export type Projects = ReturnType<typeof projectNumbers>

export function projectNumbers(database: Database) {
  const numbers = new Recent<number>(kept)

  async function find(project: string): Promise<number | undefined> {
    const known = numbers.get(project)
    if (known !== undefined) return known
    if (idProblem(project)) return undefined
    const [found] = await database.read<[number]>('select project from projects where id = $1', [project])
    if (found) numbers.set(project, found[0])
    return found?.[0]
  }

  return {
    find,
    /** The number if it is known here already. */
    known: (project: string) => numbers.get(project),
    async ensure(project: string, now: number): Promise<number> {
      const known = await find(project)
      if (known !== undefined) return known
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
