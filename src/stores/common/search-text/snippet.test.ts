/** Words and the pieces of text around them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitScript } from './searchable.ts'
import { snippetOf } from './snippet.ts'
import { stemOf, wordsIn } from './words.ts'

describe('words', () => {
  it('words are small, without accents, stemmed, each with its place', () => {
    const text = 'Le Café est fermé, PLANNING'
    expect(wordsIn(text).map(word => word.stem)).toEqual(['le', 'cafe', 'est', 'ferm', 'plan'])
    expect(wordsIn(text).map(({ start, end }) => text.slice(start, end))).toEqual([
      'Le',
      'Café',
      'est',
      'fermé',
      'PLANNING',
    ])
  })

  it('words of scripts without spaces are single characters', () => {
    expect(wordsIn(splitScript('登录 page')).map(word => word.stem)).toEqual(['登', '录', 'page'])
  })

  it('words are never longer than an index takes', () => {
    expect(Buffer.byteLength(stemOf('é'.repeat(5000)))).toBeLessThan(512)
    expect(stemOf('x'.repeat(5000))).toHaveLength(64)
  })
})

describe('a snippet', () => {
  const marked = (text: string, ...terms: string[][]) => {
    const { snippet, highlights } = snippetOf(splitScript(text), terms)
    return highlights.map(([start, end]) => snippet.slice(start, end))
  }

  it('a snippet marks words, words in a row, and neighbours of unspaced scripts as one', () => {
    expect(marked('the red apple and a red herring', ['red', 'appl'])).toEqual(['red apple'])
    expect(marked('请检查登录页面', ['登', '录'])).toEqual(['登录'])
  })

  it('a snippet is around the place with most of the terms', () => {
    const text = `apple ${'x '.repeat(100)} apple and pear ${'x '.repeat(100)}`
    const { snippet } = snippetOf(text, [['appl'], ['pear']])
    expect(snippet).toContain('apple and pear')
    expect(snippet.length).toBeLessThan(text.length)
  })

  it('a snippet has its highlights inside, in order and apart, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), fc.string({ maxLength: 5 }), (text, word) => {
        const clean = splitScript(`${text} ${word} ${text}`)
        const terms = wordsIn(splitScript(word)).map(one => [one.stem])
        const { snippet, highlights } = snippetOf(clean, terms)
        let last = 0
        for (const [start, end] of highlights) {
          expect(start).toBeGreaterThanOrEqual(last)
          expect(end).toBeGreaterThan(start)
          expect(end).toBeLessThanOrEqual(snippet.length)
          last = end
        }
      }),
    )
  })
})
