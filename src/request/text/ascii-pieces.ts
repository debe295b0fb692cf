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
/** Behind the end. */
const none = 6
const apostrophe = 39
const slash = 47
const blank = 32
const endMark = 128
const kinds = kindsOfAscii()

/** Fifteen characters, and a byte for their number and the count. */
const longestKnown = 15
const wordsPerPiece = 4
const lengthAt = 28
const countAt = 24
const countBits = 15 << countAt
/** As many as share a line of the processor's cache. */
const piecesPerSet = 4
const wordsPerSet = wordsPerPiece * piecesPerSet
/** A power of two. */
const sets = 1 << 12
/** Longer texts get room of their own. */
const usualLength = 64 * 1024
/** The part of each word that a piece of so many characters fills. */
const masks = masksOfLengths()

/** For ASCII only. `exactly` counts a piece that is not known. */
export function countByPieces(exactly: (piece: string) => number): (text: string) => number {
  const known = new Int32Array(sets * wordsPerSet)
  const usual = roomFor(usualLength)

  function count(text: string, words: DataView, start: number, end: number): number {
    const length = end - start
    if (length > longestKnown) return exactly(text.slice(start, end))
    const mask = length * wordsPerPiece
    const a = words.getInt32(start, true) & masks[mask]!
    const b = words.getInt32(start + 4, true) & masks[mask + 1]!
    const c = words.getInt32(start + 8, true) & masks[mask + 2]!
    const d = (words.getInt32(start + 12, true) & masks[mask + 3]!) | (length << lengthAt)
    const mixed = Math.imul(a, 0x9e3779b1) ^ Math.imul(b ^ d, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35)
    const set = ((mixed ^ (mixed >>> 15)) & (sets - 1)) * wordsPerSet
    for (let at = set; at < set + wordsPerSet; at += wordsPerPiece) {
      const last = known[at + 3]!
      if (known[at] === a && known[at + 1] === b && known[at + 2] === c && (last & ~countBits) === d)
        return (last & countBits) >> countAt
    }
    const tokens = exactly(text.slice(start, end))
    // The newest comes first, the oldest goes.
    known.copyWithin(set + wordsPerPiece, set, set + wordsPerSet - wordsPerPiece)
    known[set] = a
    known[set + 1] = b
    known[set + 2] = c
    known[set + 3] = d | (tokens << countAt)
    return tokens
  }

  return text => {
    const { bytes, words } = text.length <= usualLength ? usual : roomFor(text.length)
    bytes.write(text, 'latin1')
    bytes[text.length] = endMark
    let tokens = 0
    for (let at = 0; at < text.length; ) {
      const end = plainEnd(bytes, at) || oddEnd(text, at)
      tokens += count(text, words, at, end)
      at = end
    }
    return tokens
  }
}

/** A piece is read as words, which may reach behind the end. */
function roomFor(length: number): { bytes: Buffer; words: DataView } {
  const bytes = Buffer.alloc(length + wordsPerPiece * 4)
  return { bytes, words: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) }
}

function masksOfLengths(): Int32Array {
  const found = new Int32Array((longestKnown + 1) * wordsPerPiece)
  for (let length = 0; length <= longestKnown; length++) {
    const { bytes, words } = roomFor(longestKnown)
    bytes.fill(0xff, 0, length)
    for (let word = 0; word < wordsPerPiece; word++) {
      found[length * wordsPerPiece + word] = words.getInt32(word * 4, true)
    }
  }
  return found
}

/** Where the piece that starts here ends, or 0 where only the expression knows. */
function plainEnd(bytes: Uint8Array, start: number): number {
  let at = start
  const lead = kinds[bytes[at]!]!
  if (lead === digit) {
    while (at < start + 3 && kinds[bytes[at]!] === digit) at++
    return at
  }
  if (lead === lineEnd) return 0
  if (lead === sign || lead === space) at++
  const letters = at
  while (kinds[bytes[at]!] === capital) at++
  while (kinds[bytes[at]!] === small) at++
  // Perhaps a contraction.
  if (at > letters) return bytes[at] === apostrophe ? 0 : at
  const next = kinds[bytes[at]!]
  if (lead === space && (bytes[start] !== blank || next !== sign)) return next === digit ? at : 0
  while (kinds[bytes[at]!] === sign) at++
  while (kinds[bytes[at]!] === lineEnd || bytes[at] === slash) at++
  return at
}

function oddEnd(text: string, start: number): number {
  aPiece.lastIndex = start
  return aPiece.test(text) ? aPiece.lastIndex : start + 1
}

function kindsOfAscii(): Uint8Array {
  const found = new Uint8Array(endMark + 1)
  for (let code = 0; code < endMark; code++) {
    const character = String.fromCharCode(code)
    if (/[A-Z]/.test(character)) found[code] = capital
    else if (/[a-z]/.test(character)) found[code] = small
    else if (/[0-9]/.test(character)) found[code] = digit
    else if (/[\r\n]/.test(character)) found[code] = lineEnd
    else if (/\s/.test(character)) found[code] = space
  }
  found[endMark] = none
  return found
}
