/** After many compactions without a model, what was named before can still be had. */
import type { Colloquy } from 'colloquy'
import { expect, it } from 'vitest'
import { type Kind, reach, thingsIn } from '../../../bench/retention-measure.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import { recordedMessages } from '../../support/recordings/pi-session.ts'

const parts = ['login', 'signup', 'cart', 'invoice', 'search', 'profile', 'upload', 'report', 'billing', 'export']

/** A turn as coding agents have them: an instruction, a file read, a file written, a word on what was done. */
async function turn(colloquy: Colloquy, sessionId: string, part: string, number: number): Promise<void> {
  const { sessions } = colloquy
  const handler = `handle${part[0]!.toUpperCase()}${part.slice(1)}Request`
  const content = `Please rewrite the ${part} page number ${number} so that ${handler} validates every field, and keep the tests.`
  await sessions.addMessage(sessionId, { role: 'user', content })
  for (const [name, path] of [
    ['read', `src/${part}/page${number}.ts`],
    ['write', `src/${part}/form${number}.ts`],
  ] as const) {
    const callId = `${name}-${number}`
    await sessions.addMessage(sessionId, {
      role: 'assistant',
      parts: [{ type: 'tool-call', callId, name, input: { path } }],
    })
    const output = `export function ${handler}() {\n${'  // a line of the file as it was\n'.repeat(40)}}`
    const result = { type: 'tool-result' as const, callId, name, output }
    await sessions.addMessage(sessionId, { role: 'user', author: 'tools', parts: [result] })
  }
  const done = `I rewrote \`${handler}\` in src/${part}/form${number}.ts; all tests pass. We decided to use zod for ${part}.`
  await sessions.addMessage(sessionId, { role: 'assistant', content: done })
}

it('[P6] [P10] every file, identifier and instruction of a compacted range is in the checkpoint, recalled, or behind an item', async () => {
  const { colloquy } = await freshColloquy({ clock: Date.now, requests: { budget: 6_000 } })
  const { id } = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'dev', featureId: 'pages' })
  for (let number = 0; number < 30; number++) {
    await turn(colloquy, id, parts[number % parts.length]!, number)
    await colloquy.sessions.buildRequest(id, 'Next?', { recall: false })
  }
  const checkpoint = (await colloquy.sessions.getCheckpoint(id))!
  expect(checkpoint.number).toBeGreaterThan(5)
  const range = (await colloquy.sessions.getAllMessages(id)).filter(message => message.version <= checkpoint.upTo)
  const things = thingsIn(range)
  const kinds: Kind[] = ['file paths', 'identifiers', 'user instructions']
  for (const kind of kinds) expect(things.filter(thing => thing.kind === kind).length).toBeGreaterThan(8)
  const reached = await reach(colloquy, id, things)
  const lost = reached.filter(one => !one.inCheckpoint && !one.byRecall && !one.byExpand)
  expect(lost.map(one => one.thing.text)).toEqual([])
  // The checkpoint alone has most of the names, however often it was made over.
  const there = reached.filter(one => one.inCheckpoint).length
  expect(there / reached.length).toBeGreaterThan(0.5)
}, 60_000)

it('a recorded session is read as messages and the ranges that its summaries cover', () => {
  const lines = [
    { type: 'session', id: 's' },
    { type: 'message', message: { role: 'user', content: [{ type: 'text', text: 'Fix it' }] } },
    {
      type: 'message',
      message: {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'toolCall', id: 'c1', name: 'read', arguments: { path: 'a.ts' } },
        ],
      },
    },
    {
      type: 'message',
      message: { role: 'toolResult', toolCallId: 'c1', toolName: 'read', content: [{ type: 'text', text: 'lines' }] },
    },
    { type: 'compaction', summary: 'It was fixed.', firstKeptEntryIndex: 3 },
    { type: 'message', message: { role: 'bashExecution', command: 'ls', output: 'a.ts' } },
  ]
  const { messages, compactions } = recordedMessages(lines.map(line => JSON.stringify(line)).join('\n'))
  expect(messages.map(message => message.parts?.map(part => part.type) ?? message.content)).toEqual([
    'Fix it',
    ['reasoning', 'tool-call'],
    ['tool-result'],
    '$ ls\na.ts',
  ])
  expect(compactions).toEqual([{ after: 3, covers: 2, summary: 'It was fixed.' }])
})
