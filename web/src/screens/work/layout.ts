/**
 * Lays out a task graph: layers from left to right, so that each task is right of its dependencies. Pure and
 * deterministic.
 *
 * An edge that crosses a layer gets a position in it like a task, so that edges run between tasks.
 */

export const node = { width: 162, height: 54 } as const
const gap = { x: 32, y: 14 } as const
/** Height of an edge that crosses a layer. */
const laneHeight = 14
const sweeps = 6

interface GraphTask {
  taskId: string
  dependencies: readonly string[]
}

interface Placed {
  taskId: string
  x: number
  y: number
}

interface Edge {
  from: string
  to: string
  /** SVG path. */
  path: string
}

interface Layout {
  width: number
  height: number
  nodes: Placed[]
  edges: Edge[]
}

interface Spot {
  /** The task, or undefined for a crossing edge. */
  taskId: string | undefined
  layer: number
  order: number
  y: number
  before: Spot[]
  after: Spot[]
}

export function layOut(tasks: readonly GraphTask[]): Layout {
  const known = new Set(tasks.map(({ taskId }) => taskId))
  const dependencies = new Map(
    tasks.map(({ taskId, dependencies }) => [taskId, [...new Set(dependencies)].filter(one => known.has(one))]),
  )
  const layerOf = layersOf(dependencies)
  const spots = new Map<string, Spot>()
  const layers: Spot[][] = []
  const add = (layer: number, taskId?: string): Spot => {
    layers[layer] ??= []
    const spot: Spot = { taskId, layer, order: layers[layer].length, y: 0, before: [], after: [] }
    layers[layer].push(spot)
    if (taskId !== undefined) spots.set(taskId, spot)
    return spot
  }
  for (const { taskId } of tasks) add(layerOf.get(taskId)!, taskId)
  const routes: Array<{ from: string; to: string; spots: Spot[] }> = []
  for (const [to, needed] of dependencies) {
    for (const from of needed) {
      const route = [spots.get(from)!]
      for (let layer = layerOf.get(from)! + 1; layer < layerOf.get(to)!; layer++) route.push(add(layer))
      route.push(spots.get(to)!)
      for (const [index, spot] of route.slice(1).entries()) {
        spot.before.push(route[index]!)
        route[index]!.after.push(spot)
      }
      routes.push({ from, to, spots: route })
    }
  }
  for (let sweep = 0; sweep < sweeps; sweep++) arrange(layers, sweep % 2 === 0)
  const height = stack(layers)
  const x = (layer: number) => layer * (node.width + gap.x)
  return {
    width: Math.max(0, layers.length * (node.width + gap.x) - gap.x),
    height,
    nodes: tasks.map(({ taskId }) => {
      const { layer, y } = spots.get(taskId)!
      return { taskId, x: x(layer), y }
    }),
    edges: routes.map(({ from, to, spots }) => ({ from, to, path: pathOf(spots, x) })),
  }
}

/**
 * Puts each task one layer right of its rightmost dependency. A cycle, which the server refuses, ends where it began.
 */
function layersOf(dependencies: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const layers = new Map<string, number>()
  const visit = (taskId: string, above: ReadonlySet<string>): number => {
    const found = layers.get(taskId)
    if (found !== undefined) return found
    if (above.has(taskId)) return -1
    const within = new Set(above).add(taskId)
    const layer = Math.max(-1, ...(dependencies.get(taskId) ?? []).map(one => visit(one, within))) + 1
    layers.set(taskId, layer)
    return layer
  }
  for (const taskId of dependencies.keys()) visit(taskId, new Set())
  return layers
}

/** Moves each spot to the middle of its neighbours in the adjacent layer, so that fewer edges cross. */
function arrange(layers: Spot[][], isForward: boolean): void {
  const order = isForward ? layers : [...layers].reverse()
  for (const layer of order) {
    const middle = (spot: Spot) => {
      const neighbours = isForward ? spot.before : spot.after
      if (neighbours.length === 0) return spot.order
      return neighbours.reduce((sum, one) => sum + one.order, 0) / neighbours.length
    }
    const sorted = layer
      .map(spot => ({ spot, at: middle(spot) }))
      .sort((a, b) => a.at - b.at || a.spot.order - b.spot.order)
    for (const [index, { spot }] of sorted.entries()) spot.order = index
    layer.sort((a, b) => a.order - b.order)
  }
}

/** Assigns vertical positions, layers centred on one another. */
function stack(layers: Spot[][]): number {
  const heightOf = (spot: Spot) => (spot.taskId === undefined ? laneHeight : node.height)
  const heights = layers.map(layer => layer.reduce((sum, spot) => sum + heightOf(spot) + gap.y, -gap.y))
  const most = Math.max(0, ...heights)
  for (const [index, layer] of layers.entries()) {
    let y = (most - heights[index]!) / 2
    for (const spot of layer) {
      spot.y = y
      y += heightOf(spot) + gap.y
    }
  }
  return most
}

function pathOf(spots: readonly Spot[], x: (layer: number) => number): string {
  let path = ''
  for (const [index, to] of spots.slice(1).entries()) {
    const from = spots[index]!
    const [startX, startY] = [x(from.layer) + node.width, middleOf(from)]
    const [endX, endY] = [x(to.layer), middleOf(to)]
    const bend = (startX + endX) / 2
    if (index === 0) path += `M${startX} ${startY}`
    else path += `H${startX}`
    path += `C${bend} ${startY} ${bend} ${endY} ${endX} ${endY}`
  }
  return path
}

function middleOf({ taskId, y }: Spot): number {
  return y + (taskId === undefined ? laneHeight : node.height) / 2
}
