/**
 * Markdown as it comes, for a terminal: headings, lists, quotes, code and tables look like what they are, and every word
 * is shown as soon as it is known what it is.
 *
 * Takes safe text. Lines are not wrapped: the terminal does that, and does it again when its size changes.
 */
import { inline } from './markdown-inline.ts'
import { isTableRow, tableLines } from './markdown-table.ts'
import type { Style } from './terminal.ts'

export interface MarkdownStream {
  /** What can be shown after this much more of the text. */
  write(text: string): string
  /** What is left when nothing more comes. */
  end(): string
}

/** What a line is, once its beginning says so. */
interface Line {
  /** Stands in front of it, shown once. */
  lead: string
  /** Around everything on it. */
  paint(text: string): string
  /** False for code: it is shown as it is. */
  hasMarks: boolean
}

export function markdownStream(style: Style, columns: () => number): MarkdownStream {
  /** Of the line that is coming: what has not been shown. */
  let held = ''
  let line: Line | undefined
  let last = ''
  let fence: string | undefined
  let rows: string[] = []
  let isFirst = true

  const text: Line = { lead: '', paint: shown => shown, hasMarks: true }
  const code: Line = { lead: '  ', paint: shown => style.cyan(shown), hasMarks: false }

  /** Undefined as long as what has come may become several things. */
  function kindOf(isWhole: boolean): Line | undefined {
    if (fence !== undefined) return isWhole || !fence.startsWith(held.trim()) ? code : undefined
    const [, indent = '', rest = ''] = /^(\s*)(.*)$/s.exec(held)!
    if (rest === '') return isWhole ? text : undefined
    const heading = /^#{1,6}(?:\s+|$)/.exec(rest)
    if (heading && (isWhole || heading[0].length < rest.length)) {
      held = rest.slice(heading[0].length)
      return { lead: '', paint: shown => style.bold(style.magenta(shown)), hasMarks: true }
    }
    const item = /^([-*+]|\d{1,4}[.)])\s+(?=\S)/.exec(rest)
    if (item) {
      held = rest.slice(item[0].length)
      const mark = /\d/.test(item[1]!) ? item[1]! : '•'
      return { lead: `${indent}${style.cyan(mark)} `, paint: shown => shown, hasMarks: true }
    }
    const quote = /^>\s?/.exec(rest)
    if (quote && (isWhole || quote[0].length < rest.length)) {
      held = rest.slice(quote[0].length)
      return { lead: `${indent}${style.dim('│')} `, paint: shown => style.dim(shown), hasMarks: true }
    }
    // Rules, fences and rows of tables are known by their whole line.
    const mayBecome =
      /^(?:#{1,6}\s*|[-*+]\s*|\d{1,4}[.)]?\s*|>\s?|[-*_][-*_\s]*|`{1,2}|`{3}.*|~{1,2}|~{3}.*|\|.*)$/.test(rest)
    return !isWhole && mayBecome ? undefined : text
  }

  function shown(isWhole: boolean): string {
    let out = ''
    if (!line) {
      line = kindOf(isWhole)
      if (!line) return ''
      out += line.lead
    }
    if (!line.hasMarks) {
      out += line.paint(held)
      held = ''
      return out
    }
    const found = inline(held, style, { isWhole, before: last })
    last = held.slice(0, held.length - found.held.length).at(-1) ?? last
    held = found.held
    return out + (found.shown === '' ? '' : line.paint(found.shown))
  }

  /** A line that is whole and of which nothing was shown: it may be more than text. */
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

  /** What is made of several lines does not begin behind whatever stands in front of the text. */
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
