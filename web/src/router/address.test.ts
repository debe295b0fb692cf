import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { address, match, parseAddress } from './address.ts'

describe('addresses', () => {
  it('addresses come back as they were written, whatever the names are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, unit: 'grapheme' })),
        fc.dictionary(fc.string({ minLength: 1 }), fc.string()),
        (segments, query) => {
          const parsed = parseAddress(address(segments, query))
          expect(parsed.segments).toEqual(segments)
          expect({ ...parsed.query }).toEqual({ ...query })
        },
      ),
    )
  })

  it('addresses give the parameters of their pattern', () => {
    const given = parseAddress('#/shop/conversations/a%2Fb?at=12')
    expect(match(':project/conversations/:conversation', given)).toEqual({ project: 'shop', conversation: 'a/b' })
    expect(match(':project/search', given)).toBeUndefined()
    expect(given.query.at).toBe('12')
  })

  it('addresses are read even where they are no valid encoding', () => {
    expect(parseAddress('#/100%/x').segments).toEqual(['100%', 'x'])
  })
})
