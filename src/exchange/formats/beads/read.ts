/**
 * Beads' own file, `.beads/issues.jsonl`, as work items: one issue a line. A line that cannot be read is named and hides
 * no other.
 *
 * An issue waits for what blocks it, and one that has children waits for them: an epic is done when they are.
 */
import type { BeadState } from '../../../log/events/work/work.ts'
import { cycleIn, type GraphNode, layersOf } from '../../../log/views/work/task-graph.ts'
import { type BeadsComment, BeadsIssue } from './issue.ts'

/** A bead that is to be. */
export interface ReadBead {
  beadId: string
  title: string
  description?: string
  priority: number
  dependencies: string[]
  agent?: string
  kind?: string
  labels?: string[]
  state: BeadState
  /** Why it stands there. */
  reason?: string
  comments: BeadsComment[]
  /** The rest of the issue as it was. */
  data: Record<string, unknown>
}

export interface ReadBeads {
  /** Each after those it depends on; of those that could come next, the oldest first. */
  beads: ReadBead[]
  /** What was not taken over, and why. */
  problems: Array<{ line?: number; id?: string; problem: string }>
}

/** Dependencies of these kinds keep an issue waiting; the others tell where it comes from or what is like it. */
const blocking: ReadonlySet<string> = new Set(['blocks', 'conditional-blocks', 'waits-for'])

export function readBeads(text: string): ReadBeads {
  const problems: ReadBeads['problems'] = []
  const issues = new Map<string, BeadsIssue>()
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const found = issueIn(line)
    if (found === 'other') continue
    if (typeof found === 'string') problems.push({ line: index + 1, problem: found })
    // As beads does it: the later line is the newer.
    else issues.set(found.id, found)
  }
  const waits = dependenciesOf(issues, problems)
  const nodes = [...issues.values()]
    .sort((a, b) => (a.created_at ?? '').localeCompare(b.created_at ?? ''))
    .map(issue => ({ taskId: issue.id, dependencies: waits.get(issue.id)!, issue }))
  openCycles(nodes, problems)
  const beads = layersOf(nodes)
    .flat()
    .map(({ issue, dependencies }) => beadOf(issue, [...dependencies]))
  return { beads, problems }
}

function issueIn(line: string): BeadsIssue | 'other' | string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'is not JSON'
  }
  // Newer exports have memories and the like between the issues.
  if (typeof value === 'object' && value !== null && '_type' in value && value._type !== 'issue') return 'other'
  const read = BeadsIssue.safeParse(value)
  if (read.success) return read.data
  const { path, message } = read.error.issues[0]!
  return `is no issue: ${path.join('.') || 'line'}: ${message}`
}

function dependenciesOf(
  issues: ReadonlyMap<string, BeadsIssue>,
  problems: ReadBeads['problems'],
): Map<string, string[]> {
  const waits = new Map<string, Set<string>>([...issues.keys()].map(id => [id, new Set()]))
  for (const { id, dependencies } of issues.values()) {
    for (const { issue_id: first, depends_on_id: second, type } of dependencies ?? []) {
      const [waiting, for_] = type === 'parent-child' ? [second, first] : [first, second]
      if (type !== 'parent-child' && !blocking.has(type)) continue
      if (!issues.has(waiting) || !issues.has(for_)) {
        problems.push({ id, problem: `${waiting} waits for ${for_}, and one of them is not in the file` })
      } else waits.get(waiting)!.add(for_)
    }
  }
  return new Map([...waits].map(([id, ids]) => [id, [...ids]]))
}

/** Of a circle the last wait is left out, so that all of them can come to be. */
function openCycles(nodes: Array<GraphNode & { dependencies: readonly string[] }>, problems: ReadBeads['problems']) {
  for (let cycle = cycleIn(nodes); cycle; cycle = cycleIn(nodes)) {
    const [last, first] = cycle.slice(-2) as [string, string]
    const node = nodes.find(one => one.taskId === last)!
    node.dependencies = node.dependencies.filter(id => id !== first)
    problems.push({ id: last, problem: `they wait for each other: ${cycle.join(' → ')}; the last wait was left out` })
  }
}

function beadOf(issue: BeadsIssue, dependencies: string[]): ReadBead {
  const {
    id: beadId,
    title,
    description,
    design,
    acceptance_criteria,
    notes,
    status,
    priority = 2,
    issue_type: kind,
    assignee: agent,
    labels,
    dependencies: _dependencies,
    comments,
    close_reason,
    ...rest
  } = issue
  const parent = issue.dependencies?.find(one => one.type === 'parent-child' && one.issue_id === beadId)
  const whole = [
    description,
    design && `## Design\n${design}`,
    acceptance_criteria && `## Acceptance criteria\n${acceptance_criteria}`,
    notes && `## Notes\n${notes}`,
  ]
    .filter(Boolean)
    .join('\n\n')
  return {
    beadId,
    title,
    ...(whole && { description: whole }),
    priority,
    dependencies,
    ...(agent && { agent }),
    ...(kind && { kind }),
    ...(labels && labels.length > 0 && { labels }),
    ...standingOf(issue, dependencies),
    comments: comments ?? [],
    data: { beads: { status, ...rest }, ...(parent && { parent: parent.depends_on_id }) },
  }
}

/** That one waits for others is no state of ours; one that is blocked by nothing we know waits for somebody. */
function standingOf(
  { status, close_reason, defer_until }: BeadsIssue,
  dependencies: readonly string[],
): Pick<ReadBead, 'state' | 'reason'> {
  switch (status) {
    case 'closed':
    case 'tombstone':
      return { state: 'done', ...(close_reason && { reason: close_reason }) }
    case 'in_progress':
    case 'hooked':
      return { state: 'in_progress' }
    case 'deferred':
      return { state: 'parked', reason: defer_until ? `deferred until ${defer_until}` : 'deferred' }
    case 'blocked':
      return dependencies.length > 0 ? { state: 'open' } : { state: 'parked', reason: 'blocked' }
    default:
      return { state: 'open' }
  }
}
