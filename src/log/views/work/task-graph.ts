/**
 * The task graph of a feature: which tasks may start, in which order, and what blocks them. Pure.
 *
 * An edge leads from a task to its dependencies. A recorded graph has no cycle and no unknown dependency; these
 * functions check proposed ones.
 */
export interface GraphNode {
  taskId: string
  dependencies: readonly string[]
}

/** Returns the first cycle found, in order: `['a', 'b', 'a']` when a depends on b and b on a. */
export function cycleIn(nodes: readonly GraphNode[]): string[] | undefined {
  const dependencies = new Map(nodes.map(node => [node.taskId, node.dependencies]))
  const finished = new Set<string>()
  for (const { taskId: start } of nodes) {
    // Iterative, because a chain of tasks may be longer than the call stack.
    const path: Array<{ taskId: string; next: number }> = [{ taskId: start, next: 0 }]
    const onPath = new Set([start])
    while (path.length > 0) {
      const at = path.at(-1)!
      const dependency = finished.has(at.taskId) ? undefined : dependencies.get(at.taskId)?.[at.next++]
      if (dependency === undefined) {
        finished.add(at.taskId)
        onPath.delete(at.taskId)
        path.pop()
      } else if (onPath.has(dependency)) {
        const from = path.findIndex(step => step.taskId === dependency)
        return [...path.slice(from).map(step => step.taskId), dependency]
      } else if (!finished.has(dependency)) {
        path.push({ taskId: dependency, next: 0 })
        onPath.add(dependency)
      }
    }
  }
  return undefined
}

/** Dependencies on unknown tasks. */
export function unknownDependencies(nodes: readonly GraphNode[]): Array<{ taskId: string; dependency: string }> {
  const known = new Set(nodes.map(node => node.taskId))
  return nodes.flatMap(({ taskId, dependencies }) =>
    dependencies.filter(id => !known.has(id)).map(dependency => ({ taskId, dependency })),
  )
}

/**
 * Returns the tasks in layers: the first has no dependencies, each next one depends only on earlier layers. Order
 * within a layer is the given one. Tasks that depend on a cycle are in no layer.
 */
export function layersOf<T extends GraphNode>(nodes: readonly T[]): T[][] {
  const known = new Set(nodes.map(node => node.taskId))
  const dependents = dependentsOf(nodes)
  const waitsFor = new Map(
    nodes.map(node => [node.taskId, new Set(node.dependencies.filter(id => known.has(id))).size]),
  )
  const layerOf = new Map<string, number>()
  let layer = nodes.filter(node => waitsFor.get(node.taskId) === 0).map(node => node.taskId)
  for (let number = 0; layer.length > 0; number++) {
    const next: string[] = []
    for (const taskId of layer) {
      layerOf.set(taskId, number)
      for (const dependent of dependents.get(taskId) ?? []) {
        const waitCount = waitsFor.get(dependent)! - 1
        waitsFor.set(dependent, waitCount)
        if (waitCount === 0) next.push(dependent)
      }
    }
    layer = next
  }
  const layers: T[][] = []
  for (const node of nodes) {
    const number = layerOf.get(node.taskId)
    if (number === undefined) continue
    while (layers.length <= number) layers.push([])
    layers[number]!.push(node)
  }
  return layers
}

/** Returns the dependents of each task, in the given order. */
export function dependentsOf(nodes: readonly GraphNode[]): Map<string, string[]> {
  const dependents = new Map<string, string[]>(nodes.map(node => [node.taskId, []]))
  for (const { taskId, dependencies } of nodes) {
    for (const dependency of new Set(dependencies)) dependents.get(dependency)?.push(taskId)
  }
  return dependents
}

interface StatedNode extends GraphNode {
  state: string
}

/** Dependencies that are not merged yet. */
export function openDependencies(task: GraphNode, states: ReadonlyMap<string, string>): string[] {
  return task.dependencies.filter(id => states.get(id) !== 'merged')
}

/** Tasks that may start: in planning, with all dependencies merged. */
export function readyTasks<T extends StatedNode>(nodes: readonly T[]): T[] {
  const states = statesOf(nodes)
  return nodes.filter(node => node.state === 'planning' && openDependencies(node, states).length === 0)
}

export function statesOf(nodes: readonly StatedNode[]): Map<string, string> {
  return new Map(nodes.map(node => [node.taskId, node.state]))
}

/** Summarises the graph in a line or two, for people and models: counts by state, what is next, what waits for what. */
export function dagSummary(nodes: readonly StatedNode[]): string {
  if (nodes.length === 0) return 'No tasks are planned.'
  const counts = new Map<string, number>()
  for (const { state } of nodes) counts.set(state, (counts.get(state) ?? 0) + 1)
  const ready = readyTasks(nodes).map(node => node.taskId)
  const states = statesOf(nodes)
  const waiting = nodes
    .filter(node => node.state === 'planning')
    .flatMap(node => {
      const open = openDependencies(node, states)
      return open.length > 0 ? [`${node.taskId} waits for ${joined(open, ' and ')}`] : []
    })
  return [
    `${nodes.length === 1 ? '1 task' : `${nodes.length} tasks`}: ${[...counts].map(([state, count]) => `${count} ${state}`).join(', ')}.`,
    ready.length > 0 && `Ready: ${joined(ready, ', ')}.`,
    waiting.length > 0 && `${joined(waiting, '; ')}.`,
  ]
    .filter(Boolean)
    .join(' ')
}

const maxNames = 12

function joined(names: readonly string[], separator: string): string {
  const more = names.length - maxNames
  return more > 0 ? `${names.slice(0, maxNames).join(separator)}${separator}${more} more` : names.join(separator)
}
