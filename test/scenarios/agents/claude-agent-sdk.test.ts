/**
 * A chat of ten turns through Colloquy's two prompts, as users of the Claude Agent SDK send them, against a stub of the
 * Anthropic API. The SDK is installed by `npm run test:sdk`; without it the same chat goes over plain HTTP.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

import { expect, it } from 'vitest'
import { loadExactEstimator } from '../../../src/request/text/exact-tokens.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import {
  answerOf,
  budget,
  type ChatTurn,
  pmChat,
  questionOf,
  type Send,
  type Sent,
  textsIn,
  turns,
} from '../../support/recordings/pm-chat.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const installed = new URL('../../sdk/node_modules/@anthropic-ai/claude-agent-sdk/package.json', import.meta.url)

const overHttp: Send = async ({ systemPrompt, userPrompt }, baseUrl) => {
  const response = await fetch(`${baseUrl}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ system: systemPrompt, messages: [{ role: 'user', content: userPrompt }], stream: true }),
  })
  const events = (await response.text()).split('\n').filter(line => line.startsWith('data: '))
  const texts = events.map(line => JSON.parse(line.slice(6)).delta?.text ?? '')
  return { text: texts.join(''), usage: { input: 100, output: 50 } }
}

it('a chat of ten turns through the two prompts arrives whole, inside the budget, and repeats nothing', async () => {
  const { colloquy } = await freshColloquy({ tokens: 'exact', requests: { budget } })
  const { sent, sessionId } = await pmChat(colloquy, overHttp)
  await expectGoodChat(sent)
  expect((await colloquy.sessions.getAllMessages(sessionId)).length).toBe(2 * turns)
})

it('a chat of ten turns through the Claude Agent SDK arrives whole, inside the budget, and repeats nothing', async context => {
  if (!existsSync(installed)) context.skip('the SDK is not installed; npm run test:sdk installs it and runs this')
  const { colloquy } = await freshColloquy({ tokens: 'exact', requests: { budget } })
  const { sent, asked, sessionId } = await pmChat(colloquy, await throughSdk())
  await expectGoodChat(sent)
  // The SDK made no further calls.
  expect(asked).toHaveLength(turns)
  const { outsideIds } = (await colloquy.sessions.getSession(sessionId))!
  expect(outsideIds).toEqual({ claude: expect.stringMatching(/^[0-9a-f-]{36}$/) })
})

async function expectGoodChat(sent: readonly Sent[]): Promise<void> {
  const estimator = await loadExactEstimator()
  expect(sent).toHaveLength(turns)
  for (const [index, { question, request, arrived }] of sent.entries()) {
    const texts = textsIn(arrived)
    const all = texts.join('\n')
    // Both prompts as they were built, the newest message last.
    expect(texts).toContain(request.systemPrompt)
    expect(texts.at(-1)).toBe(question)
    // [P5]
    expect(estimator.count(all)).toBeLessThanOrEqual(budget)
    // [P7] Nothing that was said stands there twice, and the newest question once.
    for (let turn = 1; turn <= index + 1; turn++) {
      for (const word of distinctive(turn, index)) {
        const times = all.split(word).length - 1
        expect([word, times]).toEqual([word, turn === index + 1 ? 1 : expect.toBeOneOf([0, 1])])
      }
    }
  }
  // It is long enough to need what it is about: older turns became a checkpoint, and the newest stay word for word.
  const last = sent.at(-1)!
  expect(last.request.checkpoint).toBeGreaterThanOrEqual(1)
  expect(last.request.systemPrompt).toContain(answerOf(turns - 1))
  expect(sent[1]!.request.systemPrompt).toContain(questionOf(1))
}

/** Words of a turn that stand in no other. Of the turn that is asked in this request only the question is known. */
function distinctive(turn: number, index: number): string[] {
  const question = questionOf(turn).split(' ').slice(-60, -50)
  return turn === index + 1 ? question : [...question, ...answerOf(turn).split(' ').slice(-60, -50)]
}

interface SdkMessage {
  type: string
  subtype?: string
  session_id?: string
  result?: string
  usage?: { input_tokens: number; output_tokens: number }
}

type Query = (call: { prompt: string; options: Record<string, unknown> }) => AsyncIterable<SdkMessage>

/** As its documentation says, but with a home of its own and no traffic besides the messages. */
async function throughSdk(): Promise<Send> {
  const path = createRequire(installed).resolve('@anthropic-ai/claude-agent-sdk')
  const { query } = (await import(pathToFileURL(path).href)) as { query: Query }
  const home = temporaryFolder()
  return async ({ systemPrompt, userPrompt }, baseUrl) => {
    const options = {
      systemPrompt,
      model: 'claude-sonnet-4-5',
      maxTurns: 1,
      tools: [],
      settingSources: [],
      persistSession: false,
      cwd: home,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        CLAUDE_CONFIG_DIR: home,
        ANTHROPIC_BASE_URL: baseUrl,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_TELEMETRY: '1',
      },
    }
    let said: ChatTurn | undefined
    for await (const { type, subtype, result, usage, session_id } of query({ prompt: userPrompt, options })) {
      if (type !== 'result') continue
      expect(subtype).toBe('success')
      said = {
        text: result ?? '',
        usage: { input: usage!.input_tokens, output: usage!.output_tokens },
        ...(session_id !== undefined && { sessionId: session_id }),
      }
    }
    return said!
  }
}
