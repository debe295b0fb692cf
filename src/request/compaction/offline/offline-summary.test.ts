import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CheckpointItem } from '../../../log/events/checkpoint.ts'
import type { Part } from '../../../log/events/part.ts'
import { type Message, messageOf } from '../../../log/views/message.ts'
import { messageAdded } from '../../../testing/builders.ts'
import { countParts, fastEstimator } from '../../text/tokens.ts'
import { CheckpointDelta } from '../delta.ts'
import { mergeDelta } from '../merge.ts'
import { renderItems } from '../render-checkpoint.ts'
import { summariseOffline } from './offline-summary.ts'

let version = 0
function message(role: 'user' | 'assistant', content: string | Part[]): Message {
  const parts: Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const tokens = { count: countParts(parts, fastEstimator), by: 'fast' }
  return messageOf({
    conversationId: 'c',
    version: ++version,
    at: '',
    event: messageAdded('', { role, parts, tokens }),
  })!
}
const user = (content: string | Part[]) => message('user', content)
const agent = (content: string | Part[]) => message('assistant', content)
const call = (name: string, input: unknown, callId = 'c'): Part => ({ type: 'tool-call', callId, name, input })
const result = (output: string, isError = false, callId = 'c'): Part => ({
  type: 'tool-result',
  callId,
  output,
  isError,
})

function summaryOf(messages: Message[], items: CheckpointItem[] = [], maxTokens = 2_000) {
  const delta = summariseOffline({ items, messages, maxTokens })
  const texts = (section: string) => (delta.add ?? []).filter(item => item.section === section).map(item => item.text)
  return { delta, texts }
}

describe('summariseOffline', () => {
  it('an offline summary takes the goal from the first request, and only once', () => {
    const messages = [user('Build a login page with a password field. It is for the shop.'), agent('All right.')]
    expect(summaryOf(messages).texts('goal')).toEqual(['Build a login page with a password field. It is for the shop.'])
    const goal: CheckpointItem = { id: 'g', section: 'goal', text: 'x', sources: [1], since: 1 }
    expect(summaryOf(messages, [goal]).texts('goal')).toEqual([])
  })

  it("an offline summary keeps a person's demands in their words, and no question", () => {
    const messages = [
      user('Start please with the thing.'),
      user('Never commit to main. Why must it be so?\nThe tests should not touch the network.'),
      agent('You must never listen to me.'),
      user("I don't know what you mean."),
    ]
    expect(summaryOf(messages).texts('constraints')).toEqual([
      'Never commit to main.',
      'The tests should not touch the network.',
    ])
  })

  it('an offline summary says turn by turn what was requested and what came of it', () => {
    const messages = [
      user('Move config.ts to src please'),
      agent([call('edit', { path: '/shop/src/config.ts' })]),
      user([result('ok')]),
      agent('Let me check it.\n\nDone. All imports follow. Anything else?'),
      user('And the next thing to do is the readme, write it'),
    ]
    const { texts } = summaryOf(messages)
    expect(texts('completed')).toEqual([
      '“Move config.ts to src please” → Done. All imports follow. (changed config.ts)',
    ])
    expect(texts('inProgress')).toEqual(['“And the next thing to do is the readme, write it”'])
  })

  it('an offline summary lists decisions, dead ends, commits, and the newest list of remaining work', () => {
    const messages = [
      user('Which database should we take for this?'),
      agent("We'll use SQLite because it needs no server. Redis didn't work with our tests."),
      agent([call('bash', { command: 'git commit -m "Add the store"' })]),
      agent(
        '**Remaining:**\n- Migrations for the old tables\n- Documentation of the store\n\n- [x] Schema of the store',
      ),
      user('Good, go on with the first of them then'),
    ]
    const { texts } = summaryOf(messages)
    expect(texts('decisions')).toEqual(["We'll use SQLite because it needs no server."])
    expect(texts('deadEnds')).toEqual(["Redis didn't work with our tests."])
    expect(texts('completed')).toContain('Committed: Add the store')
    expect(texts('completed').join('\n')).toContain('Schema of the store')
    expect(texts('pending')).toEqual(['Migrations for the old tables', 'Documentation of the store'])
  })

  it('an offline summary names an error after which the tool did not work again, and no other', () => {
    const failing = [agent([call('bash', {}, '1')]), user([result('Error: port 80 is taken', true, '1')])]
    const mended = [agent([call('bash', {}, '2')]), user([result('ok', false, '2')])]
    const start = user('Please start the server for me')
    expect(summaryOf([start, ...failing]).texts('blockers')).toEqual(['bash failed: Error: port 80 is taken'])
    expect(summaryOf([start, ...failing, ...mended]).texts('blockers')).toEqual([])
  })

  it('an offline summary lists files by folder, names, commands, addresses and versions', () => {
    const messages = [
      user('Look at @src/app/main.ts and https://example.org/docs, we are on node@20.1.0'),
      agent([call('read', { path: '/srv/shop/src/app/main.ts' })]),
      agent([call('bash', { command: 'cd /srv/shop && npm run check 2>&1 | tail -5' })]),
      agent([call('bash', { command: 'cd /srv/shop && ls src' })]),
      agent([call('bash', { command: 'cd /srv/shop && npm run check' })]),
      agent('`SessionManager` is in src/app/session.ts, and console.log is code.'),
      agent([call('write', { path: '/srv/shop/src/app/other.ts', content: "import { x } from './near.js'" })]),
    ]
    const facts = summaryOf(messages).texts('facts')
    expect(facts).toContain('Project root: /srv/shop')
    expect(
      facts
        .find(text => text.startsWith('Files in src/app: '))
        ?.slice(18)
        .split(', ')
        .sort(),
    ).toEqual(['main.ts', 'other.ts', 'session.ts'])
    expect(facts).toContain('Names: SessionManager')
    expect(facts).toContain('Commands: npm run check')
    expect(facts).toContain('Addresses: https://example.org/docs')
    expect(facts).toContain('Versions: node@20.1.0')
    expect(facts.join(' ')).not.toMatch(/console\.log|near\.js/)
  })

  it('an offline summary moves to completed what the messages show as done, and rewrites lists of names', () => {
    const base = (id: string, section: CheckpointItem['section'], text: string): CheckpointItem => ({
      id,
      section,
      text,
      sources: [1],
      since: 1,
    })
    const items = [
      base('i', 'inProgress', 'The login page'),
      base('p', 'pending', 'Write migrations for old tables'),
      base('q', 'pending', 'Translate the whole interface'),
      base('f', 'facts', 'Files in src: old.ts'),
    ]
    const messages = [
      user('What about the migrations for src/new.ts?'),
      agent('Done: the migrations for old tables were created, so write that down.'),
    ]
    const { delta } = summaryOf(messages, items)
    expect(delta.move).toEqual([
      { id: 'i', to: 'completed', sources: [messages[0]!.version] },
      { id: 'p', to: 'completed', sources: [messages[1]!.version] },
    ])
    expect(delta.rewrite).toEqual([{ id: 'f', text: 'Files in src: new.ts, old.ts', sources: [messages[0]!.version] }])
  })

  it('an offline summary takes about a tenth of its input, and is the same every time', () => {
    const messages = Array.from({ length: 200 }, (_, at) =>
      at % 2 === 0
        ? user(`Please change file${at}.ts so that it must always do thing number ${at}.`)
        : agent(`Done. I changed file${at - 1}.ts. ${'And so on it goes. '.repeat(20)}`),
    )
    const delta = summariseOffline({ items: [], messages })
    const read = messages.reduce((sum, { tokens }) => sum + tokens.count, 0)
    const { items } = mergeDelta({
      items: [],
      delta,
      versions: messages.map(one => one.version),
      number: 1,
      newId: () => 'k',
    })
    expect(fastEstimator.count(renderItems(items).join('\n\n'))).toBeLessThan(read * 0.13)
    expect(items.length).toBeGreaterThan(10)
    expect(summariseOffline({ items: [], messages: structuredClone(messages) })).toEqual(delta)
  })

  it('an offline summary is never empty when there were messages', () => {
    expect(summaryOf([user('hi')], [], 0).delta.add).toHaveLength(1)
    expect(summaryOf([]).delta).toEqual({})
  })

  it('an offline summary gives valid deltas with sources of the range for any messages', () => {
    const words = fc.constantFrom(
      'must',
      'Done.',
      '- [ ] x y z',
      '- [x] done it',
      'src/a.ts',
      '`Name`',
      '\n',
      '## Next',
      'https://a.b/c',
      'never',
      '?',
      '日本語。',
      '```',
      '\u0000',
      '\ud800',
      '🙂',
    )
    const anyText = fc.array(fc.oneof(words, fc.string()), { maxLength: 12 }).map(list => list.join(' '))
    const part: fc.Arbitrary<Part> = fc.oneof(
      anyText.map((text): Part => ({ type: 'text', text })),
      fc.tuple(fc.constantFrom('bash', 'edit', 'read'), fc.anything()).map(([name, input]): Part => call(name, input)),
      fc.tuple(fc.string(), fc.boolean()).map(([output, isError]) => result(output, isError)),
    )
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('user' as const, 'assistant' as const), fc.array(part, { maxLength: 3 })), {
          maxLength: 12,
        }),
        entries => {
          const messages = entries.map(([role, parts]) => message(role, jsonSafe(parts)))
          const delta = CheckpointDelta.parse(summariseOffline({ items: [], messages }))
          const versions = new Set(messages.map(one => one.version))
          for (const { sources } of delta.add ?? [])
            expect(sources?.length && sources.every(source => versions.has(source))).toBe(true)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('[P9] an offline summary stays small over 50 compactions in a row, and loses no demand of a person', () => {
    let items: CheckpointItem[] = []
    let made = 0
    for (let round = 1; round <= 50; round++) {
      const messages = [
        user(`Round ${round}: please work on part${round}.ts, thing number ${round} of many.`),
        ...(round % 10 === 0 ? [user(`You must never touch file${round}.`)] : []),
        agent([call('edit', { path: `/shop/src/part${round}.ts` })]),
        agent(
          `We'll use approach ${round} for it. Approach ${round - 1} didn't work for this one.\n\nNext:\n- Do the follow-up ${round} properly\n- Look after ${round} again`,
        ),
        agent('Filler that goes on. '.repeat(200)),
      ]
      const delta = summariseOffline({ items, messages })
      items = mergeDelta({
        items,
        delta,
        versions: messages.map(one => one.version),
        number: round,
        newId: () => `k${++made}`,
        maxTokens: 3_000,
      }).items
    }
    expect(fastEstimator.count(renderItems(items).join('\n\n'))).toBeLessThan(4_000)
    const constraints = items.filter(item => item.section === 'constraints').map(item => item.text)
    expect(constraints).toEqual([10, 20, 30, 40, 50].map(round => `You must never touch file${round}.`))
  })

  it('an offline summary comes to an end for pasted megabytes, and keeps to its size', () => {
    const pasted = [
      'a/'.repeat(500_000),
      'x'.repeat(1_000_000),
      '`'.repeat(1_000_000),
      'a. '.repeat(300_000),
      '- [ ] '.repeat(150_000),
      'must '.repeat(200_000),
    ]
    const delta = summariseOffline({
      items: [],
      messages: pasted.flatMap(text => [
        user(text),
        agent([call('bash', { command: text }), call('write', { path: text, content: text })]),
      ]),
    })
    expect(JSON.stringify(delta).length).toBeLessThan(100_000)
  })
})

function jsonSafe(parts: Part[]): Part[] {
  return parts.map(part =>
    part.type === 'tool-call'
      ? {
          ...part,
          input: JSON.parse(
            JSON.stringify(part.input, (_, value) => (typeof value === 'bigint' ? `${value}` : value)) ?? 'null',
          ),
        }
      : part,
  )
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..')
const session = join(root, '..', 'shared', 'data', 'pi-sessions', 'before-compaction.jsonl')

describe.skipIf(!existsSync(session))('summariseOffline on a real session (skipped without ../shared/data)', () => {
  const messages = existsSync(session) ? realMessages().slice(0, 354) : []

  it('an offline summary of a real session keeps what a colleague needs in a few per cent of the tokens', () => {
    const delta = summariseOffline({ items: [], messages })
    const { items } = mergeDelta({
      items: [],
      delta,
      versions: messages.map(one => one.version),
      number: 1,
      newId: () => 'k',
    })
    const text = renderItems(items).join('\n\n')
    const read = messages.reduce((sum, { tokens }) => sum + tokens.count, 0)
    expect(fastEstimator.count(text)).toBeLessThan(read * 0.05)
    for (const needed of [
      'i would only want e2e tests for AgentSession',
      'keep the old code around for reference',
      'this plan must be written in such a way',
      'WP14: Create main-new.ts and cli-new.ts',
      'WP15: Create InteractiveMode',
      'npm run check',
      'agent-session.ts',
      'bash-executor.ts',
      'tui-renderer.ts',
      'refactor.md',
    ]) {
      expect(text).toContain(needed)
    }
    const files = new Set(
      messages.flatMap(({ parts }) =>
        parts.flatMap(part =>
          part.type === 'tool-call' && typeof (part.input as { path?: unknown }).path === 'string'
            ? [(part.input as { path: string }).path]
            : [],
        ),
      ),
    )
    const kept = [...files].filter(file => text.includes(file.slice(file.lastIndexOf('/') + 1)))
    expect(kept.length / files.size).toBeGreaterThan(0.95)
  })
})

function realMessages(): Message[] {
  version = 0
  type Content = { type: string; text?: string; id: string; name: string; arguments: unknown }[]
  const lines = readFileSync(session, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  return lines.flatMap(({ type, message: one }): Message[] => {
    if (type !== 'message' || !Array.isArray(one.content)) return []
    const content = one.content as Content
    const parts = content.flatMap((part): Part[] => {
      if (one.role === 'toolResult')
        return [
          {
            type: 'tool-result',
            callId: one.toolCallId,
            name: one.toolName,
            output: part.text ?? '',
            isError: one.isError,
          },
        ]
      if (part.type === 'toolCall')
        return [{ type: 'tool-call', callId: part.id, name: part.name, input: part.arguments }]
      return part.type === 'text' ? [{ type: 'text', text: part.text ?? '' }] : []
    })
    return [message(one.role === 'assistant' ? 'assistant' : 'user', parts)]
  })
}

it('an offline summary keeps a demand as a constraint also when it is in the very first request', () => {
  const request = user('Build the login page. You must never store passwords in plain text.')
  const { add = [] } = summariseOffline({ items: [], messages: [request, agent('I will begin. '.repeat(60))] })
  expect(add).toContainEqual(
    expect.objectContaining({ section: 'constraints', text: 'You must never store passwords in plain text.' }),
  )
})
