/**
 * The drawing itself. Tab goes from task to task in the order of the graph, arrows along its edges, Enter opens one.
 */
import { type KeyboardEvent, useMemo, useRef } from 'react'
import { layOut, node } from './layout.ts'
import './graph-picture.css'
import { stateName, toneOf } from './states.ts'
import type { TaskGraph, TaskNode } from './types.ts'

const margin = 6
/** What fits the width of a task, roughly: the whole title is in its label and on hover. */
const titleLength = 26

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
  const picture = useRef<SVGSVGElement>(null)
  // The places depend on who waits for whom, and not on states: what is live must not make the graph jump.
  const shape = JSON.stringify(tasks.map(({ taskId, dependencies }) => ({ taskId, dependencies })))
  const layout = useMemo(() => layOut(JSON.parse(shape)), [shape])
  const byId = new Map(tasks.map(task => [task.taskId, task]))
  const focus = (taskId: string | undefined) => {
    if (taskId === undefined) return
    picture.current?.querySelector<SVGGElement>(`[data-task="${CSS.escape(taskId)}"]`)?.focus()
  }
  const onKeyDown = (event: KeyboardEvent, task: TaskNode) => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      onChoose(task.taskId)
      return
    }
    const to = neighbour(event.key, task, layout.nodes)
    if (to === undefined) return
    event.preventDefault()
    focus(to)
  }
  const { width, height } = layout
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled can be scrolled with the keyboard
    <section className="graph" aria-label="Task graph" tabIndex={0}>
      {/* biome-ignore lint/a11y/useSemanticElements: an SVG is no form */}
      <svg
        ref={picture}
        className="graph__picture"
        width={width + 2 * margin}
        height={height + 2 * margin}
        viewBox={`${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`}
        aria-label={`Tasks of ${graph.name}`}
        role="group"
      >
        {layout.edges.map(({ from, to, path }) => {
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
        {layout.nodes.map(({ taskId, x, y }) => {
          const task = byId.get(taskId)!
          const { title, state, isReady } = task
          const isQuiet = only !== undefined && state !== only
          return (
            // biome-ignore lint/a11y/useSemanticElements: an SVG has no buttons
            <g
              key={taskId}
              className={`graph__task graph__task--${toneOf(state)}${isQuiet ? ' graph__task--quiet' : ''}`}
              transform={`translate(${x} ${y})`}
              role="button"
              tabIndex={0}
              aria-pressed={taskId === chosen}
              aria-label={labelOf(task)}
              data-task={taskId}
              onClick={() => onChoose(taskId)}
              onKeyDown={event => onKeyDown(event, task)}
            >
              <title>{title}</title>
              <rect width={node.width} height={node.height} rx="6" />
              <rect className="graph__mark" width="4" height={node.height} rx="2" />
              <text x="14" y="22" className="graph__title">
                {title.length > titleLength ? `${title.slice(0, titleLength - 1).trimEnd()}…` : title}
              </text>
              <text x="14" y="41" className="graph__state">
                {stateName(state)}
                {isReady && ' · ready'}
              </text>
            </g>
          )
        })}
      </svg>
    </section>
  )
}

function labelOf({ title, state, isReady, waitsFor }: TaskNode): string {
  const waits = waitsFor.length === 0 ? '' : `, waits for ${waitsFor.join(', ')}`
  return `${title}, ${stateName(state)}${isReady ? ', ready' : ''}${waits}`
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
