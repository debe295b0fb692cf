/**
 * A task graph drawn with lines, one task a row: what a task needs stands above it, and a line leads from each task down
 * to those that depend on it.
 */
import type { TaskGraph, TaskNode } from '../../conversation/work/item-views.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { columns, style } from '../terminal/terminal.ts'
import { cut, padEnd, textWidth, wrap } from '../terminal/text-width.ts'
import { markOf, stateText } from './work-format.ts'

/** The graph in words, below it. */
export function summaryLines({ summary }: Pick<TaskGraph, 'summary'>): string[] {
  return wrap(safeLine(summary), columns()).map(line => style.dim(line))
}

/** In a graph with more lanes dependencies are named instead of drawn. */
const mostLanes = 14

export function graphLines({ tasks }: Pick<TaskGraph, 'tasks'>): string[] {
  const ordered = inDrawingOrder(tasks)
  const rows = drawn(ordered)
  const isNamed = Math.max(0, ...rows.map(row => row.lanes)) > mostLanes
  const art = isNamed ? ordered.map(task => ({ task, lines: [`${markOf(stateWords(task))} `] })) : rows
  const width = Math.max(0, ...art.flatMap(({ lines }) => lines.map(textWidth)))
  const idWidth = Math.min(24, Math.max(0, ...tasks.map(task => textWidth(safeLine(task.taskId)))))
  const stateWidth = Math.max(0, ...tasks.map(task => stateWords(task).length))
  return art.flatMap(({ task, lines }) => {
    const words = [
      padEnd(style.bold(cut(safeLine(task.taskId), idWidth)), idWidth),
      padEnd(stateText(stateWords(task)), stateWidth),
      `${safeLine(task.title)}${isNamed && task.dependencies.length > 0 ? style.dim(` ← ${safeLine(task.dependencies.join(', '))}`) : ''}`,
    ].join('  ')
    const [last = '', ...above] = [...lines].reverse()
    return [...above.reverse(), cut(`${padEnd(last, width)} ${words}`, columns())].map(line => line.trimEnd())
  })
}

function stateWords({ state, isReady }: TaskNode): string {
  return isReady ? 'ready' : state
}

/** Each task after those it depends on, and close to them: what depends on the newest comes next. */
function inDrawingOrder(tasks: readonly TaskNode[]): TaskNode[] {
  const byId = new Map(tasks.map(task => [task.taskId, task]))
  const waits = new Map(tasks.map(task => [task.taskId, task.dependencies.length]))
  const free = tasks.filter(task => task.dependencies.length === 0).reverse()
  const ordered: TaskNode[] = []
  for (let task = free.pop(); task; task = free.pop()) {
    ordered.push(task)
    for (const id of [...task.dependents].reverse()) {
      const left = waits.get(id)! - 1
      waits.set(id, left)
      if (left === 0) free.push(byId.get(id)!)
    }
  }
  return ordered
}

interface Row {
  task: TaskNode
  /** The task's own line last. */
  lines: string[]
  lanes: number
}

/** A line that leads down from a task, as long as some that depend on it are still to come. */
type Lane = { to: Set<string> } | undefined

function drawn(tasks: readonly TaskNode[]): Row[] {
  const lanes: Lane[] = []
  /** The column where a line just ended: text right below it would seem to depend on it. */
  let ended = -1
  return tasks.map(task => {
    const arriving = lanes.flatMap((lane, index) => (lane?.to.has(task.taskId) ? [index] : []))
    for (const index of arriving) lanes[index]!.to.delete(task.taskId)
    const ending = arriving.filter(index => lanes[index]!.to.size === 0)
    const free = lanes.findIndex((lane, index) => lane === undefined && index !== ended)
    const column = ending[0] ?? (free >= 0 ? free : lanes.length + (ended === lanes.length ? 1 : 0))
    const above = arriving.some(index => index !== column) ? [joint(lanes, arriving, ending, column)] : []
    for (const index of ending) lanes[index] = undefined
    while (lanes.length < column) lanes.push(undefined)
    lanes[column] = task.dependents.length > 0 ? { to: new Set(task.dependents) } : undefined
    ended = lanes[column] ? -1 : column
    const own = cells(lanes, index => (index === column ? markOf(stateWords(task)) : undefined))
    while (lanes.length > 0 && lanes.at(-1) === undefined) lanes.pop()
    return { task, lines: [...above, own], lanes: Math.max(lanes.length, column + 1) }
  })
}

/** The line above a task that brings the lines of what it needs together. */
function joint(lanes: readonly Lane[], arriving: readonly number[], ending: readonly number[], column: number): string {
  const from = Math.min(column, ...arriving)
  const to = Math.max(column, ...arriving)
  const isReal = (index: number) => lanes[index] !== undefined
  const at = (index: number): string => {
    if (index < from || index > to) return isReal(index) ? '│' : ' '
    const goesLeft = index > from
    const goesRight = index < to
    const comesDown = isReal(index)
    const isMeant = index === column || arriving.includes(index)
    const leadsDown = index === column || (comesDown && !ending.includes(index))
    if (!isMeant) return comesDown ? '┼' : '─'
    return corner({ up: comesDown, down: leadsDown, left: goesLeft, right: goesRight })
  }
  const width = Math.max(lanes.length, to + 1)
  return style.dim(
    Array.from({ length: width }, (_, index) => at(index) + (index >= from && index < to ? '─' : ' '))
      .join('')
      .trimEnd(),
  )
}

function corner({ up, down, left, right }: { up: boolean; down: boolean; left: boolean; right: boolean }): string {
  const key = `${up ? 'u' : ''}${down ? 'd' : ''}${left ? 'l' : ''}${right ? 'r' : ''}`
  return corners[key] ?? '│'
}

const corners: Record<string, string> = {
  ud: '│',
  udl: '┤',
  udr: '├',
  udlr: '┼',
  ul: '╯',
  ur: '╰',
  ulr: '┴',
  dl: '╮',
  dr: '╭',
  dlr: '┬',
}

function cells(lanes: readonly Lane[], own: (index: number) => string | undefined): string {
  return Array.from({ length: lanes.length }, (_, index) => own(index) ?? (lanes[index] ? style.dim('│') : ' ')).join(
    ' ',
  )
}
