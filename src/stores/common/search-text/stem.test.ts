/** Porter's stemmer, by examples of his paper. */
import { expect, it } from 'vitest'
import { stem } from './stem.ts'

it.each([
  ['caresses', 'caress'],
  ['ponies', 'poni'],
  ['cats', 'cat'],
  ['feed', 'feed'],
  ['agreed', 'agre'],
  ['plastered', 'plaster'],
  ['motoring', 'motor'],
  ['sing', 'sing'],
  ['conflated', 'conflat'],
  ['sized', 'size'],
  ['hopping', 'hop'],
  ['falling', 'fall'],
  ['filing', 'file'],
  ['happy', 'happi'],
  ['sky', 'sky'],
  ['relational', 'relat'],
  ['vietnamization', 'vietnam'],
  ['triplicate', 'triplic'],
  ['hopefulness', 'hope'],
  ['revival', 'reviv'],
  ['adoption', 'adopt'],
  ['controll', 'control'],
  ['probate', 'probat'],
  ['rate', 'rate'],
  ['yes', 'ye'],
  ['is', 'is'],
])('the stem of %s is %s', (word, expected) => {
  expect(stem(word)).toBe(expected)
})
