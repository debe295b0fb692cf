/**
 * Parks beads that wait for a parked bead, with the reason, and reopens them when that one continues. So every bead ends
 * done or parked with a reason.
 */

import type { WorkAccess } from '../../conversation/work/work-access.ts'
import type { WorkManager } from '../../conversation/work/work-manager.ts'
import { MoveRefused } from '../../errors.ts'
import type { BeadWork } from '../../log/views/work/work.ts'
import type { DispatchedItem } from './worker.ts'

interface BeadEntry {
  beadId: string
  work: BeadWork
}

interface ParkedWaiting {
  item: DispatchedItem
  title: string
  reason: string
}

export async function settleWaiting(access: WorkAccess, work: WorkManager): Promise<ParkedWaiting[]> {
  const parked = new Map<string, BeadEntry>()
  for await (const bead of beads(access, ['parked'])) parked.set(bead.beadId, bead)
  // Only beads that were parked for another one are reopened. A person decides about the others.
  for (const [beadId, { work: bead }] of [...parked]) {
    if (!waitsFor(bead) || parkedAmong(bead, parked) !== undefined) continue
    parked.delete(beadId)
    await succeeds(work.moveBead(beadId, 'open', { from: 'parked', reason: 'the bead it waited for continues' }))
  }
  if (parked.size === 0) return []
  const open: BeadEntry[] = []
  for await (const bead of beads(access, ['open'])) if (bead.work.dependencies.length > 0) open.push(bead)
  const newlyParked: ParkedWaiting[] = []
  // A bead parked in one pass may make others wait, so passes repeat until one parks nothing.
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false
    for (const { beadId, work: bead } of open) {
      const id = parked.has(beadId) ? undefined : parkedAmong(bead, parked)
      if (id === undefined) continue
      parked.set(beadId, { beadId, work: bead })
      hasChanged = true
      const reason = `it waits for bead ${id} (${parked.get(id)!.work.title}), which is parked`
      const isMoved = await succeeds(work.moveBead(beadId, 'parked', { from: 'open', reason, data: { waitsFor: id } }))
      if (isMoved) newlyParked.push({ item: { type: 'bead', beadId }, title: bead.title, reason })
    }
  }
  return newlyParked
}

function waitsFor({ move }: BeadWork): boolean {
  return move?.data?.waitsFor !== undefined
}

function parkedAmong({ dependencies }: BeadWork, parked: ReadonlyMap<string, unknown>): string | undefined {
  return dependencies.find(id => parked.has(id))
}

async function* beads(access: WorkAccess, states: readonly string[]): AsyncGenerator<BeadEntry> {
  for await (const { info } of access.walk({ type: 'bead', states, status: ['active'] })) {
    if (info.workItem.type === 'bead' && info.work?.type === 'bead')
      yield { beadId: info.workItem.beadId, work: info.work }
  }
}

/** Returns false when another process moved the bead first. */
async function succeeds(move: Promise<unknown>): Promise<boolean> {
  try {
    await move
    return true
  } catch (error) {
    if (error instanceof MoveRefused) return false
    throw error
  }
}
