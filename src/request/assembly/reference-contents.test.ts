import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Message } from '../../log/views/message.ts'
import { cutBehindContents, inPlace, oldestVersion } from './reference-contents.ts'

/** A message at a version, or the content of what one refers to. */
function at(version: number, of?: number): Message {
  return {
    id: `m${version}`,
    conversationId: 'c',
    version,
    timestamp: '2026-11-16T00:00:00.000Z',
    role: of === undefined ? 'user' : 'system',
    author: of === undefined ? 'user' : 'reference',
    audience: { to: 'everyone' },
    parts: [{ type: 'text', text: `${version}` }],
    tokens: { count: 1, by: 'fast' },
    content: `${version}`,
    ...(of !== undefined && { resolves: { reference: 'file:a.md', of, source: 'a file' } }),
  }
}

const versions = (messages: readonly Message[]) => messages.map(({ version }) => version)

describe('contents among messages', () => {
  it('reference contents come right behind their message, in their own order', () => {
    expect(versions(inPlace([at(1), at(2), at(3), at(4, 1), at(5, 2), at(6, 1)]))).toEqual([1, 4, 6, 2, 5, 3])
  })

  it('reference contents come where they were recorded when their message is not there', () => {
    expect(versions(inPlace([at(3), at(4, 1), at(5)]))).toEqual([3, 4, 5])
  })

  it('reference contents leave together with their message, and alone when it is not there', () => {
    const messages = inPlace([at(1), at(2), at(4, 1), at(5, 1)])
    expect(cutBehindContents(messages, 1)).toBe(3)
    expect(cutBehindContents(messages, 2)).toBe(3)
    expect(cutBehindContents(messages, 4)).toBe(4)
    expect(cutBehindContents([at(3), at(4, 1), at(5)], 1)).toBe(1)
  })

  it('reference contents in any order: nothing is lost or doubled, and no cut parts a content from its message', () => {
    const arbitrary = fc.array(fc.option(fc.nat(20), { nil: undefined }), { maxLength: 20 })
    fc.assert(
      fc.property(arbitrary, fc.nat(20), (ofs, wanted) => {
        const given = ofs.map((of, index) => at(index + 1, of !== undefined && of < index ? of + 1 : undefined))
        // A content is of a message, never of another content.
        const messages = given.filter(({ resolves }) => !resolves || !given[resolves.of - 1]?.resolves)
        const placed = inPlace(messages)
        expect(versions(placed).sort((a, b) => a - b)).toEqual(versions(messages))
        const cut = cutBehindContents(placed, Math.min(wanted, placed.length))
        const left = new Set(versions(placed.slice(0, cut)))
        if (wanted > 0) for (const { resolves } of placed.slice(cut)) expect(left.has(resolves?.of ?? -1)).toBe(false)
        expect(oldestVersion(placed)).toBe(messages[0]?.version)
      }),
    )
  })
})
