import { describe, expect, it } from 'vitest'
import { bySection, keyOf, type LedgerEntry } from './part-key.ts'

const entries: LedgerEntry[] = [
  { what: 'description', fate: 'kept', tokens: 40, why: 'always' },
  { what: 'messages', fate: 'summarised', tokens: 0, why: 'in checkpoint 1', range: { from: 3, to: 9, messages: 7 } },
  { what: 'message', fate: 'kept', tokens: 5, why: 'pinned', versions: [2] },
  { what: 'messages', fate: 'left-out', tokens: 900, why: 'older', range: { from: 10, to: 12, messages: 3 } },
  { what: 'message', fate: 'trimmed', tokens: 10, why: 'an old tool result was shortened', versions: [13] },
  { what: 'catch-up', fate: 'kept', tokens: 7, why: 'it came while the agent was away', versions: [14] },
  { what: 'recall', fate: 'left-out', tokens: 0, why: 'no room in its share', versions: [2] },
  { what: 'message', fate: 'kept', tokens: 3, why: 'the message this request is for' },
]

describe('the ledger by section', () => {
  it('the ledger by section adds up what takes room, and counts nothing that was left out', () => {
    expect(bySection(entries).map(({ name, tokens }) => [name, tokens])).toEqual([
      ['description', 40],
      ['pinned', 5],
      ['messages', 10],
      ['catch-up', 7],
      ['recall', 0],
      ['message', 3],
    ])
  })

  it('the ledger by section finds the text of an entry: a message by its version, a quote of it apart', () => {
    expect(keyOf(entries[4]!)).toBe(keyOf({ what: 'history', versions: [13] }))
    expect(keyOf(entries[5]!)).toBe(keyOf({ what: 'catch-up', versions: [14] }))
    expect(keyOf(entries[6]!)).not.toBe(keyOf({ what: 'pinned', versions: [2] }))
    expect(keyOf(entries[7]!)).toBe(keyOf({ what: 'message' }))
  })
})
