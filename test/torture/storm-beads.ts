/** Beads for a storm: real ones with their real dependencies, or a graph made from a seed. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ReadBead, readBeads } from '../../src/exchange/formats/beads/index.ts'
import { random } from './random.ts'

export interface StormBead {
  beadId: string
  title: string
  description?: string
  priority: number
  dependencies: string[]
  agent?: string
}

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const recorded = join(dirname(root), 'shared', 'data', 'beads', 'loom-issues.jsonl')

export const recordedBeadsAreThere = existsSync(recorded)

/** Those that depend on others first, with what they depend on; then others until there are enough. In an order in which they can be added. */
export function recordedBeads(count: number): StormBead[] {
  const read = readBeads(readFileSync(recorded, 'utf8')).beads
  const beadsById = new Map(read.map(bead => [bead.beadId, bead]))
  const chosen = new Map<string, StormBead>()
  const add = ({ beadId, title, description, priority = 2, dependencies = [] }: ReadBead): void => {
    if (chosen.has(beadId)) return
    const before = dependencies.flatMap(id => beadsById.get(id) ?? [])
    for (const one of before) add(one)
    chosen.set(beadId, {
      beadId,
      title,
      ...(description && { description: description.slice(0, 4_000) }),
      priority,
      dependencies: before.map(one => one.beadId),
    })
  }
  for (const bead of [...read.filter(one => one.dependencies?.length), ...read]) if (chosen.size < count) add(bead)
  // Dependencies come first, so that any prefix of the list is complete.
  return [...chosen.values()].slice(0, count)
}

export function madeBeads(count: number, seed: number): StormBead[] {
  const choose = random(seed)
  return Array.from({ length: count }, (_, index) => ({
    beadId: `bead-${index}`,
    title: `Bead number ${index}`,
    priority: choose.below(4),
    dependencies: [
      ...new Set(Array.from({ length: Math.min(index, choose.below(3)) }, () => `bead-${choose.below(index)}`)),
    ],
  }))
}
