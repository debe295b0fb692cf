/** Fuzzy matching: all letters of the query in order, with beginnings of words scored highest. Pure. */

export interface Fit {
  score: number
  ranges: readonly (readonly [number, number])[]
}

export function fuzzy(query: string, text: string): Fit | undefined {
  const wanted = query.trim().toLowerCase()
  const given = text.toLowerCase()
  if (wanted === '') return { score: 0, ranges: [] }
  const whole = given.indexOf(wanted)
  if (whole >= 0) {
    const isStart = whole === 0 || isBoundary(given, whole)
    return {
      score: 100 + (isStart ? 50 : 0) - whole * 0.1 - text.length * 0.01,
      ranges: [[whole, whole + wanted.length]],
    }
  }
  const ranges: [number, number][] = []
  let at = 0
  let score = 0
  for (const letter of wanted) {
    if (letter === ' ') continue
    const found = betterOf(given, letter, at)
    if (found < 0) return undefined
    const before = ranges.at(-1)
    if (before && before[1] === found) {
      before[1] = found + letter.length
      score += 3
    } else {
      ranges.push([found, found + letter.length])
      score += isBoundary(given, found) ? 4 : 1
    }
    at = found + letter.length
  }
  return { score: score - text.length * 0.01, ranges }
}

/** Finds the next position of a letter, preferring a nearby beginning of a word. */
function betterOf(text: string, letter: string, from: number): number {
  const first = text.indexOf(letter, from)
  if (first === from || first < 0) return first
  for (let at = first; at >= 0 && at < first + 20; at = text.indexOf(letter, at + 1)) {
    if (isBoundary(text, at)) return at
  }
  return first
}

function isBoundary(text: string, at: number): boolean {
  return at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1]!)
}
