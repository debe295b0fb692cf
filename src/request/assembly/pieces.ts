/**
 * A rendering as a row of pieces that each know where they come from. Put together they are the rendering, byte for
 * byte: the text is made from the pieces, so that an explanation cannot differ from what is sent.
 */
import type { SectionName } from './sections.ts'

export interface Piece {
  what: SectionName
  /** The messages it was made from. */
  versions?: readonly number[]
  text: string
}

export function piece(what: SectionName, text: string, version?: number): Piece[] {
  return text === '' ? [] : [{ what, text, ...(version !== undefined && { versions: [version] }) }]
}

export function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('')
}

/** One behind the other, a line break between them. */
export function lined(groups: ReadonlyArray<readonly Piece[]>): Piece[] {
  return joined(groups, '\n')
}

/** One behind the other, an empty line between them. */
export function paragraphs(groups: ReadonlyArray<readonly Piece[]>): Piece[] {
  return joined(groups, '\n\n')
}

/** Under a heading, which belongs to the first of them. */
export function titled(title: string, [first, ...rest]: readonly Piece[]): Piece[] {
  return first ? [{ ...first, text: `# ${title}\n\n${first.text}` }, ...rest] : []
}

function joined(groups: ReadonlyArray<readonly Piece[]>, between: string): Piece[] {
  const all: Piece[] = []
  for (const [first, ...rest] of groups) {
    if (!first) continue
    all.push(all.length === 0 ? first : { ...first, text: between + first.text }, ...rest)
  }
  return all
}
