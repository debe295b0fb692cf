/** Beads for a storm: real ones with their real dependencies, or a graph made from a seed. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
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

interface Issue {
  id: string
  title: string
  description?: string
  priority: number
  dependencies?: Array<{ depends_on_id: string }>
}

/** Those that depend on others first, with what they depend on; then others until there are enough. In an order in which they can be added. */
export function recordedBeads(count: number): StormBead[] {
  const lines = readFileSync(recorded, 'utf8').split('\n').filter(Boolean)
  const issues = new Map(lines.map(line => JSON.parse(line) as Issue).map(issue => [issue.id, issue]))
  const chosen = new Map<string, StormBead>()
  const path = new Set<string>()
  const add = (issue: Issue): void => {
    if (chosen.has(issue.id) || path.has(issue.id)) return
    path.add(issue.id)
    const before = (issue.dependencies ?? []).flatMap(one => issues.get(one.depends_on_id) ?? [])
    for (const one of before) add(one)
    path.delete(issue.id)
    chosen.set(issue.id, {
      beadId: issue.id,
      title: issue.title,
      ...(issue.description && { description: issue.description.slice(0, 4_000) }),
      priority: issue.priority,
      dependencies: before.map(one => one.id).filter(id => chosen.has(id)),
    })
  }
  const all = [...issues.values()]
  for (const issue of [...all.filter(one => one.dependencies?.length), ...all]) if (chosen.size < count) add(issue)
  return [...chosen.values()]
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
