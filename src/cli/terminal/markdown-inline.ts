/**
 * Marks inside a line of Markdown, as a terminal shows them: bold, italic, code, links.
 *
 * For text that is still coming: what could be the beginning of a mark is held back until it is known whether it is one,
 * and nothing else is. A mark that never ends is what was written.
 */
import type { Style } from './terminal.ts'

export interface Inline {
  /** Ready to be shown. */
  shown: string
  /** Not known yet. */
  held: string
}

const word = /[\p{L}\p{N}_]/u

export function inline(
  text: string,
  style: Style,
  { isWhole, before = '' }: { isWhole: boolean; before?: string },
): Inline {
  let shown = ''
  let at = 0
  while (at < text.length) {
    const found = markAt(text, at, style, { isWhole, before: at > 0 ? text[at - 1]! : before })
    if (found === 'unknown') return { shown, held: text.slice(at) }
    shown += found ? found.shown : text[at]
    at = found ? found.end : at + 1
  }
  return { shown, held: '' }
}

type Found = { shown: string; end: number } | 'unknown' | undefined

interface Around {
  isWhole: boolean
  /** The character before, if there is one on the line. */
  before: string
}

/** The mark that begins here; undefined where none does. */
function markAt(text: string, at: number, style: Style, around: Around): Found {
  switch (text[at]) {
    case '`':
      return code(text, at, style, around)
    case '*':
    case '_':
      return emphasis(text, at, style, around)
    case '[':
      return link(text, at, style, around)
    case '\\': {
      const next = text[at + 1]
      if (next === undefined) return around.isWhole ? undefined : 'unknown'
      return /[\\`*_[\]()#+\-.!|<>~]/.test(next) ? { shown: next, end: at + 2 } : undefined
    }
    default:
      return undefined
  }
}

function runAt(text: string, at: number): string {
  let end = at
  while (text[end] === text[at]) end++
  return text.slice(at, end)
}

function code(text: string, at: number, style: Style, { isWhole }: Around): Found {
  const ticks = runAt(text, at)
  const start = at + ticks.length
  for (let end = text.indexOf(ticks, start); end >= 0; ) {
    const run = runAt(text, end)
    // A run at the very end may still grow.
    if (run.length === ticks.length && (isWhole || end + run.length < text.length)) {
      return { shown: style.yellow(trimmed(text.slice(start, end))), end: end + run.length }
    }
    end = text.indexOf(ticks, end + run.length)
  }
  return isWhole ? { shown: ticks, end: start } : 'unknown'
}

/** Spaces that only keep a tick from its neighbour. */
function trimmed(code: string): string {
  return /^ .*\S.* $/.test(code) ? code.slice(1, -1) : code
}

function emphasis(text: string, at: number, style: Style, { isWhole, before }: Around): Found {
  const run = runAt(text, at)
  const mark = run[0]!
  const next = text[at + run.length]
  if (next === undefined && !isWhole) return 'unknown'
  const opens = next !== undefined && /\S/.test(next) && !(mark === '_' && word.test(before))
  // Two underscores are more often a name of Python's than bold.
  if (!opens || run.length > (mark === '_' ? 1 : 3)) return { shown: run, end: at + run.length }
  const start = at + run.length
  for (let end = text.indexOf(run, start + 1); end >= 0; ) {
    const closing = runAt(text, end)
    const behind = text[end + run.length]
    if (!isWhole && end + closing.length === text.length) return 'unknown'
    const closes = /\S/.test(text[end - 1]!) && !(mark === '_' && behind !== undefined && word.test(behind))
    if (closes && closing.length === run.length) {
      const { shown } = inline(text.slice(start, end), style, { isWhole: true, before: mark })
      return { shown: emphasised(shown, run.length, style), end: end + run.length }
    }
    end = text.indexOf(run, end + closing.length)
  }
  return isWhole ? { shown: run, end: start } : 'unknown'
}

function emphasised(text: string, strength: number, style: Style): string {
  const bold = strength >= 2 ? style.bold(text) : text
  return strength === 2 ? bold : style.italic(bold)
}

function link(text: string, at: number, style: Style, { isWhole }: Around): Found {
  const close = text.indexOf(']', at)
  if (close < 0 || (close === text.length - 1 && !isWhole)) return isWhole ? undefined : 'unknown'
  if (text[close + 1] !== '(') return undefined
  const end = text.indexOf(')', close)
  if (end < 0) return isWhole ? undefined : 'unknown'
  const label = text.slice(at + 1, close)
  const url = text.slice(close + 2, end)
  const { shown } = inline(label, style, { isWhole: true })
  const where = url === label || url === '' ? '' : ` ${style.dim(`(${url})`)}`
  return { shown: style.underline(shown) + where, end: end + 1 }
}
