/**
 * Fences around foreign text, so that it cannot pass itself off as structure of the request.
 *
 * The boundary is derived from the text's place, so the same text gets the same fence every time (prompt caches hit).
 * Boundaries are tried until the text contains none, so no text can close its own fence.
 */

export function boundaryFor(text: string, place: string): string {
  for (let attempt = 0; ; attempt++) {
    const boundary = hash(`${place} ${attempt}`)
    if (!text.includes(boundary)) return boundary
  }
}

export function fence(text: string, place: string, label: string): string {
  const boundary = boundaryFor(text, place)
  return `<<${boundary} ${oneLine(label)}\n${text}\n${boundary}>>`
}

/** The beginning of a text with fences, cut off anywhere: if that was inside of one, it is closed. */
export function closeFence(text: string): string {
  const opening = /^<<(\d{12}) [^\n]*\n?/gm
  for (;;) {
    const found = opening.exec(text)
    if (!found) return text
    const close = `\n${found[1]}>>`
    // The line break that ends the opening may be the one before the close, where nothing stands between.
    const end = text.indexOf(close, opening.lastIndex - 1)
    if (end < 0) return `${text}${close}`
    opening.lastIndex = end + close.length
  }
}

/** Characters of a label at the most. */
export const longestLabel = 60

/** Cuts a label to one short line, whatever name was chosen. */
export function oneLine(text: string, longest: number = longestLabel): string {
  const line = text.replace(/[\s\u0085<>]+/g, ' ').trim()
  return line.length > longest ? `${line.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…` : line
}

/**
 * FNV-1a in two lanes: not for secrets, only to be different and the same every time. As digits, because tokenisers take
 * three of them at a time: a fence of letters takes three times as much of the budget.
 */
function hash(text: string): string {
  let a = 0x811c9dc5
  let b = 0x1000193
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b ^ code, 0x85ebca6b)
  }
  return sixDigits(a) + sixDigits(b)
}

function sixDigits(number: number): string {
  return String((number >>> 0) % 1_000_000).padStart(6, '0')
}
