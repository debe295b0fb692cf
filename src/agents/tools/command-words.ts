/** Splits a command line into words by quotes and backslashes, without a shell, and checks it against an allow-list. */
export function commandWords(line: string): { words: string[] } | { problem: string } {
  const words: string[] = []
  let word: string | undefined
  let quote: string | undefined
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!
    if (quote !== undefined) {
      if (character === quote) quote = undefined
      else if (character === '\\' && quote === '"' && /["\\$`]/.test(line[at + 1] ?? '')) word += line[++at]!
      else word += character
    } else if (character === '"' || character === "'") {
      quote = character
      word ??= ''
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (/[|&;<>`\n]/.test(character)) {
      return { problem: `There is no shell: "${character}" works only inside quotes.` }
    } else word = (word ?? '') + (character === '\\' ? (line[++at] ?? '') : character)
  }
  if (quote !== undefined) return { problem: 'A quote is not closed.' }
  if (word !== undefined) words.push(word)
  return words.length === 0 ? { problem: 'The command is empty.' } : { words }
}

/**
 * True when the words start with all words of an entry: `npm test` allows `npm test -- login` but not `npm publish`.
 */
export function isAllowed(words: readonly string[], allowed: readonly string[]): boolean {
  return allowed.some(entry => {
    const prefix = entry.trim().split(/\s+/)
    return entry.trim() === '*' || (prefix[0] !== '' && prefix.every((word, index) => words[index] === word))
  })
}
