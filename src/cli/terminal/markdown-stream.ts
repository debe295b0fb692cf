/**
 * Renders Markdown for a terminal while it comes: headings, lists, quotes, code and tables. Each word is shown as soon as
 * its meaning is decided, and nothing shown is drawn again, so the output may be a pipe.
 *
 * Takes safe text. Lines are not wrapped: the terminal does that, and does it again when its size changes.
 */
import { inline } from './markdown-inline.ts'
import { isTableRow, tableLines } from './markdown-table.ts'
import type { Style } from './terminal.ts'

export interface MarkdownStream {
  /** Takes the next piece of the text, and returns what can be shown now. */
  write(text: string): string
  /** Returns the rest. */
  end(): string
}

/** The kind of a line, once its beginning decides it. */
interface Line {
  /** Shown once, in front of the line. */
  lead: string
  /** Colours everything on the line. */
  paint(text: string): string
  /** False for code, which is shown as it is. */
  hasMarks: boolean
}

export function markdownStream(style: Style, columns: () => number): MarkdownStream {
  /** The part of the current line that has not been shown. */
  let held = ''
  let line: Line | undefined
  let last = ''
  let fence: string | undefined
  let rows: string[] = []
  let isFirst = true

  function shown(isWhole: boolean): string {
    let out = ''
    if (!line) {
      // Inside a fence only a line that may close it is undecided.
      if (fence !== undefined && !isWhole && fence.startsWith(held.trim())) return ''
      const beginning = fence === undefined ? beginningOf(held, style, isWhole) : { line: codeLine(style), rest: held }
      if (!beginning) return ''
      line = beginning.line
      held = beginning.rest
      out += line.lead
    }
    if (!line.hasMarks) {
      out += line.paint(held)
      held = ''
      return out
    }
    const marks = inline(held, style, { isWhole, before: last })
    last = held.slice(0, held.length - marks.held.length).at(-1) ?? last
    held = marks.held
    return out + (marks.shown === '' ? '' : line.paint(marks.shown))
  }

  /** Renders a complete line of which nothing was shown, if it is a fence or a rule. */
  function wholeLine(): string | undefined {
    const trimmed = held.trim()
    if (fence !== undefined) {
      if (!trimmed.startsWith(fence) || trimmed.replaceAll(fence[0]!, '') !== '') return undefined
      fence = undefined
      return ''
    }
    const opening = /^(`{3,}|~{3,})([^`]*)$/.exec(trimmed)
    if (opening) {
      fence = opening[1]!
      const language = opening[2]!.trim()
      return ownLine() + (language === '' ? '' : `  ${style.dim(language)}\n`)
    }
    if (/^([-*_])(?:\s*\1){2,}$/.test(trimmed)) return `${style.dim('─'.repeat(Math.min(columns(), 40)))}\n`
    return undefined
  }

  function endLine(): string {
    if (!line && fence === undefined && isTableRow(held)) {
      rows.push(held)
      held = ''
      return ''
    }
    const table = endTable()
    const special = line ? undefined : wholeLine()
    const out = special ?? `${shown(true)}\n`
    isFirst = false
    held = ''
    last = ''
    line = undefined
    return table + out
  }

  function endTable(): string {
    if (rows.length === 0) return ''
    const lines = tableLines(rows, style, columns())
    const before = ownLine()
    rows = []
    isFirst = false
    return `${before}${lines.join('\n')}\n`
  }

  /** A block of several lines starts on a line of its own, not behind a prompt. */
  function ownLine(): string {
    return isFirst ? '\n' : ''
  }

  return {
    write(more) {
      let out = ''
      const lines = more.split('\n')
      for (const [index, piece] of lines.entries()) {
        held += piece
        if (index < lines.length - 1) out += endLine()
        else if (held !== '' && rows.length === 0) out += shown(false)
        else if (held !== '' && !/^\s*(?:\|.*)?$/s.test(held)) out += endTable() + shown(false)
      }
      return out
    },
    end() {
      const isOpen = held !== '' || line !== undefined
      // The last line break is the caller's.
      return isOpen ? endLine().replace(/\n$/, '') + endTable() : endTable().replace(/\n$/, '')
    },
  }
}

const textLine: Line = { lead: '', paint: shown => shown, hasMarks: true }
const codeLine = (style: Style): Line => ({ lead: '  ', paint: style.cyan, hasMarks: false })

/** Rules, fences and rows of tables are decided by their whole line; the others by what they begin with. */
const undecided = /^(?:#{1,6}\s*|[-*+]\s*|\d{1,4}[.)]?\s*|>\s?|[-*_][-*_\s]*|`{1,2}|`{3}.*|~{1,2}|~{3}.*|\|.*)$/

/** Returns the kind of a line and the text behind its mark, or undefined while several kinds are possible. */
function beginningOf(line: string, style: Style, isWhole: boolean): { line: Line; rest: string } | undefined {
  const [, indent = '', text = ''] = /^(\s*)(.*)$/s.exec(line)!
  if (text === '') return isWhole ? { line: textLine, rest: line } : undefined
  const [heading] = /^#{1,6}(?:\s+|$)/.exec(text) ?? []
  if (heading !== undefined && (isWhole || heading.length < text.length)) {
    const paint = (shown: string) => style.bold(style.magenta(shown))
    return { line: { lead: '', paint, hasMarks: true }, rest: text.slice(heading.length) }
  }
  const [item, bullet] = /^([-*+]|\d{1,4}[.)])\s+(?=\S)/.exec(text) ?? []
  if (item !== undefined && bullet !== undefined) {
    const mark = /\d/.test(bullet) ? bullet : '•'
    return { line: { ...textLine, lead: `${indent}${style.cyan(mark)} ` }, rest: text.slice(item.length) }
  }
  const [quote] = /^>\s?/.exec(text) ?? []
  if (quote !== undefined && (isWhole || quote.length < text.length)) {
    const lead = `${indent}${style.dim('│')} `
    return { line: { lead, paint: style.dim, hasMarks: true }, rest: text.slice(quote.length) }
  }
  return !isWhole && undecided.test(text) ? undefined : { line: textLine, rest: line }
}
