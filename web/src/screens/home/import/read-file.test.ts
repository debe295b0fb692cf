import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readFile } from './read-file.ts'

const lines = (...values: unknown[]) => values.map(value => JSON.stringify(value)).join('\n')
const user = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] })
const assistant = (text: string) => ({ role: 'assistant', parts: [{ type: 'text', text }] })

const two = [
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: [{ type: 'text', text: 'Good day' }] },
]
const read = [user('Hello'), assistant('Good day')]

describe('messages with roles', () => {
  it('messages with roles are read from a list, a document, and lines', () => {
    expect(readFile(JSON.stringify(two))).toEqual({ title: 'Hello', messages: read, problems: [], aside: 0 })
    expect(readFile(JSON.stringify({ id: 'pm-feature-x', messages: two }))).toMatchObject({
      title: 'pm-feature-x',
      messages: read,
    })
    expect(readFile(`\uFEFF${lines(...two)}\n\n`).messages).toEqual(read)
    expect(readFile(lines(two[0])).messages).toEqual([read[0]])
  })

  it('messages with roles keep their time and author', () => {
    const [first, second] = readFile(
      JSON.stringify([
        { role: 'user', author: 'owner', content: 'a', timestamp: 1_767_000_000 },
        {
          role: 'assistant',
          content: 'b',
          timestamp: '2026-01-01T00:00:00Z',
          metadata: { agentType: 'pm', originalTimestamp: '2024-12-15T10:30:00.000Z' },
        },
      ]),
    ).messages
    expect(first).toMatchObject({ author: 'owner', metadata: { originalTimestamp: '2025-12-29T09:20:00.000Z' } })
    expect(second).toMatchObject({ author: 'pm', metadata: { originalTimestamp: '2024-12-15T10:30:00.000Z' } })
  })

  it('messages with roles have their tool calls and results, as APIs write them', () => {
    const call = { type: 'tool-call', callId: 'c1', name: 'read', input: { path: 'x' } }
    const result = { type: 'tool-result', callId: 'c1', name: 'read', output: 'found' }
    const anthropic = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'read', input: { path: 'x' } }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'found' }] }],
      },
    ]
    const openai = [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"x"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'found' },
    ]
    for (const form of [anthropic, openai]) {
      expect(readFile(JSON.stringify(form)).messages).toEqual([
        { role: 'assistant', parts: [call] },
        { role: 'user', author: 'tools', parts: [result] },
      ])
    }
  })

  it('entries that are no message are named with their place and the reason', () => {
    const { messages, problems } = readFile(lines({ content: 'who?' }, two[0], { role: 'user', content: '' }, 7))
    expect(messages).toEqual([read[0]])
    expect(problems).toEqual(['line 4: it is no object', 'line 1: it has no role', 'line 3: it says nothing'])
  })

  it('a file with a line that is no JSON is not read as messages, and that line is named', () => {
    expect(() => readFile(`${lines(two[0])}\nnonsense`)).toThrow('Line 2 is no JSON. Nothing was brought along.')
    expect(() => readFile('# Notes\n')).toThrow('neither JSON nor lines of it')
  })

  it('a file of beads is recognised, and not read as messages', () => {
    const issue = { id: 'b-1', title: 'Slow', status: 'open', priority: 1, issue_type: 'bug' }
    expect(readFile(lines(issue))).toMatchObject({ messages: [], isBeads: true })
  })

  it('any JSON is read or refused, but never breaks', () => {
    fc.assert(fc.property(fc.jsonValue(), value => void readFile(JSON.stringify(value))))
    fc.assert(fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), values => void readFile(lines(...values))))
  })
})

describe('a session of Claude Code', () => {
  const record = (
    type: 'user' | 'assistant',
    uuid: string,
    parentUuid: string | null,
    content: unknown,
    more = {},
  ) => ({
    ...{ type, uuid, parentUuid, isSidechain: false, sessionId: 'S', timestamp: '2026-01-01T00:00:00.000Z' },
    message: { role: type, content, ...more },
  })
  const at = { originalTimestamp: '2026-01-01T00:00:00.000Z' }

  it('a session of Claude Code is the line to its newest record: one message for each answer, tools as parts', () => {
    const { title, messages, aside } = readFile(
      lines(
        { type: 'file-history-snapshot', snapshot: {} },
        record('user', 'u1', null, 'Build it'),
        record('assistant', 'x1', 'u1', [{ type: 'text', text: 'An answer that was taken back' }]),
        record('assistant', 'a1', 'u1', [{ type: 'thinking', thinking: 'hm' }], { id: 'm1' }),
        record('assistant', 'a2', 'a1', [{ type: 'tool_use', id: 't', name: 'Read', input: {} }], { id: 'm1' }),
        record('user', 't1', 'a2', [{ type: 'tool_result', tool_use_id: 't', content: 'x', is_error: true }]),
        { ...record('user', 's1', 'a1', 'aside'), isSidechain: true },
        { ...record('user', 'h1', 't1', 'hidden'), isMeta: true },
        record('assistant', 'a3', 't1', [{ type: 'text', text: 'Done' }], { id: 'm2' }),
        { type: 'custom-title', customTitle: 'The build', sessionId: 'S' },
      ),
    )
    expect(title).toBe('The build')
    expect(messages).toEqual([
      { ...user('Build it'), metadata: at },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'hm' },
          { type: 'tool-call', callId: 't', name: 'Read', input: {} },
        ],
        metadata: at,
      },
      {
        role: 'user',
        author: 'tools',
        parts: [{ type: 'tool-result', callId: 't', name: 'Read', output: 'x', isError: true }],
        metadata: at,
      },
      { ...assistant('Done'), metadata: at },
    ])
    expect(aside).toBe(3)
  })

  it('a session of Claude Code goes on behind a compaction, whose summary is internal', () => {
    const { messages } = readFile(
      lines(
        record('user', 'u1', null, 'First'),
        { type: 'system', subtype: 'compact_boundary', uuid: 'b1', parentUuid: null, logicalParentUuid: 'u1' },
        { ...record('user', 's1', 'b1', 'A summary'), isCompactSummary: true },
        record('assistant', 'a1', 's1', [{ type: 'text', text: 'Second' }]),
      ),
    )
    expect(messages.map(({ parts: [part], internal }) => [part?.type === 'text' && part.text, internal])).toEqual([
      ['First', undefined],
      ['A summary', true],
      ['Second', undefined],
    ])
  })

  it('a session of Claude Code is read although its records form a circle, or name none', () => {
    const circle = lines(record('user', 'a', 'b', 'one'), record('assistant', 'b', 'a', 'two'))
    expect(readFile(circle).messages).toHaveLength(2)
    const loose = lines(record('user', 'a', null, 'one'), record('assistant', 'b', null, 'two'))
    expect(readFile(loose).messages).toHaveLength(2)
  })
})

describe('sessions of other hosts', () => {
  it('sessions of Codex are read', () => {
    const item = (payload: object) => ({ timestamp: '2026-01-01T00:00:00Z', type: 'response_item', payload })
    const { messages, problems } = readFile(
      lines(
        { type: 'session_meta', payload: { id: 'T' } },
        item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }),
        item({ type: 'function_call', name: 'exec', arguments: '{"cmd":"ls"}', call_id: 'c1' }),
        item({ type: 'function_call_output', call_id: 'c1', output: 'files' }),
        item({ type: 'reasoning', encrypted_content: 'x' }),
      ),
    )
    expect(messages.map(({ role, parts }) => [role, parts[0]])).toEqual([
      ['user', { type: 'text', text: 'hi' }],
      ['assistant', { type: 'tool-call', callId: 'c1', name: 'exec', input: { cmd: 'ls' } }],
      ['user', { type: 'tool-result', callId: 'c1', name: 'exec', output: 'files' }],
    ])
    expect(problems).toEqual([])
  })

  it('sessions of pi are read', () => {
    const message = (id: string, parentId: string | null, inner: object) => ({
      type: 'message',
      id,
      parentId,
      message: inner,
    })
    const { messages } = readFile(
      lines(
        { type: 'session', version: 3, id: 'S' },
        message('a', null, { role: 'user', content: 'hi' }),
        message('b', 'a', { role: 'assistant', content: [{ type: 'toolCall', id: 'c', name: 'bash', arguments: {} }] }),
        message('c', 'b', {
          role: 'toolResult',
          toolCallId: 'c',
          toolName: 'bash',
          content: [{ type: 'text', text: 'out' }],
        }),
      ),
    )
    expect(messages.map(({ parts: [part] }) => part?.type)).toEqual(['text', 'tool-call', 'tool-result'])
    expect(messages[2]?.parts[0]).toMatchObject({ output: 'out', name: 'bash' })
  })
})

describe('an export of ours', () => {
  it('an exported archive is recognised by its heading, and its messages can be read', () => {
    const archive = lines(
      { colloquy: 'archive', format: 1, project: 'shop', conversationId: 'c', events: 3 },
      { version: 1, type: 'conversation.created', at: 1, body: JSON.stringify({ title: 'Login page' }) },
      { blob: 'd1', json: '"a long text"' },
      {
        ...{ version: 2, type: 'message.added', at: 1_767_000_000_000 },
        body: JSON.stringify({ role: 'user', author: 'owner', tokens: [1, 'x'], text: 'Hi' }),
      },
      {
        ...{ version: 3, type: 'message.added', at: 1_767_000_000_000 },
        body: JSON.stringify({
          role: 'assistant',
          parts: [{ type: 'text', text: null }],
          blobs: [[0, 'text', 'd1']],
        }),
      },
      { end: true, events: 3, hash: 'x' },
    )
    expect(readFile(archive)).toMatchObject({
      title: 'Login page',
      archive: { project: 'shop', conversationId: 'c' },
      messages: [{ ...user('Hi'), author: 'owner' }, assistant('a long text')],
      problems: [],
    })
  })
})

describe('sessions that people recorded', () => {
  const place = join(import.meta.dirname, '../../../../../../shared/data/claude-code')
  it.skipIf(!existsSync(place))('recorded sessions are read without a problem (../shared/data is not here)', () => {
    for (const name of readdirSync(place)) {
      const { messages, problems } = readFile(readFileSync(join(place, name), 'utf8'))
      const odd = problems.filter(problem => !problem.endsWith('it is no object'))
      expect({ name, isRead: messages.length > 0, odd }).toEqual({ name, isRead: true, odd: [] })
    }
  })
})
