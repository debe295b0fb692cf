/**
 * Calls in the transcript of one agent: its own as calls, those of others as words, and none with a result of another
 * call.
 */
import { describe, expect, it } from 'vitest'
import type { Part } from '../../log/events/part.ts'
import type { Message } from '../../log/views/message.ts'
import { transcript } from './transcript.ts'

const options = { agentName: 'dev', place: 'session-1' }
const call = (callId: string, path: string): Part => ({ type: 'tool-call', callId, name: 'read', input: { path } })
const result = (callId: string, output: string): Part => ({ type: 'tool-result', callId, output })

function message(version: number, author: string, ...parts: Part[]): Message {
  return {
    id: `m${version}`,
    conversationId: 'c',
    version,
    timestamp: '2026-11-15T10:00:00.000Z',
    role: author === 'tools' ? 'user' : 'assistant',
    author,
    audience: { to: 'everyone' },
    parts,
    content: '',
    tokens: { count: 1, by: 'test' },
  }
}

describe('transcript', () => {
  it('[P6] a transcript says in words what another agent called and got', () => {
    const told = transcript(
      [message(1, 'qa', call('c1', 'a.ts')), message(2, 'tools', result('c1', 'its lines'))],
      options,
    )
    expect(told).toHaveLength(1)
    expect(told[0]!.content.every(part => part.type === 'text')).toBe(true)
    expect(JSON.stringify(told)).toContain('a.ts')
    expect(JSON.stringify(told)).toContain('its lines')
  })

  it('[P7] a transcript gives each call its own result when an id is used again', () => {
    const told = transcript(
      [
        message(1, 'dev', call('call_0', 'a.ts')),
        message(2, 'tools', result('call_0', 'lines of a')),
        message(3, 'dev', call('call_0', 'b.ts')),
        message(4, 'tools', result('call_0', 'lines of b')),
      ],
      options,
    )
    const results = told.flatMap(one => one.content.flatMap(part => (part.type === 'tool-result' ? [part.text] : [])))
    expect(results).toEqual(['lines of a', 'lines of b'])
  })

  it('[P7] a transcript does not answer a running call with the result of its namesake', () => {
    const told = transcript(
      [
        message(1, 'dev', call('call_0', 'a.ts')),
        message(2, 'tools', result('call_0', 'lines of a')),
        message(3, 'dev', call('call_0', 'b.ts')),
      ],
      options,
    )
    expect(told.map(one => one.content.map(part => part.type))).toEqual([['tool-call'], ['tool-result'], ['text']])
    expect(JSON.stringify(told.at(-1))).toContain('no result has come yet')
  })
})
