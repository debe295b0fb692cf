import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  cycleIn,
  dagSummary,
  dependentsOf,
  type GraphNode,
  layersOf,
  readyTasks,
  unknownDependencies,
} from './task-graph.ts'

const names = 'abcdefghij'.split('')

/** Any graph, cycles and unknown dependencies included. */
const anyGraph = fc
  .array(fc.array(fc.constantFrom(...names, 'nowhere'), { maxLength: 4 }), { maxLength: names.length })
  .map(list => list.map((dependencies, index) => ({ taskId: names[index]!, dependencies })))

/** A graph without a cycle, in an arbitrary order. */
const acyclic = fc
  .array(fc.array(fc.nat(), { maxLength: 4 }), { minLength: 1, maxLength: names.length })
  .map(list =>
    list.map((picks, index) => ({
      taskId: names[index]!,
      dependencies: index === 0 ? [] : picks.map(pick => names[pick % index]!),
    })),
  )
  .chain(nodes => fc.shuffledSubarray(nodes, { minLength: nodes.length }))

const states = fc.array(fc.constantFrom('planning', 'in_dev', 'merged', 'failed'), { minLength: 10, maxLength: 10 })

/** The simplest algorithm: remove tasks without remaining dependencies until nothing changes. */
function hasCycle(nodes: readonly GraphNode[]): boolean {
  let left = [...nodes]
  for (;;) {
    const there = new Set(left.map(node => node.taskId))
    const next = left.filter(node => node.dependencies.some(one => there.has(one)))
    if (next.length === left.length) return left.length > 0
    left = next
  }
}

describe('a cycle', () => {
  it('a cycle is found if and only if there is one, and what is shown can be walked', () => {
    fc.assert(
      fc.property(anyGraph, nodes => {
        const cycle = cycleIn(nodes)
        expect(cycle !== undefined).toBe(hasCycle(nodes))
        if (!cycle) return
        expect(cycle.at(-1)).toBe(cycle[0])
        expect(new Set(cycle).size).toBe(cycle.length - 1)
        for (const [index, from] of cycle.slice(0, -1).entries()) {
          expect(nodes.find(node => node.taskId === from)!.dependencies).toContain(cycle[index + 1])
        }
      }),
    )
  })

  it('a cycle is found in a chain longer than the stack, and in time', () => {
    const chain = Array.from({ length: 50_000 }, (_, index) => ({
      taskId: String(index),
      dependencies: [String((index + 1) % 50_000)],
    }))
    expect(cycleIn(chain)).toHaveLength(50_001)
    expect(cycleIn(chain.slice(0, -1))).toBeUndefined()
    expect(layersOf(chain.slice(0, -1))).toHaveLength(49_999)
  })
})

describe('layers', () => {
  it('layers hold every task once, after all it depends on, and no later than it must be', () => {
    fc.assert(
      fc.property(acyclic, nodes => {
        const layers = layersOf(nodes)
        const layerOf = new Map(layers.flatMap((layer, index) => layer.map(node => [node.taskId, index] as const)))
        expect(layerOf.size).toBe(nodes.length)
        for (const { taskId, dependencies } of nodes) {
          const before = dependencies.map(one => layerOf.get(one)!)
          expect(layerOf.get(taskId)).toBe(before.length === 0 ? 0 : Math.max(...before) + 1)
        }
      }),
    )
  })
})

describe('ready tasks', () => {
  it('ready tasks never come before their dependencies are merged, and there is one as long as work can go on', () => {
    fc.assert(
      fc.property(acyclic, states, (nodes, given) => {
        const stated = nodes.map((node, index) => ({ ...node, state: given[index]! }))
        const stateOf = new Map(stated.map(node => [node.taskId, node.state]))
        const ready = readyTasks(stated)
        for (const node of ready) {
          expect(node.state).toBe('planning')
          expect(node.dependencies.every(one => stateOf.get(one) === 'merged')).toBe(true)
        }
        const isStuck = stated.some(node => node.state !== 'planning' && node.state !== 'merged')
        const isLeft = stated.some(node => node.state === 'planning')
        if (isLeft && !isStuck) expect(ready.length).toBeGreaterThan(0)
      }),
    )
  })

  it('taking ready tasks one after the other reaches all tasks', () => {
    fc.assert(
      fc.property(acyclic, nodes => {
        const stated = nodes.map(node => ({ ...node, state: 'planning' }))
        for (let taken = 0; taken < stated.length; taken++) {
          const [next] = readyTasks(stated)
          next!.state = 'merged'
        }
        expect(stated.every(node => node.state === 'merged')).toBe(true)
      }),
    )
  })
})

describe('dependents', () => {
  it('dependents are dependencies seen from the other end', () => {
    fc.assert(
      fc.property(anyGraph, nodes => {
        const dependents = dependentsOf(nodes)
        for (const a of nodes) {
          for (const b of nodes) {
            expect(dependents.get(a.taskId)!.includes(b.taskId)).toBe(b.dependencies.includes(a.taskId))
          }
        }
      }),
    )
  })
})

it('dependencies that do not exist are named', () => {
  expect(
    unknownDependencies([
      { taskId: 'a', dependencies: ['b', 'c'] },
      { taskId: 'b', dependencies: [] },
    ]),
  ).toEqual([{ taskId: 'a', dependency: 'c' }])
})

describe('the summary', () => {
  it('the summary of a task graph stays short, however large the graph is', () => {
    const many = Array.from({ length: 500 }, (_, index) => ({
      taskId: `task-${index}`,
      dependencies: index < 20 ? [] : ['task-0', 'task-1'],
      state: 'planning',
    }))
    expect(dagSummary(many).length).toBeLessThan(1500)
    expect(dagSummary(many)).toMatch(/^500 tasks: 500 planning\. Ready: task-0, .* 8 more\./)
    expect(dagSummary([])).toBe('No tasks are planned.')
  })
})
