/** Leases of dispatching: one per item, and numbered ones for the slots of a project and of its models. */
import { createHash } from 'node:crypto'
import type { KeptLease } from '../../conversation/access/renewed-lease.ts'
import { ModelMissing } from '../../errors.ts'
import { type WorkItem, workItemKey } from '../../log/events/work-item.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import type { DispatchSettings } from './dispatch-settings.ts'

/** Contains a digest, because an item's id may be as long as a lease's name may be. */
export function itemLease(item: WorkItem): string {
  return `work ${digestOf(workItemKey(item))}`
}

/** Returns the leases of the slots an agent needs: one of each list. */
export async function slotNames(
  agents: AgentManager,
  { perProject, perModel }: DispatchSettings,
  agent: string,
): Promise<string[][]> {
  const slots: string[][] = []
  if (perProject !== null) slots.push(numbered('dispatch slot', perProject))
  const model = await agents.model(agent).catch(error => {
    // The worker reports the missing model.
    if (error instanceof ModelMissing) return undefined
    throw error
  })
  const maxCalls = model && perModel[model.name]
  if (maxCalls !== undefined) slots.push(numbered(`dispatch model ${digestOf(model!.name)}`, maxCalls))
  return slots
}

/** Claims one lease of each list, or none. */
export async function reserveSlots(
  slots: readonly string[][],
  claim: (names: readonly string[]) => Promise<KeptLease | undefined>,
): Promise<{ release(): Promise<void> } | undefined> {
  const leases: KeptLease[] = []
  const release = async () => {
    await Promise.allSettled(leases.map(lease => lease.release()))
  }
  for (const names of slots) {
    const lease = await claim(names)
    if (!lease) {
      await release()
      return undefined
    }
    leases.push(lease)
  }
  return { release }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name} ${index + 1}`)
}
