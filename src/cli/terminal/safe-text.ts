/**
 * Makes text from messages harmless on a terminal.
 *
 * Control characters could move the cursor, change the title or hide what was said; direction marks could make it read
 * as something else. They are shown as escapes, so that nothing is hidden and nothing happens.
 */

const lineBreaks = /\r\n?|[\u2028\u2029\u0085\v\f]/g
// C0 but tab and newline, DEL, C1, marks and overrides of direction, invisible tags, lone surrogates.
const unsafe =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu

/** Text of several lines: newlines stay, tabs become spaces. */
export function safeText(text: string): string {
  return text.replace(lineBreaks, '\n').replaceAll('\t', '  ').replace(unsafe, escaped)
}

/**
 * Text that comes in pieces. What a piece ends with may only be half of something: a line break of two characters, a
 * character of two units.
 */
export function safePieces(): (piece: string) => string {
  let half = ''
  return piece => {
    const text = half + piece
    half = /[\r\ud800-\udbff]$/.exec(text)?.[0] ?? ''
    return safeText(half === '' ? text : text.slice(0, -1))
  }
}

/** Text on one line: every run of white space is one space. */
export function safeLine(text: string): string {
  return safeText(text).replace(/\s+/g, ' ').trim()
}

/** JSON that is harmless too, and the same value when parsed. */
export function safeJson(value: unknown): string {
  return safeJsonText(JSON.stringify(value))
}

/** Outside its strings JSON has none of these characters, and inside them an escape means the same. */
export function safeJsonText(json: string): string {
  return json.replace(unsafe, character =>
    [...Array(character.length).keys()]
      .map(index => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

function escaped(character: string): string {
  const code = character.codePointAt(0)!
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
}
