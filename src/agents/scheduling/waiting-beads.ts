/**
 * Beads that wait for one that is parked are parked, too, and say for which; when that one goes on, so do they. So
 * everything ends done, or parked with a reason, and nothing waits without anybody knowing why.
 */

import type { WorkAccess } from '../../conversation/work/work-access.ts'
import type { WorkManager } from '../../conversation/work/work-manager.ts'
import { MoveRefused } from '../../errors.ts'
import type { BeadWork } from '../../log/views/work/work.ts'
import type { DispatchedItem } from './worker.ts'

interface Known {
  beadId: string
  work: BeadWork
}

interface ParkedWaiting {
  item: DispatchedItem
  title: string
  reason: string
}

export async function settleWaiting(access: WorkAccess, work: WorkManager): Promise<ParkedWaiting[]> {
  const parked = new Map<string, Known>()
  for await (const one of beads(access, ['parked'])) parked.set(one.beadId, one)
  // Those that wait for others are parked as long as one of these is; the rest a person has to look at.
  for (const [beadId, { work: bead }] of [...parked]) {
    if (!waitsFor(bead) || parkedAmong(bead, parked) !== undefined) continue
    parked.delete(beadId)
    await quietly(work.moveBead(beadId, 'open', { from: 'parked', reason: 'what it waited for goes on' }))
  }
  if (parked.size === 0) return []
  const open: Known[] = []
  for await (const one of beads(access, ['open'])) if (one.work.dependencies.length > 0) open.push(one)
  const done: ParkedWaiting[] = []
  for (let isMore = true; isMore; ) {
    isMore = false
    for (const { beadId, work: bead } of open) {
      const id = parked.has(beadId) ? undefined : parkedAmong(bead, parked)
      if (id === undefined) continue
      parked.set(beadId, { beadId, work: bead })
      isMore = true
      const reason = `it waits for bead ${id} (${parked.get(id)!.work.title}), which is parked`
      const moved = await quietly(work.moveBead(beadId, 'parked', { from: 'open', reason, data: { waitsFor: id } }))
      if (moved) done.push({ item: { type: 'bead', beadId }, title: bead.title, reason })
    }
  }
  return done
}

function waitsFor({ move }: BeadWork): boolean {
  return move?.data?.waitsFor !== undefined
}

function parkedAmong({ dependencies }: BeadWork, parked: ReadonlyMap<string, unknown>): string | undefined {
  return dependencies.find(id => parked.has(id))
}

async function* beads(access: WorkAccess, states: readonly string[]): AsyncGenerator<Known> {
  for await (const { info } of access.walk({ type: 'bead', states, status: ['active'] })) {
    if (info.workItem.type === 'bead' && info.work?.type === 'bead')
      yield { beadId: info.workItem.beadId, work: info.work }
  }
}

/** Another process may have been faster. */
async function quietly(moving: Promise<unknown>): Promise<boolean> {
  try {
    await moving
    return true
  } catch (error) {
    if (error instanceof MoveRefused) return false
    throw error
  }
}
