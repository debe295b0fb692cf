import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fuzzy } from './fuzzy.ts'

it('fuzzy matching finds letters in their order and nothing else', () => {
  expect(fuzzy('lgn', 'Login page')).toBeDefined()
  expect(fuzzy('gol', 'Login page')).toBeUndefined()
  expect(fuzzy('', 'anything')).toEqual({ score: 0, ranges: [] })
})

it('fuzzy matching puts whole words before scattered letters', () => {
  const score = (text: string) => fuzzy('page', text)!.score
  expect(score('Login page')).toBeGreaterThan(score('Prepare a garden'))
  expect(score('page two')).toBeGreaterThan(score('homepage'))
})

it('fuzzy matching marks exactly the letters of the query', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 6 }), fc.string({ maxLength: 40 }), (query, text) => {
      const fit = fuzzy(query, text)
      if (!fit || text.toLowerCase().length !== text.length) return
      const marked = fit.ranges.map(([from, to]) => text.toLowerCase().slice(from, to)).join('')
      expect(marked.replaceAll(' ', '')).toBe(query.trim().toLowerCase().replaceAll(' ', ''))
    }),
  )
})
