import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addPrints, likeness, printOf, wordsIn } from './text-sketch.ts'

describe('a print', () => {
  it('a text sketch is the same for the same words, in whatever order, case and punctuation', () => {
    expect(printOf('Open the Settings, then save.')).toBe(printOf('save settings; OPEN then'))
  })

  it('text sketches differ for texts without a common word, and an empty one is like no other', () => {
    expect(likeness(printOf('alpha beta gamma'), printOf('delta epsilon zeta'))).toBe(0)
    expect(likeness(printOf(''), printOf('alpha'))).toBe(0)
    expect(likeness('', '')).toBe(1)
  })

  it('a text sketch covers texts without spaces by their pairs of characters', () => {
    expect(likeness(printOf('登录页面的错误文本丢失了'), printOf('登录页面的错误文本不见了'))).toBeGreaterThan(0.5)
    expect(likeness(printOf('登录页面的错误文本丢失了'), printOf('天气很好我们去公园散步'))).toBeLessThan(0.1)
  })

  const words = fc.uniqueArray(fc.nat(400), { maxLength: 300 }).map(list => list.map(number => `word${number}`))

  it('text sketches estimate the share of words that two texts have in common, and stay small', () => {
    let worst = 0
    fc.assert(
      fc.property(words, words, (a, b) => {
        const [setA, setB] = [new Set(a), new Set(b)]
        const both = a.filter(word => setB.has(word)).length
        const all = new Set([...setA, ...setB]).size
        const [printA, printB] = [printOf(a.join(' ')), printOf(b.join(' '))]
        worst = Math.max(worst, Math.abs(likeness(printA, printB) - (all === 0 ? 1 : both / all)))
        expect(wordsIn(printA)).toBe(Math.min(48, a.length))
      }),
      { numRuns: 300, seed: 7 },
    )
    expect(worst).toBeLessThan(0.3)
  })

  it('the sketch of a whole is the sum of the sketches of its parts', () => {
    fc.assert(
      fc.property(words, words, (a, b) => {
        expect(addPrints(printOf(a.join(' ')), printOf(b.join(' ')))).toBe(printOf([...a, ...b].join(' ')))
      }),
    )
  })
})
