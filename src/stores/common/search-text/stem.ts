/**
 * Porter's stemmer for English words: 'planning', 'planned' and 'plans' become 'plan'.
 *
 * After M. F. Porter, "An algorithm for suffix stripping" (1980). The same as SQLite's full-text index uses, so that
 * both stores find the same.
 */
const consonant = '[^aeiou]'
const vowel = '[aeiouy]'
const consonants = `${consonant}[^aeiouy]*`
const vowels = `${vowel}[aeiou]*`
/** m > 0, m = 1 and m > 1, where m counts the vowel-consonant pairs of a stem; and stems that have a vowel. */
const some = new RegExp(`^(${consonants})?${vowels}${consonants}`)
const one = new RegExp(`^(${consonants})?${vowels}${consonants}(${vowels})?$`)
const more = new RegExp(`^(${consonants})?${vowels}${consonants}${vowels}${consonants}`)
const hasVowel = new RegExp(`^(${consonants})?${vowel}`)
const short = new RegExp(`^${consonants}${vowel}[^aeiouwxy]$`)

const second: Record<string, string> = {
  ational: 'ate',
  tional: 'tion',
  enci: 'ence',
  anci: 'ance',
  izer: 'ize',
  bli: 'ble',
  alli: 'al',
  entli: 'ent',
  eli: 'e',
  ousli: 'ous',
  ization: 'ize',
  ation: 'ate',
  ator: 'ate',
  alism: 'al',
  iveness: 'ive',
  fulness: 'ful',
  ousness: 'ous',
  aliti: 'al',
  iviti: 'ive',
  biliti: 'ble',
  logi: 'log',
}
const third: Record<string, string> = {
  icate: 'ic',
  ative: '',
  alize: 'al',
  iciti: 'ic',
  ical: 'ic',
  ful: '',
  ness: '',
}
const endings = {
  second:
    /^(.+?)(ational|tional|enci|anci|izer|bli|alli|entli|eli|ousli|ization|ation|ator|alism|iveness|fulness|ousness|aliti|iviti|biliti|logi)$/,
  third: /^(.+?)(icate|ative|alize|iciti|ical|ful|ness)$/,
  fourth: /^(.+?)(al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ou|ism|ate|iti|ous|ive|ize)$/,
}

/** The stem of a lower-case word of the letters a to z. */
export function stem(word: string): string {
  if (word.length < 3) return word
  // A leading y is a consonant.
  const isY = word.startsWith('y')
  let text = isY ? `Y${word.slice(1)}` : word
  text = plurals(text)
  text = pasts(text)
  const ending = /^(.+)y$/.exec(text)
  if (ending && hasVowel.test(ending[1]!)) text = `${ending[1]}i`
  text = replaced(text, endings.second, second)
  text = replaced(text, endings.third, third)
  text = withoutSuffix(text)
  const last = /^(.+)e$/.exec(text)
  if (last && (more.test(last[1]!) || (one.test(last[1]!) && !short.test(last[1]!)))) text = last[1]!
  if (text.endsWith('ll') && more.test(text)) text = text.slice(0, -1)
  return isY ? `y${text.slice(1)}` : text
}

function plurals(text: string): string {
  if (/(ss|i)es$/.test(text)) return text.slice(0, -2)
  return /[^s]s$/.test(text) ? text.slice(0, -1) : text
}

function pasts(text: string): string {
  const agreed = /^(.+)eed$/.exec(text)
  if (agreed) return some.test(agreed[1]!) ? text.slice(0, -1) : text
  const found = /^(.+?)(ed|ing)$/.exec(text)
  if (!found || !hasVowel.test(found[1]!)) return text
  const rest = found[1]!
  if (/(at|bl|iz)$/.test(rest)) return `${rest}e`
  if (/([^aeiouylsz])\1$/.test(rest)) return rest.slice(0, -1)
  return short.test(rest) ? `${rest}e` : rest
}

function replaced(text: string, pattern: RegExp, by: Record<string, string>): string {
  const found = pattern.exec(text)
  return found && some.test(found[1]!) ? `${found[1]}${by[found[2]!]}` : text
}

function withoutSuffix(text: string): string {
  const found = endings.fourth.exec(text)
  if (found) return more.test(found[1]!) ? found[1]! : text
  const ion = /^(.+?[st])ion$/.exec(text)
  return ion && more.test(ion[1]!) ? ion[1]! : text
}
