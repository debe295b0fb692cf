/** Leases in the same file as the log, so that a fenced append checks its generation in its own transaction. */
import { InvalidInput, LeaseHeld, LeaseLost } from '../../../errors.ts'
import { idProblem } from '../../../log/events/id.ts'
import { furthestTime } from '../../../log/events/time.ts'
import { checkLeaseTime, type Lease, type Leases } from '../../../log/leases.ts'
import { isoTime } from '../../../log/time.ts'
import type { Access } from '../access.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'

type LeaseRow = [holder: string, generation: number, expiresAt: number]

export type LeaseKeeper = ReturnType<typeof leaseKeeper>

export type CheckFence = (project: number | undefined, fence: { name: string; generation: number }) => void

export function leaseKeeper({ database, heads, clock }: { database: Database; heads: HeadStore; clock: () => number }) {
  const sql = {
    // A lease whose recorded end is later than any date is free, in place of held for good.
    find: database.prepare(`
      select holder, generation, iif(expires_at > ${furthestTime}, 0, expires_at) from leases
      where project = ? and name = ?`),
    put: database.prepare(`
      insert into leases (project, name, holder, generation, expires_at) values (?, ?, ?, ?, ?)
      on conflict (project, name) do update
      set holder = excluded.holder, generation = excluded.generation, expires_at = excluded.expires_at`),
    extend: database.prepare('update leases set expires_at = ? where project = ? and name = ?'),
  }

  const find = (project: number | undefined, name: string) =>
    project === undefined || idProblem(name) ? undefined : (sql.find.get(project, name) as LeaseRow | undefined)

  const checkFence: CheckFence = (project, { name, generation }) => {
    const row = find(project, name)
    if (!row || row[1] !== generation || row[2] <= clock()) throw new LeaseLost({ name, generation })
  }

  function leases({ reading, writing }: Access): Leases {
    return {
      claim: ({ project, name, holder, forMs }) =>
        writing(() => {
          checkLeaseTime(forMs)
          for (const [field, value] of Object.entries({ project, name, holder })) {
            const problem = idProblem(value)
            if (problem) throw new InvalidInput(field, problem)
          }
          const now = clock()
          const row = find(heads.projectRow(project), name)
          if (row && row[2] > now && row[0] !== holder) {
            throw new LeaseHeld({ name, holder: row[0], expiresAt: isoTime(row[2]) })
          }
          const generation = (row?.[1] ?? 0) + 1
          sql.put.run(heads.ensureProject(project, now), name, holder, generation, now + forMs)
          return leaseOf(name, [holder, generation, now + forMs])
        }),

      claimAny: ({ project, names, holder, forMs }) =>
        writing(() => {
          checkLeaseTime(forMs)
          for (const value of [project, holder, ...names]) {
            const problem = idProblem(value)
            if (problem) throw new InvalidInput('name', problem)
          }
          const now = clock()
          const projectRow = heads.projectRow(project)
          for (const name of names) {
            const row = find(projectRow, name)
            if (row && row[2] > now) continue
            const generation = (row?.[1] ?? 0) + 1
            sql.put.run(heads.ensureProject(project, now), name, holder, generation, now + forMs)
            return leaseOf(name, [holder, generation, now + forMs])
          }
          return undefined
        }),

      renew: ({ project, name, generation, forMs }) =>
        writing(() => {
          checkLeaseTime(forMs)
          const projectRow = heads.projectRow(project)
          checkFence(projectRow, { name, generation })
          const expiresAt = clock() + forMs
          sql.extend.run(expiresAt, projectRow!, name)
          return leaseOf(name, [find(projectRow, name)![0], generation, expiresAt])
        }),

      // The row stays, so that the generation goes on growing.
      release: ({ project, name, generation }) =>
        writing(() => {
          const projectRow = heads.projectRow(project)
          if (find(projectRow, name)?.[1] === generation) sql.extend.run(0, projectRow!, name)
        }),

      holderOf: ({ project, name }) =>
        reading(() => {
          const row = find(heads.projectRow(project), name)
          return row && row[2] > clock() ? leaseOf(name, row) : undefined
        }),
    }
  }

  return { leases, checkFence }
}

function leaseOf(name: string, [holder, generation, expiresAt]: LeaseRow): Lease {
  return { name, holder, generation, expiresAt: isoTime(expiresAt) }
}
