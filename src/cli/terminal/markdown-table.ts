/** Tables of Markdown on a terminal: in columns where there is room for them, else row by row. */
import { inline } from './markdown-inline.ts'
import type { Style } from './terminal.ts'
import { padEnd, textWidth } from './text-width.ts'

const gap = '  '

export function isTableRow(line: string): boolean {
  return /^\s*\|.*\S/.test(line)
}

export function tableLines(rows: readonly string[], style: Style, columns: number): string[] {
  const cells = rows.map(cellsOf)
  const isRule = (row: readonly string[]) => row.every(cell => /^:?-+:?$/.test(cell))
  const hasHeading = cells.length > 1 && isRule(cells[1]!)
  const [heading = [], ...others] = cells
    .filter((row, index) => index !== 1 || !isRule(row))
    .map(row => row.map(cell => inline(cell, style, { isWhole: true }).shown))
  // Only a rule below it makes the first row a heading.
  if (!hasHeading) return rows.map(row => inline(row, style, { isWhole: true }).shown)
  const all = [heading, ...others]
  const widths = Array.from({ length: Math.max(...all.map(row => row.length)) }, (_, index) =>
    Math.max(...all.map(row => textWidth(row[index] ?? ''))),
  )
  const width = widths.reduce((sum, one) => sum + one, gap.length * (widths.length - 1))
  if (width > columns) return others.flatMap(row => rowByRow(heading, row, style))
  const line = (row: readonly string[]) =>
    widths
      .map((one, index) => padEnd(row[index] ?? '', one))
      .join(gap)
      .trimEnd()
  return [style.bold(line(heading)), style.dim(widths.map(one => '─'.repeat(one)).join(gap)), ...others.map(line)]
}

function rowByRow(heading: readonly string[], row: readonly string[], style: Style): string[] {
  return row.map((cell, index) => {
    const name = heading[index] ?? ''
    return `${index === 0 ? style.cyan('•') : ' '} ${name === '' ? '' : `${style.dim(`${name}:`)} `}${cell}`
  })
}

/** Splits a row at its bars, but not at a bar behind a backslash or in code. */
function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '')
  const cells: string[] = []
  let cell = ''
  let isCode = false
  for (let at = 0; at < inner.length; at++) {
    const character = inner[at]!
    if (character === '\\' && inner[at + 1] === '|') {
      cell += '|'
      at++
    } else if (character === '|' && !isCode) {
      cells.push(cell.trim())
      cell = ''
    } else {
      if (character === '`') isCode = !isCode
      cell += character
    }
  }
  return [...cells, cell.trim()]
}
