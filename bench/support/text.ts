/**
 * Messages to write: 400 bytes of prose as agents exchange it, the same in every run.
 *
 * Common words come often and rare ones seldom, with names of files and symbols between them, because an index and a
 * tokenizer both get cheaper when every message has the same few words.
 */
import { adjectives, commonWords, nouns, verbs } from './words.ts'

export const messageBytes = 400

/** A small seeded generator (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** Each as it comes from a wire or a file: a text of its own, not a cut of a longer one, which takes longer to read. */
export function messages(seed: number): () => string {
  const random = randomFrom(seed)
  /** Squaring makes the front of a list far likelier than its end, as in any language. */
  const pick = (words: readonly string[]) => words[Math.floor(random() ** 2 * words.length)]!
  const capital = (word: string) => word[0]!.toUpperCase() + word.slice(1)

  function word(): string {
    const kind = random()
    if (kind < 0.5) return pick(commonWords)
    if (kind < 0.68) return pick(nouns)
    if (kind < 0.8) return pick(verbs)
    if (kind < 0.9) return pick(adjectives)
    if (kind < 0.94) return `${pick(verbs)}${capital(pick(nouns))}`
    if (kind < 0.97) return `src/${pick(nouns)}/${pick(verbs)}-${pick(nouns)}.ts`
    return String(Math.floor(random() ** 3 * 100_000))
  }

  return function next() {
    let text = capital(word())
    let wordsLeft = 5 + Math.floor(random() * 12)
    while (text.length < messageBytes) {
      if (wordsLeft-- > 0) text += ` ${word()}`
      else {
        text += `. ${capital(word())}`
        wordsLeft = 5 + Math.floor(random() * 12)
      }
    }
    return Buffer.from(text.slice(0, messageBytes)).toString()
  }
}

/** So many messages, made before the clock starts. */
export function manyMessages(count: number, seed: number): string[] {
  const next = messages(seed)
  return Array.from({ length: count }, next)
}
