/**
 * The numbers of projects. A project that holds anything is never removed, so a number once known is good for long; only
 * an empty one can give way to a copy, and so they are looked at again now and then, beside the work.
 */
import { InvalidInput } from '../../errors.ts'
import { idProblem } from '../../log/events/id.ts'
import { Recent } from '../../log/lru.ts'
import type { Database } from './database.ts'

const kept = 10_000
const lookAgainMs = 5_000

export type Projects = ReturnType<typeof projectNumbers>

export function projectNumbers(database: Database) {
  const numbers = new Recent<{ number: number; lookedAt: number }>(kept)

  async function look(project: string): Promise<number | undefined> {
    const [found] = await database.read<[number]>('select project from projects where id = $1', [project])
    if (found) numbers.set(project, { number: found[0], lookedAt: performance.now() })
    else numbers.delete(project)
    return found?.[0]
  }

  function known(project: string): number | undefined {
    const one = numbers.get(project)
    if (one && performance.now() - one.lookedAt > lookAgainMs) {
      one.lookedAt = performance.now()
      // Not being told is as good as being told the same.
      look(project).catch(() => undefined)
    }
    return one?.number
  }

  async function find(project: string): Promise<number | undefined> {
    const number = known(project)
    if (number !== undefined || idProblem(project)) return number
    return look(project)
  }

  return {
    find,
    /** The number if it is known here already. */
    known,
    forget: (project: string) => numbers.delete(project),
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
