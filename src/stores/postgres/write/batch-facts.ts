/** Locks the conversations of a batch and reads what its decisions look at, in one round trip. */
import type { Proposal } from '../../../log/event-log.ts'
import { conversationLock, showAppend } from '../advisory-lock.ts'
import type { Run } from '../database.ts'
import { type HeadQuery, type Heads, headQuery, queriedRows, queryJson, readHeads } from '../heads.ts'
import { type Fence, heldLeases } from './leases.ts'

/** The use of an idempotency key. */
export interface UsedKey {
  project: number
  key: string
  digest: string
  conversationId: string
  first: number
  last: number
  sessionId: string | null
}

export interface BatchFacts {
  /** One for each proposal; empty where its project is not there yet. */
  heads: Heads[]
  /** The numbers of projects, by their names. */
  projects: ReadonlyMap<string, number>
  usedKey(project: number, key: string): UsedKey | undefined
  isHeld(project: number, fence: Fence): boolean
}

/** One text per conversation, work item and key; taken in one order by every node. */
const takeLocks = `
  select l.name, pg_advisory_xact_lock(l.lock) from (
    select x.name, hashtextextended(x.name, 0) as lock
    from ${queriedRows} cross join lateral unnest(array[
      $2::text || ' ' || w.number || ' conversation ' || coalesce(c.id, w.named),
      $2::text || ' ' || w.number || ' work ' || w.work,
      $2::text || ' ' || w.number || ' key ' || w.once]) as x(name)
    where x.name is not null
    group by x.name order by lock) l`

/**
 * Reads the facts. They hold until the transaction ends.
 *
 * The locks are taken before the transaction gets its number: of two appends to one conversation the later one has the
 * higher number, and readers go by those.
 *
 * @returns undefined when a conversation was made while its lock was waited for: it is another one than was locked
 */
export async function readFacts(
  run: Run,
  proposals: readonly Proposal[],
  { epoch, projects, leaseTime }: { epoch: string; projects: ReadonlyMap<string, number>; leaseTime: number | null },
): Promise<BatchFacts | undefined> {
  const queries: HeadQuery[] = []
  const queryOf = new Map<Proposal, number>()
  for (const proposal of proposals) {
    const number = projects.get(proposal.project)
    if (number === undefined) continue
    queryOf.set(proposal, queries.length)
    queries.push({ ...headQuery(proposal, number), ...lockedBeside(proposal) })
  }
  const [, locks, heads, usedKeys, held] = await Promise.all([
    showAppend(run),
    run<[string]>(takeLocks, [queryJson(queries), epoch]),
    readHeads(run, queries),
    readKeys(run, proposals, projects),
    heldLeases(run, fencesOf(proposals, projects), leaseTime),
  ])
  const locked = new Set(locks.map(([name]) => name))
  const isLocked = ({ entry }: Heads) => !entry || locked.has(conversationLock(epoch, entry.project, entry.id))
  if (!heads.every(isLocked)) return undefined
  return {
    heads: proposals.map(proposal => heads[queryOf.get(proposal) ?? -1] ?? { entry: undefined, session: undefined }),
    projects,
    usedKey: (project, key) => usedKeys.get(`${project} ${key}`),
    isHeld: (project, { name, generation }) => held.has(`${project} ${generation} ${name}`),
  }
}

/** The id of a conversation that may be made, and the idempotency key: locked with what is there. */
function lockedBeside({ conversation, once }: Proposal): { named: string | null; once: string | null } {
  return { named: conversation === 'of-session' ? null : conversation.id, once: once?.key ?? null }
}

async function readKeys(
  run: Run,
  proposals: readonly Proposal[],
  projects: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, UsedKey>> {
  const keys = proposals.flatMap(({ project, once }) => {
    const number = projects.get(project)
    return once && number !== undefined ? [{ number, key: once.key }] : []
  })
  if (keys.length === 0) return new Map()
  const rows = await run<[number, string, string, string, number, number, string | null]>(
    `select k.project, k.key, k.digest, k.conversation_id, k.first_version, k.last_version, k.session_id
    from unnest($1::bigint[], $2::text[]) as x(project, key) join keys k on k.project = x.project and k.key = x.key`,
    [keys.map(({ number }) => number), keys.map(({ key }) => key)],
  )
  return new Map(
    rows.map(([project, key, digest, conversationId, first, last, sessionId]) => [
      `${project} ${key}`,
      { project, key, digest, conversationId, first, last, sessionId },
    ]),
  )
}

function fencesOf(
  proposals: readonly Proposal[],
  projects: ReadonlyMap<string, number>,
): Array<Fence & { project: number }> {
  return proposals.flatMap(({ project, fence }) => {
    const number = projects.get(project)
    return fence && number !== undefined ? [{ project: number, ...fence }] : []
  })
}
