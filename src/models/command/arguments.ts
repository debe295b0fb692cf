/**
 * Splits a command line into words by quotes and backslashes, without a shell: `$`, `*`, `;` and `|` have no special
 * meaning.
 */
import { ModelUnknown } from '../../errors.ts'

/** @throws {ModelUnknown} when a quote is not closed, or there is no word */
export function argumentsIn(line: string): [string, ...string[]] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!
    const following = line[at + 1]
    if (quote !== '') {
      if (character === quote) quote = ''
      else if (character === '\\' && quote === '"' && (following === '"' || following === '\\')) word += line[++at]!
      else word += character
    } else if (character === "'" || character === '"') {
      quote = character
      word ??= ''
    } else if (character === '\\' && following !== undefined) word = (word ?? '') + line[++at]!
    else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + character
  }
  if (quote !== '') throw new ModelUnknown(`command:${line}`, `a ${quote} is not closed.`)
  if (word !== undefined) words.push(word)
  const [program, ...rest] = words
  if (!program) throw new ModelUnknown(`command:${line}`, 'a command must follow, as in "command:claude -p".')
  return [program, ...rest]
}
