/** Parses Markdown blocks line by line. Nesting is bounded; unknown syntax becomes a paragraph. */
import { parseInline } from './inline.ts'
import type { Block, Inline, ListItem } from './tree.ts'

const deepest = 8

const fence = /^( {0,3})(`{3,}|~{3,})\s*([^`]*)$/
/** Fences that requests put around untrusted text: src/request/text/quote-untrusted.ts. */
const ownFence = /^<<(\d{12}) (.*)$/
const heading = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/
const rule = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/
const quote = /^ {0,3}> ?/
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/
const underline = /^ {0,3}(=+|-+)\s*$/
const tableRule = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/

export function parseMarkdown(text: string): Block[] {
  return parseLines(text.replaceAll('\r\n', '\n').replaceAll('\t', '    ').split('\n'), 0)
}

function parseLines(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = []
  let paragraph: string[] = []
  const flush = () => {
    if (paragraph.length > 0) blocks.push({ type: 'paragraph', children: parseInline(paragraph.join('\n').trim()) })
    paragraph = []
  }
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!
    const taken =
      depth < deepest
        ? (codeAt(lines, at) ??
          ruleAt(lines, at, paragraph) ??
          headingAt(lines, at, paragraph) ??
          quoteAt(lines, at, depth) ??
          listAt(lines, at, depth, paragraph) ??
          tableAt(lines, at, paragraph))
        : codeAt(lines, at)
    if (taken) {
      if (!taken.takesParagraph) flush()
      paragraph = []
      blocks.push(taken.block)
      at = taken.next
    } else {
      if (line.trim() === '') flush()
      else paragraph.push(line.trimStart())
      at++
    }
  }
  flush()
  return blocks
}

interface Taken {
  block: Block
  next: number
  /** The lines before it belong to it: an underlined heading. */
  takesParagraph?: boolean
}

function codeAt(lines: readonly string[], at: number): Taken | undefined {
  const own = ownFence.exec(lines[at]!)
  const ownEnd = own ? lines.indexOf(`${own[1]}>>`, at + 1) : -1
  if (own && ownEnd > 0) {
    const text = lines.slice(at + 1, ownEnd).join('\n')
    return { block: { type: 'code', language: own[2]!, text }, next: ownEnd + 1 }
  }
  const open = fence.exec(lines[at]!)
  if (!open) return undefined
  const [, indent = '', mark = '', info = ''] = open
  const close = new RegExp(`^ {0,3}${mark[0] === '~' ? '~' : '`'}{${mark.length},}\\s*$`)
  let end = at + 1
  while (end < lines.length && !close.test(lines[end]!)) end++
  const text = lines
    .slice(at + 1, end)
    .map(line => (indent !== '' && line.startsWith(indent) ? line.slice(indent.length) : line))
    .join('\n')
  return { block: { type: 'code', language: info.trim(), text }, next: end + 1 }
}

function ruleAt(lines: readonly string[], at: number, paragraph: readonly string[]): Taken | undefined {
  const line = lines[at]!
  if (!rule.test(line) || (paragraph.length > 0 && underline.test(line))) return undefined
  return { block: { type: 'rule' }, next: at + 1 }
}

function headingAt(lines: readonly string[], at: number, paragraph: readonly string[]): Taken | undefined {
  const line = lines[at]!
  const found = heading.exec(line)
  if (found) {
    return {
      block: { type: 'heading', level: found[1]!.length, children: parseInline(found[2] ?? '') },
      next: at + 1,
    }
  }
  const under = paragraph.length > 0 && paragraph.length <= 3 ? underline.exec(line) : null
  if (!under) return undefined
  const level = under[1]!.startsWith('=') ? 1 : 2
  return {
    block: { type: 'heading', level, children: parseInline(paragraph.join('\n').trim()) },
    next: at + 1,
    takesParagraph: true,
  }
}

function quoteAt(lines: readonly string[], at: number, depth: number): Taken | undefined {
  if (!quote.test(lines[at]!)) return undefined
  let end = at
  while (end < lines.length && (quote.test(lines[end]!) || (end > at && isLazy(lines[end]!)))) end++
  const inner = lines.slice(at, end).map(line => line.replace(quote, ''))
  return { block: { type: 'quote', children: parseLines(inner, depth + 1) }, next: end }
}

/** True for a line that continues the paragraph of a quote or list item without its marker. */
function isLazy(line: string): boolean {
  return line.trim() !== '' && !fence.test(line) && !heading.test(line) && !rule.test(line) && !bullet.test(line)
}

function listAt(lines: readonly string[], at: number, depth: number, paragraph: readonly string[]): Taken | undefined {
  const first = bullet.exec(lines[at]!)
  if (!first) return undefined
  const isNumbered = /\d/.test(first[2]!)
  // "1986. A great year" inside a paragraph is not a list.
  if (paragraph.length > 0 && (first[3] === '' || (isNumbered && !/^1[.)]/.test(first[2]!)))) return undefined
  const kind = first[2]!.at(-1)
  const items: ListItem[] = []
  let end = at
  while (end < lines.length) {
    const open = bullet.exec(lines[end]!)
    if (!open || open[2]!.at(-1) !== kind || (rule.test(lines[end]!) && items.length > 0)) break
    const indent = open[0].length > open[1]!.length + open[2]!.length + 4 ? open[2]!.length + 1 : open[0].length
    const inner = [lines[end]!.slice(Math.min(open[0].length, Math.max(indent, 1)))]
    end++
    while (end < lines.length) {
      const line = lines[end]!
      const isIndented = indentOf(line) >= Math.min(indent, 2) && indentOf(line) > open[1]!.length
      if (line.trim() === '') {
        const after = lines[end + 1]
        if (after === undefined || after.trim() === '' || indentOf(after) < Math.min(indent, 2)) break
        inner.push('')
      } else if (isIndented) inner.push(line.slice(Math.min(indentOf(line), indent)))
      else if (inner.at(-1) !== '' && isLazy(line) && !quote.test(line)) inner.push(line)
      else break
      end++
    }
    items.push(itemOf(inner, depth))
    // Blank lines between items.
    let gap = end
    while (gap < lines.length && lines[gap]!.trim() === '') gap++
    const next = gap < lines.length ? bullet.exec(lines[gap]!) : null
    if (gap > end && next && next[2]!.at(-1) === kind) end = gap
  }
  const start = isNumbered ? Number.parseInt(first[2]!, 10) : undefined
  return { block: { type: 'list', start, items }, next: end }
}

function itemOf(lines: readonly string[], depth: number): ListItem {
  const task = /^\[([ xX])\]\s+/.exec(lines[0]!)
  const rest = task ? [lines[0]!.slice(task[0].length), ...lines.slice(1)] : lines
  return { ...(task && { checked: task[1] !== ' ' }), children: parseLines(rest, depth + 1) }
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

function tableAt(lines: readonly string[], at: number, paragraph: readonly string[]): Taken | undefined {
  const under = lines[at + 1]
  if (paragraph.length > 0 || under === undefined) return undefined
  if (!lines[at]!.includes('|') || !under.includes('|') || !tableRule.test(under)) return undefined
  const head = cellsOf(lines[at]!)
  const rows: Inline[][][] = []
  let end = at + 2
  while (end < lines.length && lines[end]!.includes('|') && lines[end]!.trim() !== '') {
    rows.push(cellsOf(lines[end]!))
    end++
  }
  return { block: { type: 'table', head, rows }, next: end }
}

function cellsOf(line: string): Inline[][] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!\\)\|/).map(cell => parseInline(cell.trim().replaceAll('\\|', '|')))
}
