/** The maintenance sweep: marks sessions that expired, looks after teams, archives what is due. Deletes nothing. */

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
  /** Another process is at it. */
  skipped: boolean
}

const lease = { name: 'maintenance', forMs: 5 * 60_000 }
const batchSize = 100

const nothing: Swept = { expired: 0, archived: 0, ...nothingLookedAfter, skipped: true }

interface SweepInput {
  archive: ArchiveSettings
  team: Team
}

export async function sweep(engine: Engine, scope: Scope, input: SweepInput): Promise<Swept> {
  const { store, newId } = engine
  if (!store.alone) return sweepAs(newId(), engine, scope, input)
  // Who is alone takes over from whoever was before: by the same name, so that it need not wait for the lease, and with a
  // new generation, so that the other, should it still be there, cannot write.
  return (await store.alone(scope.project, lease.name, () => sweepAs(lease.name, engine, scope, input))) ?? nothing
}

async function sweepAs(holder: string, engine: Engine, scope: Scope, { archive, team }: SweepInput): Promise<Swept> {
  const { store } = engine
  const { project } = scope
  const held = await store.claim({ project, holder, ...lease }).catch(error => {
    if (error instanceof LeaseHeld) return undefined
    throw error
  })
  if (!held) return nothing
  const fence = { name: held.name, generation: held.generation }
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
    const done = await allDone(
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
    const expired = done.filter(appended => appended.events.length > 0).length
    count += expired
    // What was refused would be found again and again.
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
    const done = await allDone(
      items.map(({ info: { id } }) =>
        engine.execute(scope, {
          conversation: { id },
          decide: archiveIfDue(id, due),
          options: { fence },
          asked: [],
        }),
      ),
    )
    for (const { events } of done) count += events.length
    if (next === undefined) return count
    cursor = next
    await engine.store.renew({ project: scope.project, ...fence, forMs: lease.forMs })
  }
}

/** What could be done of them: one that was closed, purged or damaged meanwhile must not keep the others from it. */
async function allDone(tries: ReadonlyArray<Promise<Appended>>): Promise<Appended[]> {
  const done: Appended[] = []
  for (const one of await Promise.allSettled(tries)) {
    if (one.status === 'fulfilled') done.push(one.value)
    else if (!isOnlyOfOne(one.reason)) throw one.reason
  }
  return done
}
