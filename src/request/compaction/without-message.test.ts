import { describe, expect, it } from 'vitest'
import type { Checkpoint, CheckpointItem } from '../../log/events/checkpoint.ts'
import { checkpointWithout } from './without-message.ts'

const item = (id: string, text: string, sources: number[], more: Partial<CheckpointItem> = {}): CheckpointItem => ({
  id,
  section: 'facts',
  text,
  sources,
  since: 1,
  ...more,
})

function checkpoint(items: CheckpointItem[], carried: Partial<Checkpoint['carried']> = {}): Checkpoint {
  return {
    number: 1,
    base: 0,
    from: 1,
    upTo: 9,
    messages: 8,
    author: 'offline',
    items,
    carried: { openCalls: [], filesRead: [], filesChanged: [], userMessages: [], ...carried },
    tokens: { checkpoint: 100, lastCompactionInput: 1000, totalSaved: 900 },
  }
}

const erased = { version: 4, text: 'The password of the staging server is swordfish.' }

describe('a checkpoint without a message', () => {
  it('removing a message from a checkpoint gives undefined where the checkpoint has nothing of it', () => {
    expect(checkpointWithout(checkpoint([item('a', 'The page is blue', [3])]), erased)).toBeUndefined()
  })

  it('removing a message removes the items that came from it alone; the others lead to their other sources', () => {
    const items = [
      item('a', 'The page is blue', [3]),
      item('b', 'The password is swordfish', [4]),
      item('c', 'Blue, and the password is swordfish', [3, 4, 5]),
    ]
    expect(checkpointWithout(checkpoint(items), erased)?.items).toEqual([
      items[0],
      { ...items[2], text: '[erased]', sources: [3, 5] },
    ])
  })

  it('removing a message keeps an item that it resolved, without the message that shows it', () => {
    const resolved = { in: 1, sources: [4, 6] }
    const [left] = checkpointWithout(checkpoint([item('a', 'Find a blue', [3], { resolved })]), erased)!.items
    expect(left).toMatchObject({ text: 'Find a blue', resolved: { sources: [6] } })
  })

  it('removing a message removes its carried text, by its version or by its words', () => {
    const carried = {
      filesRead: ['src/login.ts'],
      userMessages: [
        { version: 3, text: 'Make it blue' },
        { version: 4, text: 'The password of' },
      ],
      notes: ['unlike anything', 'staging server is swordfish', { quote: `> ${erased.text}` }],
    }
    expect(checkpointWithout(checkpoint([], carried), erased)?.carried).toEqual({
      openCalls: [],
      filesRead: ['src/login.ts'],
      filesChanged: [],
      userMessages: [{ version: 3, text: 'Make it blue' }],
      notes: ['unlike anything'],
    })
  })

  it('removing a message works by versions alone where the words are gone already', () => {
    const without = checkpointWithout(checkpoint([item('b', 'It is swordfish', [4])]), { version: 4, text: '' })
    expect(without?.items).toEqual([])
  })
})
