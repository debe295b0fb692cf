import { describe, expect, it } from 'vitest'
import { readMessages } from './read-messages.ts'

const two = [
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: [{ type: 'text', text: 'Good day' }] },
]
const read = [
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: 'Good day' },
]

describe('messages of a file', () => {
  it('are read from a list, a session, and lines', () => {
    expect(readMessages(JSON.stringify(two)).messages).toEqual(read)
    expect(readMessages(JSON.stringify({ id: 'pm-feature-x', messages: two }))).toEqual({
      title: 'pm-feature-x',
      messages: read,
      left: 0,
    })
    expect(readMessages(two.map(one => JSON.stringify(one)).join('\n')).messages).toEqual(read)
  })

  it('are read from our own export, authors included', () => {
    const lines = [
      { version: 1, event: { type: 'conversation.created', title: 'x' } },
      {
        version: 2,
        event: { type: 'message.added', role: 'user', author: 'owner', parts: [{ type: 'text', text: 'Hi' }] },
      },
    ]
    expect(readMessages(lines.map(one => JSON.stringify(one)).join('\n'))).toEqual({
      title: undefined,
      messages: [{ role: 'user', author: 'owner', content: 'Hi' }],
      left: 1,
    })
  })

  it('say which line is none', () => {
    expect(() => readMessages('{"role":"user","content":"a"}\nnonsense')).toThrow('Line 2 is no JSON.')
  })
})
