/**
 * The words of a text as a full-text index has them: lower case, without accents, stemmed, each with its place.
 *
 * Our own code and not the database server's, so that every store and every locale finds the same.
 */
import { stem } from './stem.ts'

export interface Word {
  stem: string
  /** [start, end) in the text. */
  start: number
  end: number
}

/** Longer words are cut: no query has them. */
const maxWordLength = 64

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
  const lowerCase = word.toLowerCase()
  if (/^[a-z]+$/.test(lowerCase))
    return lowerCase.length > maxWordLength ? lowerCase.slice(0, maxWordLength) : stem(lowerCase)
  const bare = lowerCase
    .normalize('NFD')
    .replace(/([\p{Script=Latin}\p{Script=Greek}])\p{Mn}+/gu, '$1')
    .normalize('NFC')
  const cut = [...bare].slice(0, maxWordLength).join('')
  return /^[a-z]+$/.test(cut) ? stem(cut) : cut
}
