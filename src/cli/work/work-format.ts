/** Formats work items and their states for a person. */
import { style } from '../terminal/terminal.ts'

interface Look {
  mark: string
  paint: (text: string) => string
}

const looks: Record<string, Look> = {
  planning: { mark: '○', paint: style.dim },
  /** A task in planning that may begin. */
  ready: { mark: '◇', paint: style.bold },
  in_dev: { mark: '◐', paint: style.cyan },
  dev_complete: { mark: '◐', paint: style.blue },
  in_qa: { mark: '◑', paint: style.magenta },
  qa_complete: { mark: '◑', paint: style.blue },
  ready_for_merge: { mark: '◕', paint: style.blue },
  merged: { mark: '●', paint: style.green },
  failed: { mark: '✗', paint: style.red },
  blocked: { mark: '■', paint: style.yellow },
  in_progress: { mark: '◐', paint: style.cyan },
  stopped: { mark: '■', paint: style.yellow },
  done: { mark: '●', paint: style.green },
  open: { mark: '○', paint: text => text },
  parked: { mark: '■', paint: style.yellow },
}

const plain: Look = { mark: '○', paint: text => text }

/** A sign that tells states apart where there are no colours. */
export function markOf(state: string): string {
  const { mark, paint } = looks[state] ?? plain
  return paint(mark)
}

export function stateText(state: string): string {
  return (looks[state] ?? plain).paint(state)
}

/** A name as an id: `Login page!` → `login-page`. */
export function slug(name: string): string {
  const words = name
    .normalize('NFKD')
    .replace(/\p{Mark}+/gu, '')
    .toLowerCase()
    .match(/[\p{Letter}\p{Number}]+/gu)
  return (words ?? []).join('-').slice(0, 60).replace(/-+$/, '')
}
