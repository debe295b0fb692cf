import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { layOut, node } from './layout.ts'

/** Graphs without cycles: each task depends on some earlier ones. */
const graphs = fc.array(fc.array(fc.nat(), { maxLength: 4 }), { maxLength: 30 }).map(rows =>
  rows.map((row, index) => ({
    taskId: `t${index}`,
    dependencies: index === 0 ? [] : row.map(one => `t${one % index}`),
  })),
)

describe('the layout of a task graph', () => {
  it('the layout of a task graph puts every task right of all it waits for, and no two on the same place', () => {
    fc.assert(
      fc.property(graphs, tasks => {
        const { nodes, edges, width, height } = layOut(tasks)
        const at = new Map(nodes.map(one => [one.taskId, one]))
        expect(nodes.map(({ taskId }) => taskId)).toEqual(tasks.map(({ taskId }) => taskId))
        for (const { taskId, dependencies } of tasks) {
          for (const one of dependencies) expect(at.get(one)!.x + node.width).toBeLessThan(at.get(taskId)!.x)
        }
        for (const [index, a] of nodes.entries()) {
          expect(a.x + node.width).toBeLessThanOrEqual(width)
          expect(a.y + node.height).toBeLessThanOrEqual(height)
          for (const b of nodes.slice(index + 1)) {
            expect(Math.abs(a.x - b.x) >= node.width || Math.abs(a.y - b.y) >= node.height).toBe(true)
          }
        }
        const wanted = tasks.flatMap(({ taskId, dependencies }) =>
          [...new Set(dependencies)].map(one => `${one} ${taskId}`),
        )
        expect(edges.map(({ from, to }) => `${from} ${to}`).sort()).toEqual(wanted.sort())
      }),
    )
  })

  it('the layout of a task graph leads an edge that passes a layer between its tasks', () => {
    const { nodes, edges } = layOut([
      { taskId: 'a', dependencies: [] },
      { taskId: 'b', dependencies: ['a'] },
      { taskId: 'c', dependencies: ['a', 'b'] },
    ])
    const b = nodes.find(({ taskId }) => taskId === 'b')!
    const long = edges.find(({ from, to }) => from === 'a' && to === 'c')!
    const heights = [...long.path.matchAll(/ (\d+(?:\.\d+)?)(?=H)/g)].map(([, y]) => Number(y))
    expect(heights).toHaveLength(1)
    expect(heights[0]! < b.y || heights[0]! > b.y + node.height).toBe(true)
  })

  it('the layout of a task graph is the same for the same graph, and draws an impossible one', () => {
    const circle = [
      { taskId: 'a', dependencies: ['b', 'gone'] },
      { taskId: 'b', dependencies: ['a'] },
    ]
    expect(layOut(circle)).toEqual(layOut(circle))
    expect(layOut([])).toEqual({ width: 0, height: 0, nodes: [], edges: [] })
  })
})
