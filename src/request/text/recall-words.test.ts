import { describe, expect, it } from 'vitest'
import { recallWords } from './recall-words.ts'

describe('words worth looking up', () => {
  it('recall words are those that say what a text is about', () => {
    expect(recallWords('What was it about the xylophone, and who would want that?')).toEqual(['xylophone'])
    expect(recallWords('Please make it so.')).toEqual([])
  })

  it('recall words are the rarest of many, in their order', () => {
    const text =
      'Earlier today somebody else changed parseToken in src/auth/session_store.ts while testing release candidate build number 4711 of the whole login page'
    const words = recallWords(text)
    expect(words).toHaveLength(8)
    expect(words).toEqual(expect.arrayContaining(['parseToken', 'session_store', '4711', 'candidate']))
  })

  it('recall words may be of every script', () => {
    expect(recallWords('日本語 の ログイン')).toEqual(['日本語', 'の', 'ログイン'])
  })
})
