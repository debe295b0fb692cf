/**
 * Text on a terminal: its width in columns, cutting it, and wrapping it.
 *
 * Takes safe text: the only escapes in it are our own colours, which take no room. The libraries for this are quadratic in
 * the length of a line, or tear pictures of several characters: see docs/decisions/dependencies.md.
 */

/** Ends every colour that the cut left open. */
const reset = '\u001b[0m'
const colour = /\u001b\[\d+m/
/** Follows a letter and is drawn with it. */
const joins = String.raw`[\p{Mark}\p{Default_Ignorable_Code_Point}\u1160-\u11ff]`
/** A colour, a picture, or a letter with its marks. `v` for pictures of several characters. */
const unit = new RegExp(String.raw`${colour.source}|\p{RGI_Emoji}|[\s\S]${joins}*`, 'gv')
/** East Asian wide and full-width blocks, and pictures. */
const wide =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|.\ufe0f)/u
const plain = /^[\x20-\x7e]*$/
const markOnly = /^[\p{Mark}\p{Default_Ignorable_Code_Point}]+$/u

interface Unit {
  text: string
  width: number
}

export function textWidth(text: string): number {
  let width = 0
  for (const unit of units(text)) width += unit.width
  return width
}

/** Cuts text to `columns`; an ellipsis shows that there was more. */
export function cut(text: string, columns: number): string {
  if (text.length <= columns / 2 || columns === Number.POSITIVE_INFINITY) return text
  let kept = ''
  let width = 0
  let roomForEllipsis = ''
  for (const unit of units(text)) {
    width += unit.width
    if (width > columns) return `${roomForEllipsis}…${roomForEllipsis.includes(reset[0]!) ? reset : ''}`
    kept += unit.text
    if (width <= columns - 1) roomForEllipsis = kept
  }
  return kept
}

/** Breaks text into lines of at most `columns`, at spaces where there are any. */
export function wrap(text: string, columns: number): string[] {
  const lines = text.split('\n')
  return columns === Number.POSITIVE_INFINITY ? lines : lines.flatMap(line => wrapLine(line, columns))
}

function wrapLine(text: string, columns: number): string[] {
  const lines: string[] = []
  let line: Unit[] = []
  let width = 0
  for (const unit of units(text)) {
    if (width + unit.width > columns && line.length > 0) {
      const space = unit.text === ' ' ? line.length : line.findLastIndex(one => one.text === ' ')
      const rest = space > 0 ? line.slice(space + 1) : []
      lines.push(joined(space > 0 ? line.slice(0, space) : line))
      line = rest
      width = rest.reduce((sum, one) => sum + one.width, 0)
      if (unit.text === ' ') continue
    }
    line.push(unit)
    width += unit.width
  }
  return [...lines, joined(line)]
}

export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - textWidth(text)))
}

export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - textWidth(text))) + text
}

function units(text: string): Unit[] {
  // Nearly all text is plain, for which no expression is needed.
  if (plain.test(text)) return Array.from(text, character => ({ text: character, width: 1 }))
  return Array.from(text.matchAll(unit), ([piece]) => ({ text: piece, width: widthOf(piece) }))
}

function widthOf(piece: string): number {
  if (piece.length === 1 && piece < '\u0300') return 1
  if (piece.startsWith('\u001b') || markOnly.test(piece)) return 0
  return wide.test(piece) ? 2 : 1
}

function joined(line: readonly Unit[]): string {
  return line.map(unit => unit.text).join('')
}
