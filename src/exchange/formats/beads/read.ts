/**
 * Reads `.beads/issues.jsonl`, one issue a line, as work items. An unreadable line is reported and hides no other.
 *
 * An issue waits for the issues that block it, and a parent for its children: an epic is done when they are.
 */
import type { BeadState } from '../../../log/events/work/work.ts'
import { cycleIn, type GraphNode, layersOf } from '../../../log/views/work/task-graph.ts'
import { type BeadsComment, BeadsIssue } from './issue.ts'

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
  /** Reason of the state. */
  reason?: string
  comments: BeadsComment[]
  /** The other fields of the issue. */
  data: Record<string, unknown>
}

export interface ReadBeads {
  /** Each after its dependencies, otherwise oldest first. */
  beads: ReadBead[]
  /** Problems with lines and issues that were left out or changed. */
  problems: Array<{ line?: number; id?: string; problem: string }>
}

/** Kinds of dependencies that an issue waits for. Others only relate issues. */
const blocking: ReadonlySet<string> = new Set(['blocks', 'conditional-blocks', 'waits-for'])

export function readBeads(text: string): ReadBeads {
  const problems: ReadBeads['problems'] = []
  const issues = new Map<string, BeadsIssue>()
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const issue = parseLine(line)
    if (issue === 'other') continue
    if (typeof issue === 'string') problems.push({ line: index + 1, problem: issue })
    // A later line replaces an earlier one, as in beads.
    else issues.set(issue.id, issue)
  }
  const waits = dependenciesOf(issues, problems)
  const nodes = [...issues.values()]
    .sort((a, b) => (a.created_at ?? '').localeCompare(b.created_at ?? ''))
    .map(issue => ({ taskId: issue.id, dependencies: waits.get(issue.id)!, issue }))
  breakCycles(nodes, problems)
  const beads = layersOf(nodes)
    .flat()
    .map(({ issue, dependencies }) => beadOf(issue, [...dependencies]))
  return { beads, problems }
}

function parseLine(line: string): BeadsIssue | 'other' | string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'is not JSON'
  }
  // Newer exports contain other records, such as memories.
  if (typeof value === 'object' && value !== null && '_type' in value && value._type !== 'issue') return 'other'
  const parsed = BeadsIssue.safeParse(value)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  return `is not an issue: ${path.join('.') || 'line'}: ${message}`
}

function dependenciesOf(
  issues: ReadonlyMap<string, BeadsIssue>,
  problems: ReadBeads['problems'],
): Map<string, string[]> {
  const waits = new Map<string, Set<string>>([...issues.keys()].map(id => [id, new Set()]))
  for (const { id, dependencies } of issues.values()) {
    for (const { issue_id: first, depends_on_id: second, type } of dependencies ?? []) {
      const [waiting, awaited] = type === 'parent-child' ? [second, first] : [first, second]
      if (type !== 'parent-child' && !blocking.has(type)) continue
      if (!issues.has(waiting) || !issues.has(awaited)) {
        problems.push({ id, problem: `${waiting} waits for ${awaited}, and one of them is not in the file` })
      } else waits.get(waiting)!.add(awaited)
    }
  }
  return new Map([...waits].map(([id, ids]) => [id, [...ids]]))
}

/** Drops the last dependency of each cycle, so that all beads can be added. */
function breakCycles(nodes: Array<GraphNode & { dependencies: readonly string[] }>, problems: ReadBeads['problems']) {
  for (let cycle = cycleIn(nodes); cycle; cycle = cycleIn(nodes)) {
    const [last, first] = cycle.slice(-2) as [string, string]
    const node = nodes.find(({ taskId }) => taskId === last)!
    node.dependencies = node.dependencies.filter(id => id !== first)
    problems.push({
      id: last,
      problem: `they wait for each other: ${cycle.join(' → ')}; the last dependency was dropped`,
    })
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
  const parent = issue.dependencies?.find(({ type, issue_id }) => type === 'parent-child' && issue_id === beadId)
  const fullDescription = [
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
    ...(fullDescription && { description: fullDescription }),
    priority,
    dependencies,
    ...(agent && { agent }),
    ...(kind && { kind }),
    ...(labels && labels.length > 0 && { labels }),
    ...stateOf(issue, dependencies),
    comments: comments ?? [],
    data: { beads: { status, ...rest }, ...(parent && { parent: parent.depends_on_id }) },
  }
}

/** A blocked issue with dependencies is open, because it waits for them; one without is parked. */
function stateOf(
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
