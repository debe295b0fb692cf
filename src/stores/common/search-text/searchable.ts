/** The cleaned, capped copy of a message that is indexed. */
import type { Part } from '../../../log/events/part.ts'

const limits = { message: 64 * 1024, toolInput: 2 * 1024, toolOutput: 16 * 1024 }

/** Separates characters of scripts without spaces. No word contains it, and snippets drop it. */
export const seam = '\u200b'

const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu

/** Makes each character of an unspaced script a word of its own; a query for several becomes a phrase. */
export function splitScript(text: string): string {
  // Most texts are plain, and this test is much cheaper than the replacement.
  if (plain.test(text)) return text
  return clean(text).replace(unspaced, `${seam}$&${seam}`)
}

const plain = /^[\t\n\r\x20-\x7e]*$/

export function searchableText(parts: readonly Part[]): string {
  const pieces: string[] = []
  let room = limits.message
  for (const part of parts) {
    if (room <= 0) break
    const piece = textOfPart(part).slice(0, room)
    room -= piece.length
    pieces.push(piece)
  }
  return splitScript(pieces.join('\n'))
}

function textOfPart(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'reasoning':
      return ''
    case 'file':
      return [part.name, part.path, part.text].filter(Boolean).join(' ')
    case 'tool-call':
      return `${part.name} ${textOfValue(part.input).slice(0, limits.toolInput)}`
    case 'tool-result':
      return textOfValue(part.output).slice(0, limits.toolOutput)
    default:
      return part satisfies never
  }
}

function textOfValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/**
 * Removes what the tokenizer and the highlights cannot take: NUL bytes, control characters, lone surrogates. A letter with
 * its marks becomes one character, because some systems give names of files in pieces.
 */
function clean(text: string): string {
  return text
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, ' ')
    .toWellFormed()
    .normalize('NFC')
}
