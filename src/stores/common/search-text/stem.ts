/**
 * Porter's stemmer for English words: 'planning', 'planned' and 'plans' become 'plan'.
 *
 * M. F. Porter, "An algorithm for suffix stripping", 1980. SQLite's full-text index uses the same, so both stores find
 * the same.
 */
const consonant = '[^aeiou]'
const vowel = '[aeiouy]'
const consonants = `${consonant}[^aeiouy]*`
const vowels = `${vowel}[aeiou]*`
/** Stems by the number of their vowel-consonant pairs, which the paper calls m. */
const oneOrMorePairs = new RegExp(`^(${consonants})?${vowels}${consonants}`)
const onePair = new RegExp(`^(${consonants})?${vowels}${consonants}(${vowels})?$`)
const twoOrMorePairs = new RegExp(`^(${consonants})?${vowels}${consonants}${vowels}${consonants}`)
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

/** Returns the stem of a lower-case word of the letters a to z. */
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
  if (last && (twoOrMorePairs.test(last[1]!) || (onePair.test(last[1]!) && !short.test(last[1]!)))) text = last[1]!
  if (text.endsWith('ll') && twoOrMorePairs.test(text)) text = text.slice(0, -1)
  return isY ? `y${text.slice(1)}` : text
}

function plurals(text: string): string {
  if (/(ss|i)es$/.test(text)) return text.slice(0, -2)
  return /[^s]s$/.test(text) ? text.slice(0, -1) : text
}

function pasts(text: string): string {
  const agreed = /^(.+)eed$/.exec(text)
  if (agreed) return oneOrMorePairs.test(agreed[1]!) ? text.slice(0, -1) : text
  const match = /^(.+?)(ed|ing)$/.exec(text)
  if (!match || !hasVowel.test(match[1]!)) return text
  const base = match[1]!
  if (/(at|bl|iz)$/.test(base)) return `${base}e`
  if (/([^aeiouylsz])\1$/.test(base)) return base.slice(0, -1)
  return short.test(base) ? `${base}e` : base
}

function replaced(text: string, pattern: RegExp, by: Record<string, string>): string {
  const match = pattern.exec(text)
  return match && oneOrMorePairs.test(match[1]!) ? `${match[1]}${by[match[2]!]}` : text
}

function withoutSuffix(text: string): string {
  const match = endings.fourth.exec(text)
  if (match) return twoOrMorePairs.test(match[1]!) ? match[1]! : text
  const ion = /^(.+?[st])ion$/.exec(text)
  return ion && twoOrMorePairs.test(ion[1]!) ? ion[1]! : text
}
