/**
 * How many columns text takes on a terminal, and cutting and wrapping it to fit.
 *
 * Takes safe text: the only escapes in it are the colours we put there ourselves, and they take no room.
 */

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
/** Ends every colour that the cut left open. */
const reset = '\u001b[0m'
const colour = /(\u001b\[\d+m)/
// East Asian wide and full-width blocks, and what is drawn as a picture.
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u
/** Each of these is a column of its own, which need not be asked of the segmenter: it takes a hundred times as long. */
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

/** At most `columns` wide; an ellipsis says that there was more. */
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

/** Lines of at most `columns`, broken at spaces where there are any. */
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

function* units(text: string): Generator<Unit> {
  for (const piece of text.split(colour)) {
    if (colour.test(piece)) yield { text: piece, width: 0 }
    else if (plain.test(piece)) for (const text of piece) yield { text, width: 1 }
    else for (const segment of segmentsIn(piece)) yield { text: segment, width: widthOf(segment) }
  }
}

/** The segmenter takes the longer for each the more it is given at once: a hundred thousand take half a minute. */
const atOnce = 500
/** What a piece ends with may go on in the next one, and is looked at again with it. Pictures made of several take some 20. */
const lookedAtAgain = 64

function* segmentsIn(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const piece = text.slice(start, start + atOnce)
    const isLast = start + atOnce >= text.length
    const sure = isLast ? piece.length : piece.length - lookedAtAgain
    let end = 0
    for (const { segment } of graphemes.segment(piece)) {
      if (end > 0 && end + segment.length > sure) break
      yield segment
      end += segment.length
    }
    start += end
  }
}

function widthOf(grapheme: string): number {
  if (grapheme.length === 1 && grapheme < '\u0300') return 1
  if (wide.test(grapheme)) return 2
  return markOnly.test(grapheme) ? 0 : 1
}

function joined(line: readonly Unit[]): string {
  return line.map(unit => unit.text).join('')
}
