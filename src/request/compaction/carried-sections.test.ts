import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CarriedState } from '../../log/events/checkpoint.ts'
import type { Part } from '../../log/events/part.ts'
import { type Message, messageOf } from '../../log/views/message.ts'
import { messageAdded } from '../../testing/builders.ts'
import { carriedSections } from './carried-sections.ts'
import { foldCarried } from './computed-sections.ts'

function message(version: number, parts: Part[], role: 'user' | 'assistant' = 'assistant'): Message {
  return messageOf({ conversationId: 'c', version, at: '', event: messageAdded('', { parts, role }) })!
}
const call = (callId: string, name = 'bash', input: unknown = {}): Part => ({ type: 'tool-call', callId, name, input })
const result = (callId: string): Part => ({ type: 'tool-result', callId, output: 'ok' })
const user = (version: number, text: string) => message(version, [{ type: 'text', text }], 'user')

type Limits = Parameters<typeof carriedSections>[0]
const carryOn = (base: CarriedState | undefined, messages: readonly Message[], limits?: Limits) =>
  foldCarried(carriedSections(limits), base, messages)

describe('the carried sections', () => {
  it('[P10] carried sections name the calls that have no result yet, and close those of the state before', () => {
    const first = carryOn(undefined, [message(1, [call('a'), call('b')]), message(2, [result('a')])])
    expect(first.openCalls).toEqual([{ callId: 'b', name: 'bash', version: 1 }])
    expect(carryOn(first, [message(3, [result('b'), call('c', 'delegate')])]).openCalls).toEqual([
      { callId: 'c', name: 'delegate', version: 3 },
    ])
  })

  it.each([
    ['read', { path: 'a.ts' }, ['a.ts'], []],
    ['Read', { file_path: 'a.ts' }, ['a.ts'], []],
    ['read_file', '{"filePath": "a.ts"}', ['a.ts'], []],
    ['mcp__files__read_multiple_files', { paths: ['a.ts', 'b.ts'] }, ['a.ts', 'b.ts'], []],
    ['Edit', { file_path: 'a.ts', old_string: 'x' }, [], ['a.ts']],
    ['write', { path: 'a.ts', content: 'x' }, [], ['a.ts']],
    ['apply_patch', '*** Begin Patch\n*** Update File: a.ts\n@@\n*** Add File: b.ts\n', [], ['a.ts', 'b.ts']],
    ['apply_patch', { input: '*** Delete File: a.ts\n' }, [], ['a.ts']],
    ['str_replace_based_edit_tool', { command: 'view', path: 'a.ts' }, ['a.ts'], []],
    ['str_replace_editor', { command: 'create', path: 'a.ts' }, [], ['a.ts']],
    ['MultiEdit', { file_path: 'a.ts', edits: [{ old_string: 'x' }] }, [], ['a.ts']],
    ['edit_file', { files: [{ path: 'a.ts' }] }, [], ['a.ts']],
    ['bash', { command: 'cat a.ts', path: 'b.ts' }, [], []],
    ['read', { path: '' }, [], []],
    ['read', null, [], []],
  ])('carried sections list the files of %s %j', (name, input, read, changed) => {
    expect(carryOn(undefined, [message(1, [call('a', name, input)])])).toMatchObject({
      filesRead: read,
      filesChanged: changed,
    })
  })

  it('carried sections keep the newest of everything, each once', () => {
    const limits = { openCalls: 2, files: 2, userMessages: 2, characters: 10 }
    const messages = ['a', 'b', 'a', 'c'].map((path, at) => message(at + 1, [call(`${at}`, 'read', { path })]))
    const state = carryOn(undefined, [...messages, user(5, 'one'), user(6, 'two'), user(7, 'three')], limits)
    expect(state.filesRead).toEqual(['a', 'c'])
    expect(state.openCalls.map(({ version }) => version)).toEqual([3, 4])
    expect(state.userMessages.map(({ text }) => text)).toEqual(['two', 'three'])
  })

  it('[P10] carried sections keep user messages word for word up to a bound, and say where the rest is', () => {
    const { userMessages } = carryOn(undefined, [user(1, ' a\n b '), user(2, `${'x'.repeat(9)}🙂${'y'.repeat(20)}`)], {
      characters: 10,
    })
    expect(userMessages).toEqual([
      { version: 1, text: ' a\n b ' },
      { version: 2, text: `${'x'.repeat(9)}\n[… 22 more characters in message 2]` },
    ])
  })

  it('carried sections leave out what a harness says in the user’s place, and messages that only return results', () => {
    const internal = { ...user(1, 'iteration 3'), internal: true }
    expect(carryOn(undefined, [internal, message(2, [result('a')], 'user')]).userMessages).toEqual([])
  })

  it('carried sections fold to the same state as reading everything at once', () => {
    const ids = fc.constantFrom('1', '2', '3')
    const part: fc.Arbitrary<Part> = fc.oneof(
      ids.map(result),
      fc
        .tuple(ids, fc.constantFrom('read', 'edit', 'bash'), fc.constantFrom('a', 'b', 'c', 'd'))
        .map(([id, name, path]) => call(id, name, { path })),
      fc.constantFrom('', 'hello', 'a longer text').map((text): Part => ({ type: 'text', text })),
    )
    const entry = fc.tuple(fc.array(part, { maxLength: 3 }), fc.constantFrom('user' as const, 'assistant' as const))
    const limits = { openCalls: 99, files: 3, userMessages: 2, characters: 6 }
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 25 }), fc.array(fc.nat(25), { maxLength: 4 }), (entries, cuts) => {
        const messages = entries.map(([parts, role], at) => message(at + 1, parts, role))
        let state: CarriedState | undefined
        const places = [0, ...cuts.map(cut => Math.min(cut, messages.length)).sort((a, b) => a - b), messages.length]
        places.slice(1).forEach((end, at) => {
          state = carryOn(state, messages.slice(places[at], end), limits)
        })
        expect(state).toEqual(carryOn(undefined, messages, limits))
        expect(state).toEqual(naively(messages, limits))
        CarriedState.parse(state)
      }),
      { numRuns: 500 },
    )
  })
})

/** The same by asking every question of the whole list. */
function naively(
  messages: Message[],
  limits: { files: number; userMessages: number; characters: number },
): CarriedState {
  const steps = messages.flatMap(({ version, parts }) => parts.map(part => ({ version, part })))
  const newestOnce = (files: string[]) =>
    files.filter((file, at) => files.lastIndexOf(file) === at).slice(-limits.files)
  const pathsOf = (tool: string) =>
    newestOnce(
      steps.flatMap(({ part }) =>
        part.type === 'tool-call' && part.name === tool ? [(part.input as { path: string }).path] : [],
      ),
    )
  return {
    openCalls: steps.flatMap(({ version, part }, at) => {
      if (part.type !== 'tool-call') return []
      const later = steps.slice(at + 1).some(({ part: other }) => 'callId' in other && other.callId === part.callId)
      return later ? [] : [{ callId: part.callId, name: part.name, version }]
    }),
    filesRead: pathsOf('read'),
    filesChanged: pathsOf('edit'),
    userMessages: messages
      .filter(({ role, content }) => role === 'user' && content.trim() !== '')
      .map(({ version, content }) => ({
        version,
        text:
          content.length > limits.characters
            ? `${content.slice(0, limits.characters)}\n[… ${content.length - limits.characters} more characters in message ${version}]`
            : content,
      }))
      .slice(-limits.userMessages),
  }
}
