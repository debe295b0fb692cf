/**
 * A text as the words a full-text index knows: small letters, without accents, stemmed; each with its place in the text.
 *
 * Made here and not by the server, so that every store and every locale of a server finds the same.
 */
import { stem } from './stem.ts'

export interface Word {
  stem: string
  /** [start, end) in the text. */
  start: number
  end: number
}

/** A longer one is nobody's query; its beginning will do. */
const longestWord = 64

/** The text must have been through `splitScript`. */
export function wordsIn(text: string): Word[] {
  const words: Word[] = []
  for (const match of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    const stemmed = stemOf(match[0])
    if (stemmed !== '') words.push({ stem: stemmed, start: match.index, end: match.index + match[0].length })
  }
  return words
}

export function stemOf(word: string): string {
  const small = word.toLowerCase()
  if (/^[a-z]+$/.test(small)) return small.length > longestWord ? small.slice(0, longestWord) : stem(small)
  const bare = small
    .normalize('NFD')
    .replace(/([\p{Script=Latin}\p{Script=Greek}])\p{Mn}+/gu, '$1')
    .normalize('NFC')
  const cut = [...bare].slice(0, longestWord).join('')
  return /^[a-z]+$/.test(cut) ? stem(cut) : cut
}
