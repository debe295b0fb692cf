/**
 * Which words of a message are worth looking up for recall.
 *
 * Every message has "what" and "the": looking those up ranks the whole log to find nothing, and takes the longer the
 * more there is. A few words that say what it is about find the same quotes, at a cost that does not grow as fast.
 */

/** More would only add weaker ones. */
const mostWords = 8

export function recallWords(text: string): string[] {
  const words = new Map<string, string>()
  for (const [word] of text.matchAll(/[\p{L}\p{N}\p{M}_]+/gu)) {
    const key = word.toLowerCase()
    if (!commonWords.has(key) && (word.length > 2 || !/^[a-z]+$/i.test(word)) && !words.has(key)) words.set(key, word)
  }
  const all = [...words.values()]
  if (all.length <= mostWords) return all
  const chosen = new Set([...all].sort((a, b) => weightOf(b) - weightOf(a)).slice(0, mostWords))
  return all.filter(word => chosen.has(word))
}

/** Names of things (with capitals inside, digits, underscores) tell most, then long words. */
function weightOf(word: string): number {
  return Math.min(word.length, 16) + (/[a-z][A-Z]|\d|_/.test(word) ? 10 : 0)
}

const commonWords: ReadonlySet<string> = new Set(
  `a about after again all also am an and any are as at be because been before being but by can could did do does doing
  done down each else ever every for from get give go going good had has have he her here him his how i if in into is it
  its just know let like look make many may me might more most much must my need new no not now of off ok okay on once
  one only or other our out over own please put really right said same say see shall she should so some still such sure
  take tell than thank thanks that the their them then there these they thing things think this those to too try two up
  us use very want was way we well went were what when where which while who why will with would yes yet you your`.split(
    /\s+/,
  ),
)
