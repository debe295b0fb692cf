/** The maintenance sweep: expires sessions, ends crashed executions and turns, archives conversations. Deletes nothing. */

import type { ArchiveSettings } from '../conversation/access/settings.ts'
import {
  isOnlyOfOne,
  type LookedAfter,
  lookAfter,
  nothingLookedAfter,
} from '../conversation/turns/due-conversations.ts'
import type { Team } from '../conversation/turns/team-parts.ts'
import { LeaseHeld } from '../errors.ts'
import { archiveIfDue } from '../log/commands/conversation.ts'
import { expireIfDue } from '../log/commands/session.ts'
import type { Engine, Scope } from '../log/engine.ts'
import type { Appended } from '../log/event-log.ts'

export interface Swept extends LookedAfter {
  expired: number
  archived: number
  /** True when another process sweeps. */
  skipped: boolean
}

const lease = { name: 'maintenance', forMs: 5 * 60_000 }
const batchSize = 100

const skippedSweep: Swept = { expired: 0, archived: 0, ...nothingLookedAfter, skipped: true }

interface SweepInput {
  archive: ArchiveSettings
  team: Team
}

export async function sweep(engine: Engine, scope: Scope, input: SweepInput): Promise<Swept> {
  const { store, newId } = engine
  if (!store.alone) return sweepAs(newId(), engine, scope, input)
  // The only process takes over the lease of a crashed one: the same holder name, so that it need not wait, and a new
  // generation, so that the other cannot write if it is still alive.
  return (await store.alone(scope.project, lease.name, () => sweepAs(lease.name, engine, scope, input))) ?? skippedSweep
}

async function sweepAs(holder: string, engine: Engine, scope: Scope, { archive, team }: SweepInput): Promise<Swept> {
  const { store } = engine
  const { project } = scope
  const claim = await store.claim({ project, holder, ...lease }).catch(error => {
    if (error instanceof LeaseHeld) return undefined
    throw error
  })
  if (!claim) return skippedSweep
  const fence = { name: claim.name, generation: claim.generation }
  try {
    const expired = await expireSessions(engine, scope, fence)
    const onPage = () => store.renew({ project, ...fence, forMs: lease.forMs })
    const lookedAfter = await lookAfter(engine, scope, team, { options: { fence }, onPage })
    const archived = await archiveConversations(engine, scope, archive, fence)
    return { expired, archived, ...lookedAfter, skipped: false }
  } finally {
    await store.release({ project, ...fence })
  }
}

type Fence = { name: string; generation: number }

async function expireSessions(engine: Engine, scope: Scope, fence: Fence): Promise<number> {
  let count = 0
  for (;;) {
    const due = await engine.store.expiring(scope.project, engine.clock(), batchSize)
    const writes = await successfulWrites(
      due.map(({ id, conversationId }) =>
        engine.execute(scope, {
          conversation: { id: conversationId },
          session: { id },
          decide: expireIfDue,
          options: { fence },
          asked: [],
        }),
      ),
    )
    const expired = writes.filter(appended => appended.events.length > 0).length
    count += expired
    // Refused sessions would be listed again, without end.
    if (expired === 0) return count
    await engine.store.renew({ project: scope.project, ...fence, forMs: lease.forMs })
  }
}

async function archiveConversations(
  engine: Engine,
  scope: Scope,
  archive: ArchiveSettings,
  fence: Fence,
): Promise<number> {
  const now = engine.clock()
  const due = {
    completed: archive.onCompletion,
    ...(archive.afterMs !== null && { createdBefore: now - archive.afterMs }),
    ...(archive.inactiveForMs !== null && { inactiveSince: now - archive.inactiveForMs }),
  }
  let count = 0
  let cursor: string | undefined
  for (;;) {
    const page = { limit: batchSize, ...(cursor !== undefined && { cursor }) }
    const { items, next } = await engine.store.archivable(scope.project, due, page)
    const writes = await successfulWrites(
      items.map(({ info: { id } }) =>
        engine.execute(scope, {
          conversation: { id },
          decide: archiveIfDue(id, due),
          options: { fence },
          asked: [],
        }),
      ),
    )
    for (const { events } of writes) count += events.length
    if (next === undefined) return count
    cursor = next
    await engine.store.renew({ project: scope.project, ...fence, forMs: lease.forMs })
  }
}

/** Skips items that were closed, purged or damaged in the meantime, so that the others are still written. */
async function successfulWrites(writes: ReadonlyArray<Promise<Appended>>): Promise<Appended[]> {
  const successes: Appended[] = []
  for (const result of await Promise.allSettled(writes)) {
    if (result.status === 'fulfilled') successes.push(result.value)
    else if (!isOnlyOfOne(result.reason)) throw result.reason
  }
  return successes
}
