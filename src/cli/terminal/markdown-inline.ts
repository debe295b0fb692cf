/**
 * Marks inside a line of Markdown, as a terminal shows them: bold, italic, code, links.
 *
 * The text may still be coming: only what could begin a mark is held back until that is decided. A mark that never ends
 * is shown as it was written.
 */
import type { Style } from './terminal.ts'

interface Inline {
  /** Ready to be shown. */
  shown: string
  /** May still become a mark. */
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
    const mark = markAt(text, at, style, { isWhole, before: at > 0 ? text[at - 1]! : before })
    if (mark === 'undecided') return { shown, held: text.slice(at) }
    shown += mark ? mark.shown : text[at]
    at = mark ? mark.end : at + 1
  }
  return { shown, held: '' }
}

type Mark = { shown: string; end: number } | 'undecided' | undefined

interface Around {
  isWhole: boolean
  /** The preceding character of the line, or nothing. */
  before: string
}

/** Reads the mark that begins here; undefined where none does. */
function markAt(text: string, at: number, style: Style, around: Around): Mark {
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
      if (next === undefined) return around.isWhole ? undefined : 'undecided'
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

function code(text: string, at: number, style: Style, { isWhole }: Around): Mark {
  const ticks = runAt(text, at)
  const start = at + ticks.length
  for (let end = text.indexOf(ticks, start); end >= 0; ) {
    const run = runAt(text, end)
    // A run at the end of the text may still grow.
    if (run.length === ticks.length && (isWhole || end + run.length < text.length)) {
      return { shown: style.yellow(trimmed(text.slice(start, end))), end: end + run.length }
    }
    end = text.indexOf(ticks, end + run.length)
  }
  return isWhole ? { shown: ticks, end: start } : 'undecided'
}

/** Removes the spaces that only separate a tick in the code from the ticks around it. */
function trimmed(code: string): string {
  return /^ .*\S.* $/.test(code) ? code.slice(1, -1) : code
}

function emphasis(text: string, at: number, style: Style, { isWhole, before }: Around): Mark {
  const run = runAt(text, at)
  const mark = run[0]!
  const next = text[at + run.length]
  if (next === undefined && !isWhole) return 'undecided'
  const opens = next !== undefined && /\S/.test(next) && !(mark === '_' && word.test(before))
  // Two underscores are more often a Python name than bold text.
  if (!opens || run.length > (mark === '_' ? 1 : 3)) return { shown: run, end: at + run.length }
  const start = at + run.length
  for (let end = text.indexOf(run, start + 1); end >= 0; ) {
    const closing = runAt(text, end)
    const behind = text[end + run.length]
    if (!isWhole && end + closing.length === text.length) return 'undecided'
    const closes = /\S/.test(text[end - 1]!) && !(mark === '_' && behind !== undefined && word.test(behind))
    if (closes && closing.length === run.length) {
      const { shown } = inline(text.slice(start, end), style, { isWhole: true, before: mark })
      return { shown: emphasised(shown, run.length, style), end: end + run.length }
    }
    end = text.indexOf(run, end + closing.length)
  }
  return isWhole ? { shown: run, end: start } : 'undecided'
}

function emphasised(text: string, strength: number, style: Style): string {
  const bold = strength >= 2 ? style.bold(text) : text
  return strength === 2 ? bold : style.italic(bold)
}

function link(text: string, at: number, style: Style, { isWhole }: Around): Mark {
  const close = text.indexOf(']', at)
  if (close < 0 || (close === text.length - 1 && !isWhole)) return isWhole ? undefined : 'undecided'
  if (text[close + 1] !== '(') return undefined
  const end = text.indexOf(')', close)
  if (end < 0) return isWhole ? undefined : 'undecided'
  const label = text.slice(at + 1, close)
  const url = text.slice(close + 2, end)
  const { shown } = inline(label, style, { isWhole: true })
  const where = url === label || url === '' ? '' : ` ${style.dim(`(${url})`)}`
  return { shown: style.underline(shown) + where, end: end + 1 }
}
