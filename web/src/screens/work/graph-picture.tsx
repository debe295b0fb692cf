/**
 * Draws the graph: edges in an SVG, tasks as buttons above it. Tab moves in graph order, arrows along edges, Enter
 * opens a task.
 */
import { type KeyboardEvent, useMemo, useRef } from 'react'
import { layOut, node } from './layout.ts'
import './graph-picture.css'
import { stateName, toneOf } from './states.ts'
import type { TaskGraph, TaskNode } from './types.ts'

export function GraphPicture({
  graph,
  only,
  chosen,
  onChoose,
}: {
  graph: TaskGraph
  only: string | undefined
  chosen: string | undefined
  onChoose: (taskId: string) => void
}) {
  const { tasks } = graph
  const picture = useRef<HTMLDivElement>(null)
  // The layout depends on dependencies only, so that state changes do not move tasks.
  const shape = JSON.stringify(tasks.map(({ taskId, dependencies }) => ({ taskId, dependencies })))
  const { width, height, nodes, edges } = useMemo(() => layOut(JSON.parse(shape)), [shape])
  const byId = new Map(tasks.map(task => [task.taskId, task]))
  const onKeyDown = (event: KeyboardEvent, task: TaskNode) => {
    const to = neighbour(event.key, task, nodes)
    if (to === undefined) return
    event.preventDefault()
    picture.current?.querySelector<HTMLElement>(`[data-task="${CSS.escape(to)}"]`)?.focus()
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled can be scrolled with the keyboard
    <section className="graph" aria-label="Task graph" tabIndex={0}>
      <div ref={picture} className="graph__picture" style={{ width, height }}>
        <svg width={width} height={height} aria-hidden="true">
          {edges.map(({ from, to, path }) => {
            const isMet = byId.get(from)?.state === 'merged'
            const isOfChosen = chosen !== undefined && (from === chosen || to === chosen)
            return (
              <path
                key={`${from} ${to}`}
                d={path}
                className={`graph__edge${isMet ? ' graph__edge--met' : ''}${isOfChosen ? ' graph__edge--chosen' : ''}`}
              />
            )
          })}
        </svg>
        {nodes.map(({ taskId, x, y }) => {
          const task = byId.get(taskId)!
          const { title, state, isReady, waitsFor } = task
          const isQuiet = only !== undefined && state !== only
          return (
            <button
              key={taskId}
              type="button"
              className={`graph__task graph__task--${toneOf(state)}${isQuiet ? ' graph__task--quiet' : ''}`}
              style={{ left: x, top: y, width: node.width, height: node.height }}
              aria-pressed={taskId === chosen}
              title={title}
              data-task={taskId}
              onClick={() => onChoose(taskId)}
              onKeyDown={event => onKeyDown(event, task)}
            >
              <span className="graph__title">{title}</span>
              <span className="unseen">, </span>
              <span className="graph__state">
                {stateName(state)}
                {isReady && ' · ready'}
              </span>
              {waitsFor.length > 0 && <span className="unseen">, waits for {waitsFor.join(', ')}</span>}
            </button>
          )
        })}
      </div>
    </section>
  )
}

function neighbour(
  key: string,
  { taskId, dependencies, dependents }: TaskNode,
  places: ReadonlyArray<{ taskId: string; x: number; y: number }>,
): string | undefined {
  if (key === 'ArrowLeft') return dependencies[0]
  if (key === 'ArrowRight') return dependents[0]
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return undefined
  const here = places.find(one => one.taskId === taskId)
  const column = places.filter(one => one.x === here?.x).sort((a, b) => a.y - b.y)
  const at = column.findIndex(one => one.taskId === taskId)
  return column[at + (key === 'ArrowUp' ? -1 : 1)]?.taskId
}
