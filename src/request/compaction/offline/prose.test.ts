import { describe, expect, it } from 'vitest'
import { clipped, gist, sentencesOf } from './prose.ts'

const texts = (text: string) => sentencesOf(text).map(sentence => sentence.text)

describe('sentencesOf', () => {
  it('sentences are split without Markdown at the end of sentences, not at dots in names', () => {
    expect(texts('**Moved** config.ts to src. Is that right? Yes!')).toEqual([
      'Moved config.ts to src.',
      'Is that right?',
      'Yes!',
    ])
  })

  it('sentences leave out code, tables, traces and JSON', () => {
    expect(
      texts('Look:\n```ts\nconst never = 1\n```\n| a | b |\n    at main (a.ts:1)\n{"type": "x"}\nSo it is.'),
    ).toEqual(['Look:', 'So it is.'])
  })

  it('sentences know ticked items and the title of a list', () => {
    expect(sentencesOf('## Next steps\n- [ ] Write tests\n- [x] Plan it\n\nAnd so on.\n- Alone here')).toEqual([
      { text: 'Next steps', isLabel: true },
      { text: 'Write tests', ticked: false, under: 'next steps' },
      { text: 'Plan it', ticked: true, under: 'next steps' },
      { text: 'And so on.' },
      { text: 'Alone here' },
    ])
  })
})

it('shortened prose is cut at a word, never in the middle of a character', () => {
  expect(clipped('one two three four', 15)).toBe('one two three…')
  expect(clipped(`${'x'.repeat(8)}🙂🙂🙂`, 10).isWellFormed()).toBe(true)
  expect(clipped('a\n b', 10)).toBe('a b')
})

it('shortened prose has the first sentences that fit, or the beginning of a text without any', () => {
  expect(gist('This is the first one. This is the second one.', 30)).toBe('This is the first one.')
  expect(gist('{"type": "message", "content": "x"}', 12)).toBe('{"type":…')
})
