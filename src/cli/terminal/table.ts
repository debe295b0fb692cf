/** Rows under headings. On a terminal some columns give way so that each row stays on its line. */
import { columns, style } from './terminal.ts'
import { cut, padEnd, padStart, textWidth } from './text-width.ts'

export interface Column<T> {
  heading: string
  /** Safe text; colours allowed. */
  of(row: T): string
  align?: 'right'
  /** May be cut when the terminal is too narrow; of several such columns, the widest first. */
  gives?: boolean
}

const gap = '  '
const narrowest = 12

export function table<T>(rows: readonly T[], shape: ReadonlyArray<Column<T>>, room = columns()): string[] {
  const cells = rows.map(row => shape.map(column => column.of(row)))
  const widths = shape.map((column, index) =>
    Math.max(textWidth(column.heading), ...cells.map(row => textWidth(row[index]!))),
  )
  let excess = widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1)) - room
  for (; excess > 0; excess--) {
    const widest = Math.max(...widths.filter((_, index) => shape[index]!.gives))
    if (widest <= narrowest) break
    widths[widths.findIndex((width, index) => shape[index]!.gives && width === widest)]!--
  }
  const line = (texts: readonly string[]) =>
    texts
      .map((text, index) => {
        const fitted = shape[index]!.gives ? cut(text, widths[index]!) : text
        return shape[index]!.align === 'right' ? padStart(fitted, widths[index]!) : padEnd(fitted, widths[index]!)
      })
      .join(gap)
      .trimEnd()
  return [style.dim(line(shape.map(column => column.heading))), ...cells.map(line)]
}

/** Names and values, one pair a line; pairs without a value are left out. */
export function fields(pairs: ReadonlyArray<readonly [name: string, value: string | undefined]>): string[] {
  const present = pairs.filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '')
  const width = Math.max(0, ...present.map(([name]) => name.length))
  return present.map(([name, value]) => `${style.dim(padEnd(name, width))}  ${value}`)
}
