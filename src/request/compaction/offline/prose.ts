/** Sentences out of what people and agents write: Markdown taken off, code and pasted output left out. */

export interface Sentence {
  text: string
  /** `[x]` or `[ ]` in front of it, or a tick. */
  ticked?: boolean
  /** For an entry of a list: what the list is called, in small letters. */
  under?: string
  /** A heading, or a line that only announces what follows it. */
  isLabel?: boolean
}

/** Longer lines are pasted, not written. */
const longestLine = 1_500
/** Max characters that are read, so that a pasted book does not cost minutes. */
const longestText = 60_000

export function sentencesOf(text: string): Sentence[] {
  const found: Sentence[] = []
  let inCode = false
  let under: string | undefined
  for (const line of text.slice(0, longestText).split(/\r?\n/)) {
    if (/^\s*(?:```|~~~)/.test(line)) inCode = !inCode
    else if (!inCode && line.length <= longestLine) {
      const isEntry = /^\s*(?:[-*+]|\d{1,3}[.)])\s/.test(line)
      const isHeading = /^\s*#{1,6}\s/.test(line)
      const isLabel = isHeading || (!isEntry && line.length < 80 && /:\**\s*$/.test(line))
      if (isLabel) under = plainText(line).toLowerCase()
      else if (!isEntry && line.trim() !== '') under = undefined
      for (const sentence of sentencesOfLine(line)) {
        found.push({ ...sentence, ...(isLabel && { isLabel }), ...(isEntry && under && { under }) })
      }
    }
  }
  return found
}

function sentencesOfLine(line: string): Sentence[] {
  const box = /^\s*(?:[-*+]|\d{1,3}[.)])?\s*(?:\[([ xX])\]|(✅|☑|✔️?|✓))/u.exec(line)
  const ticked = box ? box[1] !== ' ' : undefined
  const plain = plainText(box ? line.slice(box[0].length) : line)
  if (!isProse(plain)) return []
  return plain
    .split(/(?<=[.!?…])\s+(?=[\p{L}\d"'`“(])/u)
    .map(text => text.trim())
    .filter(text => text.length > 1)
    .map(text => ({ text, ...(ticked !== undefined && { ticked }) }))
}

/** Without headings, bullets, quotation marks of Markdown, bold and links. */
function plainText(line: string): string {
  return line
    .replace(/^\s*(?:#{1,6}|>|[-*+]|\d{1,3}[.)])\s+/, '')
    .replace(/\*\*|__/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Lines of tables, traces, JSON and code say nothing that a sentence could be taken from. */
function isProse(line: string): boolean {
  if (line.length < 2 || /^(?:[|{}<[\]]|at |import |export |const |function |\$ |➜|[-=+|─├└│]{2,})/.test(line))
    return false
  return line.replace(/[^\p{L}\s]/gu, '').length >= line.length * 0.6
}

/** The text on one line, cut at a word when it is longer than `characters`. */
export function clipped(text: string, characters: number): string {
  const line = text
    .slice(0, characters * 4)
    .replace(/\s+/g, ' ')
    .trim()
  if (line.length <= characters) return line
  const cut = line.lastIndexOf(' ', characters - 1)
  return `${line.slice(0, cut > characters * 0.6 ? cut : characters - 1).toWellFormed()}…`
}

/** The first sentences that fit; of text without any, its beginning. */
export function gist(text: string, characters: number): string {
  const taken = joined(sentencesOf(text), characters)
  return taken.length >= Math.min(20, text.trim().length) ? taken : clipped(text, characters)
}

/** As many sentences as fit, headings left out; at least the beginning of the first. */
export function joined(sentences: readonly Sentence[], characters: number): string {
  let taken = ''
  for (const { text, isLabel } of sentences) {
    if (isLabel && !text.endsWith(':')) continue
    const longer = taken ? `${taken}${/[\p{L}\d)`'"”]$/u.test(taken) ? ';' : ''} ${text}` : text
    if (longer.length > characters) {
      taken = taken.length >= 20 ? taken : clipped(longer, characters)
      break
    }
    taken = longer
  }
  // Drops an announcement whose content does not fit.
  return taken.replace(/(?:[;.] |^)[^;.:]{1,40}:$/, '') || taken
}
