/**
 * Counts ASCII text by the pieces that o200k cuts a text into before it merges bytes: each counts for itself, so that a
 * count can be remembered. Of paths and symbols, too, most parts were met before.
 *
 * Words, numbers and punctuation are most of all text, and are found and looked up in place, a short piece by numbers
 * made of its characters: cutting pieces out to look them up takes several times as long. Everything else is left to the
 * expression, which says what a piece is.
 */

const contraction = `(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?`
/** How o200k cuts a text, for ASCII alone, without the classes of Unicode. */
const aPiece = new RegExp(
  [
    `[^\\r\\nA-Za-z0-9]?[A-Z]*[a-z]+${contraction}`,
    `[^\\r\\nA-Za-z0-9]?[A-Z]+[a-z]*${contraction}`,
    '[0-9]{1,3}',
    ' ?[^\\sA-Za-z0-9]+[\\r\\n/]*',
    '\\s*[\\r\\n]+',
    '\\s+(?!\\S)',
    '\\s+',
  ].join('|'),
  'y',
)

// Kinds of characters.
const sign = 0
const capital = 1
const small = 2
const digit = 3
const lineEnd = 4
const space = 5
const none = 6
const kinds = kindsOfAscii()
const apostrophe = 39
const slash = 47
const blank = 32

/** A power of two. A piece has one of two neighbouring slots; what came last stays. */
const slots = 1 << 16
/** So many characters make one exact number, and two of them a piece. Longer ones are seldom met again. */
const perNumber = 7
const longestKnown = 2 * perNumber

/** For ASCII only. `exactly` counts a piece that is not known. */
export function countByPieces(exactly: (piece: string) => number): (text: string) => number {
  const first = new Float64Array(slots)
  const second = new Float64Array(slots)
  const counts = new Uint8Array(slots)

  function count(text: string, start: number, end: number): number {
    if (end - start > longestKnown) return exactly(text.slice(start, end))
    const middle = Math.min(end, start + perNumber)
    let a = 0
    let b = 0
    let hash = 0
    for (let at = start; at < middle; at++) {
      const code = text.charCodeAt(at) + 1
      a = a * 129 + code
      hash = Math.imul(hash ^ code, 0x01000193)
    }
    for (let at = middle; at < end; at++) {
      const code = text.charCodeAt(at) + 1
      b = b * 129 + code
      hash = Math.imul(hash ^ code, 0x01000193)
    }
    const slot = (hash ^ (hash >>> 16)) & (slots - 1)
    if (first[slot] === a && second[slot] === b) return counts[slot]!
    const other = slot ^ 1
    if (first[other] === a && second[other] === b) return counts[other]!
    const tokens = exactly(text.slice(start, end))
    first[other] = first[slot]!
    second[other] = second[slot]!
    counts[other] = counts[slot]!
    first[slot] = a
    second[slot] = b
    counts[slot] = tokens
    return tokens
  }

  return text => {
    let tokens = 0
    for (let at = 0; at < text.length; ) {
      const end = plainEnd(text, at) || oddEnd(text, at)
      tokens += count(text, at, end)
      at = end
    }
    return tokens
  }
}

/** Where the piece that starts here ends, or 0 where only the expression knows. */
function plainEnd(text: string, start: number): number {
  let at = start
  const lead = kinds[text.charCodeAt(at)]!
  if (lead === digit) {
    while (at < start + 3 && kindAt(text, at) === digit) at++
    return at
  }
  if (lead === lineEnd) return 0
  if (lead === sign || lead === space) at++
  const letters = at
  while (kindAt(text, at) === capital) at++
  while (kindAt(text, at) === small) at++
  // Perhaps a contraction.
  if (at > letters) return at < text.length && text.charCodeAt(at) === apostrophe ? 0 : at
  const next = kindAt(text, at)
  if (lead === space && (text.charCodeAt(start) !== blank || next !== sign)) return next === digit ? at : 0
  while (kindAt(text, at) === sign) at++
  while (kindAt(text, at) === lineEnd || (at < text.length && text.charCodeAt(at) === slash)) at++
  return at
}

function kindAt(text: string, at: number): number {
  return at < text.length ? kinds[text.charCodeAt(at)]! : none
}

function oddEnd(text: string, start: number): number {
  aPiece.lastIndex = start
  return aPiece.test(text) ? aPiece.lastIndex : start + 1
}

function kindsOfAscii(): Uint8Array {
  const found = new Uint8Array(128)
  for (let code = 0; code < 128; code++) {
    const character = String.fromCharCode(code)
    if (/[A-Z]/.test(character)) found[code] = capital
    else if (/[a-z]/.test(character)) found[code] = small
    else if (/[0-9]/.test(character)) found[code] = digit
    else if (/[\r\n]/.test(character)) found[code] = lineEnd
    else if (/\s/.test(character)) found[code] = space
  }
  return found
}
