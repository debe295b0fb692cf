/**
 * Sketches of texts: a few hashes of their words, enough to estimate similarity without keeping the text.
 *
 * The smallest hashes of a set are a fair sample (bottom-k sketch), so the overlap of two sketches estimates the
 * overlap of the words. Sketches of parts combine to the sketch of the whole.
 */

/** Number of hashes kept. At 48 the estimate is off by about 0.07. */
const size = 48
const hashLength = 4
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
const alphabet = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'

export function printOf(text: string): string {
  const hashes = new Set<string>()
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    // Scripts without spaces make one long word of a sentence, so their character pairs are used.
    if (unspaced.test(word)) for (let at = 0; at + 1 < word.length; at++) hashes.add(hashOf(word.slice(at, at + 2)))
    else if (word.length > 1 && !fillers.has(word)) hashes.add(hashOf(word))
  }
  return smallest(hashes)
}

export function addPrints(a: string, b: string): string {
  return a === '' ? b : b === '' ? a : smallest(new Set([...hashesIn(a), ...hashesIn(b)]))
}

/** Returns 0 for nothing in common to 1 for the same words. Two empty texts are alike. */
export function likeness(a: string, b: string): number {
  if (a === b) return 1
  if (a === '' || b === '') return 0
  const [inA, inB] = [new Set(hashesIn(a)), new Set(hashesIn(b))]
  const sample = [...new Set([...inA, ...inB])].sort().slice(0, size)
  return sample.filter(hash => inA.has(hash) && inB.has(hash)).length / sample.length
}

/** Returns the number of different words in a sketch, up to its size. */
export function wordsIn(print: string): number {
  return print.length / hashLength
}

function smallest(hashes: ReadonlySet<string>): string {
  return [...hashes].sort().slice(0, size).join('')
}

function hashesIn(print: string): string[] {
  const hashes: string[] = []
  for (let at = 0; at < print.length; at += hashLength) hashes.push(print.slice(at, at + hashLength))
  return hashes
}

/** 24 bits of FNV-1a, mixed once more because its low bits are too regular for sampling. */
function hashOf(word: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39)
  hash ^= hash >>> 15
  let text = ''
  for (let shift = 18; shift >= 0; shift -= 6) text += alphabet[(hash >>> shift) & 63]
  return text
}

/** Words that every English text has. In other languages they only make texts look slightly more alike. */
const fillers: ReadonlySet<string> = new Set(
  'the a an of to and in on for is are was with that this it as at by be from or please you your i we our can if not any its here has have'.split(
    ' ',
  ),
)
