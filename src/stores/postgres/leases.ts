/**
 * Leases beside the log, so that a fenced append checks its generation in its own transaction. Time is the server's:
 * nodes whose clocks differ agree on who holds what.
 */
import { InvalidInput, LeaseHeld, LeaseLost } from '../../errors.ts'
import { idProblem } from '../../log/events/id.ts'
import { furthestTime } from '../../log/events/time.ts'
import { checkLeaseTime, type Lease, type Leases } from '../../log/leases.ts'
import { isoTime } from '../../log/time.ts'
import type { Database } from './database.ts'
import type { Projects } from './projects.ts'

type LeaseRow = [holder: string, generation: number, expiresAt: number]

/** `null` stands for the server's own time. */
const time = (parameter: string) =>
  `coalesce(${parameter}::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)`

/** One that says it ends later than a date can be was written before leases were bounded: nobody holds it. */
const isFree = (now: string) => `(leases.expires_at <= ${time(now)} or leases.expires_at > ${furthestTime})`

export function leaseKeeper({
  database,
  projects,
  clock,
  leaseClock,
}: {
  database: Database
  projects: Projects
  clock: () => number
  leaseClock: () => number | null
}) {
  const sql = {
    find: `select holder, generation, expires_at from leases
      where project = $1 and name = $2 and not ${isFree('$3')}`,
    claim: `insert into leases (project, name, holder, generation, expires_at)
      values ($1, $2, $3, 1, ${time('$4')} + $5::bigint)
      on conflict (project, name) do update
      set holder = excluded.holder, generation = leases.generation + 1, expires_at = excluded.expires_at
      where ${isFree('$4')} or leases.holder = excluded.holder
      returning holder, generation, expires_at`,
    // A lease that was never taken needs a row to be locked by.
    prepare: `insert into leases (project, name, holder, generation, expires_at)
      select $1, name, $3, 0, 0 from unnest($2::text[]) as name on conflict do nothing`,
    // Whom somebody else is about to take is skipped, not waited for.
    claimAny: `update leases
      set holder = $3, generation = generation + 1, expires_at = ${time('$4')} + $5::bigint
      where project = $1 and name = (
        select name from leases
        where project = $1 and name = any($2::text[]) and ${isFree('$4')}
        order by array_position($2::text[], name) limit 1
        for update skip locked)
      returning name, holder, generation, expires_at`,
    renew: `update leases set expires_at = ${time('$4')} + $5::bigint
      where project = $1 and name = $2 and generation = $3 and not ${isFree('$4')}
      returning holder, generation, expires_at`,
    // The row stays, so that the generation goes on growing.
    release: 'update leases set expires_at = 0 where project = $1 and name = $2 and generation = $3',
  }

  async function find(project: number | undefined, name: string): Promise<LeaseRow | undefined> {
    if (project === undefined || idProblem(name)) return undefined
    const [row] = await database.read<LeaseRow>(sql.find, [project, name, leaseClock()])
    return row
  }

  const leases: Leases = {
    async claim({ project, name, holder, forMs }) {
      checkLeaseTime(forMs)
      for (const [field, value] of Object.entries({ project, name, holder })) {
        const problem = idProblem(value)
        if (problem) throw new InvalidInput(field, problem)
      }
      const number = await projects.ensure(project, clock())
      for (;;) {
        // Repeated after a lost connection it takes the same lease again: the earlier claim is fenced off, nobody else.
        const [taken] = await database.read<LeaseRow>(sql.claim, [number, name, holder, leaseClock(), forMs])
        if (taken) return leaseOf(name, taken)
        const held = await find(number, name)
        if (held) throw new LeaseHeld({ name, holder: held[0], expiresAt: isoTime(held[2]) })
      }
    },

    async claimAny({ project, names, holder, forMs }) {
      checkLeaseTime(forMs)
      for (const value of [project, holder, ...names]) {
        const problem = idProblem(value)
        if (problem) throw new InvalidInput('name', problem)
      }
      if (names.length === 0) return undefined
      const number = await projects.ensure(project, clock())
      await database.read(sql.prepare, [number, [...names], holder])
      // Repeated after a lost connection it may take another one: the first is free again when its time is over.
      const [taken] = await database.read<[name: string, ...LeaseRow]>(sql.claimAny, [
        number,
        [...names],
        holder,
        leaseClock(),
        forMs,
      ])
      if (!taken) return undefined
      const [name, ...row] = taken
      return leaseOf(name, row)
    },

    async renew({ project, name, generation, forMs }) {
      checkLeaseTime(forMs)
      const number = idProblem(name) ? undefined : await projects.find(project)
      const [row] =
        number === undefined
          ? []
          : await database.read<LeaseRow>(sql.renew, [number, name, generation, leaseClock(), forMs])
      if (!row) throw new LeaseLost({ name, generation })
      return leaseOf(name, row)
    },

    async release({ project, name, generation }) {
      const number = idProblem(name) ? undefined : await projects.find(project)
      if (number !== undefined) await database.read(sql.release, [number, name, generation])
    },

    async holderOf({ project, name }) {
      const row = await find(await projects.find(project), name)
      return row && leaseOf(name, row)
    },
  }

  return {
    leases,
    async isHeld(project: number, { name, generation }: { name: string; generation: number }): Promise<boolean> {
      return (await find(project, name))?.[1] === generation
    },
  }
}

function leaseOf(name: string, [holder, generation, expiresAt]: LeaseRow): Lease {
  return { name, holder, generation, expiresAt: isoTime(expiresAt) }
}
