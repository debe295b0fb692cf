import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entity } from '../../../test/support/nostr.ts'
import { isBech32 } from '../text/bech32.ts'
import { findReferences, longestSearched, mostPerMessage, referenceText } from './references.ts'

const referencesIn = (text: string) => findReferences([{ type: 'text', text }]).map(referenceText)

describe('bech32', () => {
  it('bech32 takes an entity that other programs made, and none with a letter changed', () => {
    const known = 'npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6'
    expect(isBech32(known)).toBe(true)
    expect(isBech32(known.toUpperCase())).toBe(true)
    expect(isBech32(known.replace('80cvv', '80cvw'))).toBe(false)
    expect(isBech32(`N${known.slice(1)}`)).toBe(false)
    for (const odd of ['', '1', 'npub1', 'npub', 'npub1qqqqqq', '1qqqqqqqq']) expect(isBech32(odd)).toBe(false)
  })
})

describe('references in a text', () => {
  const note = entity('note', 'a note')
  const article = entity('naddr', '30023:an article')

  it('references to nostr entities are found with and without their scheme, once each, in order', () => {
    expect(referencesIn(`See nostr:${article}, (${note}) and nostr:${article}.`)).toEqual([
      `nostr:${article}`,
      `nostr:${note}`,
    ])
    expect(referencesIn(`nostr:${note.toUpperCase()}!`)).toEqual([`nostr:${note}`])
  })

  it('references are not words that only look like entities, nor secret keys', () => {
    expect(referencesIn('note1 npub1abc nostr:nevent1qqqqqqqqqq')).toEqual([])
    expect(referencesIn(`x${note} ${note}x ${note}_`)).toEqual([])
    expect(referencesIn(`nostr:${entity('nsec', 'a secret')}`)).toEqual([])
  })

  it('references to conversations and files are found, in quotes where their names are unusual', () => {
    expect(referencesIn('As in conversation:0198-ab.c. And file:src/form.ts:12, file:README.md.')).toEqual([
      'conversation:0198-ab.c',
      'file:src/form.ts',
      'file:README.md',
    ])
    expect(referencesIn('conversation:"a \\"b\\" / c" file:"my notes/a b.md" file:"Makefile"')).toEqual([
      'conversation:"a \\"b\\" / c"',
      'file:"my notes/a b.md"',
      'file:"Makefile"',
    ])
  })

  it('references are not prose, nor the address of a machine', () => {
    expect(referencesIn('the conversation: we had; file:line:column; profile:a.b; file:///etc/passwd file:')).toEqual(
      [],
    )
    expect(referencesIn('conversation:"a\nb" file:"" conversation:"bad \\x escape"')).toEqual([])
    expect(referencesIn(`conversation:"${'x'.repeat(600)}" file:"\\u0000.md" file:"\\ud800.md"`)).toEqual([])
  })

  it('references in code are passed over: fences, open or closed, and spans', () => {
    expect(referencesIn(`\`\`\`ts\nfile:a.ts ${note}\n\`\`\`\nfile:b.ts`)).toEqual(['file:b.ts'])
    expect(referencesIn('~~~~\nfile:a.ts\n~~~\nfile:c.ts\n~~~~\nfile:b.ts')).toEqual(['file:b.ts'])
    expect(referencesIn('say `file:a.ts` or ``file:c.ts ` `` but file:b.ts')).toEqual(['file:b.ts'])
    expect(referencesIn('a lone ` before file:b.ts')).toEqual(['file:b.ts'])
    expect(referencesIn('```\nfile:a.ts')).toEqual([])
  })

  it('a file part that has a path and no text is a reference', () => {
    const part = { type: 'file' as const, name: 'form.ts', path: 'src/form.ts' }
    expect(findReferences([part])).toEqual([{ kind: 'file', target: 'src/form.ts' }])
    expect(findReferences([{ ...part, text: 'all of it' }])).toEqual([])
    expect(findReferences([{ type: 'reasoning', text: 'file:a.ts' }])).toEqual([])
  })

  it('references stop after so many, and behind so many characters', () => {
    expect(referencesIn(Array.from({ length: 500 }, (_, i) => `file:${i}.md`).join(' '))).toHaveLength(mostPerMessage)
    expect(referencesIn(`${' '.repeat(longestSearched)} file:a.md`)).toEqual([])
  })

  it('any reference target survives being written and found again', () => {
    const kinds = fc.constantFrom('conversation', 'file')
    const targets = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 100 })
      .filter(text => text.isWellFormed() && !text.includes('\0'))
    fc.assert(
      fc.property(kinds, targets, (kind, target) => {
        const written = referenceText({ kind, target })
        // A backtick makes code of what stands between it and the next.
        fc.pre(!written.includes('`'))
        expect(findReferences([{ type: 'text', text: `see ${written}, please` }])).toEqual([{ kind, target }])
      }),
    )
  })

  it('finding references takes steps in proportion to the length, also for hostile text', () => {
    const hostile = [
      'note1',
      'note1q',
      'conversation:"',
      'file:/',
      '`',
      '`` ` ',
      '~~~\n',
      'file:"\\',
      'nostr:npub1q ',
      '"',
      ' ```',
    ]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...hostile), { minLength: 1, maxLength: 4 }), pieces => {
        const text = pieces.join('').repeat(Math.floor(60_000 / pieces.join('').length))
        expect(referencesIn(text).length).toBeLessThanOrEqual(mostPerMessage)
      }),
      { numRuns: 100 },
    )
  })
})
