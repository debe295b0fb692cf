/** The person's instruction is in every request, however long the turn is and whatever was compacted or left out. */
import {
  type AgentRequest,
  type Colloquy,
  type Message,
  type OpenOptions,
  type Part,
  type Session,
  tool,
} from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { freshColloquy } from '../../support/colloquy.ts'
import { problemsOf } from '../../support/requests.ts'

const task = { type: 'task', agentType: 'dev', featureId: 'login', taskId: 'form' } as const
const order = 'Never touch the schema. Move every form to the new component, one after the other.'

async function session(options: OpenOptions = {}): Promise<{ colloquy: Colloquy; dev: Session }> {
  const { colloquy } = await freshColloquy(options)
  return { colloquy, dev: await colloquy.sessions.getOrCreateSession(task) }
}

/** Everything that a request sends, in both renderings. */
function sentIn({ system, messages, systemPrompt, userPrompt }: AgentRequest): [messages: string, prompt: string] {
  return [`${system}\n${textOf(messages)}`, `${systemPrompt}\n${userPrompt}`]
}

function textOf(messages: AgentRequest['messages']): string {
  return messages.flatMap(({ content }) => content.map(part => ('text' in part ? part.text : ''))).join('\n')
}

/** Whole, as a message of its own: a checkpoint may quote it as well. */
function expectSent(request: AgentRequest, text: string): void {
  for (const sent of sentIn(request)) expect(sent).toContain(text)
  const parts = request.messages.flatMap(({ role, content }) => (role === 'user' ? content : []))
  expect(parts.filter(part => part.type === 'text' && part.text === text)).toHaveLength(1)
}

async function addIterations(colloquy: Colloquy, sessionId: string, count: number): Promise<void> {
  for (let number = 1; number <= count; number++) {
    const content = `Iteration ${number}. ${'I changed a file and ran the tests again. '.repeat(50)}`
    await colloquy.sessions.addMessage(sessionId, { role: 'assistant', content })
  }
}

describe('one order followed by many steps', () => {
  it.each([20_000, 60_000])('[P10] the order is in each request of a run of 95 steps at %i tokens', async budget => {
    const { colloquy, dev } = await session({ requests: { budget } })
    const requests: string[] = []
    const open = tool({
      name: 'open',
      description: 'Opens a file.',
      input: z.object({ path: z.string() }),
      run: async ({ path }) => `// ${path}\n${'const field = readField(form, name) // of the old kind\n'.repeat(80)}`,
    })
    const model = scriptedModel(({ system, messages }) => {
      requests.push(`${system}\n${textOf([...messages])}`)
      if (requests.length > 95) return 'All forms are moved.'
      return {
        text: `Step ${requests.length}.`,
        calls: [{ name: 'open', input: { path: `form-${requests.length}.ts` } }],
      }
    })
    const result = await colloquy.agents.run(dev.id, { message: order, model, tools: [open], maxSteps: 100 })
    expect(result).toMatchObject({ outcome: 'done' })
    expect(requests).toHaveLength(96)
    expect(requests.flatMap((sent, index) => (sent.includes(order) ? [] : [index]))).toEqual([])
    const { checkpoint } = await colloquy.sessions.previewRequest(dev.id, 'Is it done?')
    expect(checkpoint).toBeGreaterThan(0)
  })

  it('[P10] is compacted inside the turn, in progress, and the order stays as it was said', async () => {
    const { colloquy, dev } = await session({ requests: { budget: 20_000 } })
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: order })
    await addIterations(colloquy, dev.id, 300)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Go on')
    expectSent(request, order)
    expect(request).toMatchObject({ checkpoint: 1, omitted: 0 })
    const checkpoint = await colloquy.sessions.getCheckpoint(dev.id)
    expect(checkpoint!.items.filter(({ section }) => section === 'completed')).toEqual([])
  })

  it.each([
    { name: 'sliding_window' },
    { name: 'recent', messages: 3 },
    { name: 'summarization', keepRecentMessages: 3 },
  ] as const)('[P10] stays in the request of the strategy $name', async strategy => {
    const { colloquy, dev } = await session({ requests: { budget: 8_000 } })
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: order })
    await addIterations(colloquy, dev.id, 40)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Go on', { strategy })
    expectSent(request, order)
    expect(problemsOf(request.messages)).toEqual([])
  })

  it('[P10] stays with the newest word of the person, when one comes in the middle of the turn', async () => {
    const { colloquy, dev } = await session({ requests: { budget: 8_000 } })
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: order })
    const call: Part = { type: 'tool-call', callId: 'call-1', name: 'open', input: {} }
    await colloquy.sessions.addMessage(dev.id, { role: 'assistant', parts: [{ type: 'text', text: 'I begin.' }, call] })
    const output: Part = { type: 'tool-result', callId: 'call-1', output: 'form' }
    await colloquy.sessions.addMessage(dev.id, { role: 'user', author: 'tools', parts: [output] })
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: 'And leave the tests alone.' })
    await addIterations(colloquy, dev.id, 60)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Go on')
    expectSent(request, order)
    expectSent(request, 'And leave the tests alone.')
  })

  it('[P10] is trimmed with a marker only where it alone is larger than a quarter of the budget', async () => {
    const { colloquy, dev } = await session({ requests: { budget: 4_000 } })
    const long = `BEGIN ${'Move the next form, and say what you changed in it. '.repeat(400)} END`
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: long })
    await addIterations(colloquy, dev.id, 40)
    const request = await colloquy.sessions.buildRequest(dev.id, 'Go on', { strategy: { name: 'sliding_window' } })
    for (const sent of sentIn(request)) {
      expect(sent).toContain('BEGIN')
      expect(sent).not.toContain(long)
      expect(sent).toContain('the log has all of it')
    }
    expect(request.totalTokens).toBeLessThanOrEqual(request.budget)
    const entry = request.ledger.entries.find(({ what, fate }) => what === 'message' && fate === 'trimmed')
    expect(entry!.why).toContain('quarter')
  })

  it('leaves nothing but the order and open calls behind a checkpoint that keeps no message', async () => {
    const { colloquy, dev } = await session()
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: order })
    await addIterations(colloquy, dev.id, 20)
    const call: Part = { type: 'tool-call', callId: 'call-1', name: 'open', input: { path: 'form.ts' } }
    await colloquy.sessions.addMessage(dev.id, { role: 'assistant', parts: [call] })
    const outcome = await colloquy.sessions.forceCompact(dev.id, { keep: { messages: 0 } })
    expect(outcome).toMatchObject({ outcome: 'taken', checkpoint: { upTo: 23 } })
    const request = await colloquy.sessions.buildRequest(dev.id, 'Go on')
    expectSent(request, order)
    const kept = request.ledger.entries.flatMap(({ what, versions }) => (what === 'message' ? (versions ?? []) : []))
    expect(kept).toEqual([3, 24])
  })
})

describe('requests of one turn', () => {
  it('[P8] share at least 80 % of their bytes in the median, when older steps have to go', async () => {
    const { colloquy, dev } = await session({ requests: { budget: 40_000, strategy: { name: 'sliding_window' } } })
    const sent: string[] = []
    const open = tool({
      name: 'open',
      description: 'Opens a file.',
      input: z.object({ path: z.string() }),
      run: async ({ path }) => `// ${path}\n${'const field = readField(form, name) // of the old kind\n'.repeat(80)}`,
    })
    const model = scriptedModel(({ system, messages }) => {
      sent.push(JSON.stringify([system, messages]))
      if (sent.length > 95) return 'All forms are moved.'
      return { text: `Step ${sent.length}.`, calls: [{ name: 'open', input: { path: `form-${sent.length}.ts` } }] }
    })
    await colloquy.agents.run(dev.id, { message: order, model, tools: [open], maxSteps: 100 })
    const shares = sent.slice(1).map((request, index) => commonPrefix(sent[index]!, request) / sent[index]!.length)
    expect(shares.sort((a, b) => a - b)[Math.floor(shares.length / 2)]).toBeGreaterThan(0.8)
  })
})

function commonPrefix(first: string, second: string): number {
  let at = 0
  while (at < first.length && first[at] === second[at]) at++
  return at
}

describe('turns of random length', () => {
  const step = fc.record({
    words: fc.integer({ min: 1, max: 120 }),
    calls: fc.integer({ min: 0, max: 2 }),
  })
  const turn = fc.record({ steps: fc.array(step, { minLength: 1, maxLength: 60 }), isAnswered: fc.boolean() })

  it('[P5] [P6] [P7] [P10] hold the instruction, whole pairs, the budget and exact coverage', async () => {
    const { colloquy } = await freshColloquy()
    let number = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('checkpoint' as const, 'sliding_window' as const, 'recent' as const),
        fc.integer({ min: 2_500, max: 12_000 }),
        async (turns, name, budget) => {
          const { id } = await colloquy.sessions.getOrCreateSession({ ...task, taskId: `task-${++number}` })
          const messages = await playTurns(colloquy, id, turns)
          const strategy = name === 'recent' ? { name, messages: 4 } : { name }
          const request = await colloquy.sessions.buildRequest(id, 'Go on', { budget, strategy, recall: false })
          expect(request.totalTokens).toBeLessThanOrEqual(budget)
          expect(problemsOf(request.messages)).toEqual([])
          expectSent(request, messages.findLast(isInstruction)!.content)
          expectCovered(request, messages, name === 'recent')
        },
      ),
      { numRuns: 60 },
    )
  })

  it('[P10] holds the instruction of a turn of 300 steps', async () => {
    const { colloquy, dev } = await session({ requests: { budget: 10_000 } })
    const steps = Array.from({ length: 300 }, (_, index) => ({ words: 40, calls: index % 3 }))
    const messages = await playTurns(colloquy, dev.id, [{ steps, isAnswered: false }])
    const request = await colloquy.sessions.buildRequest(dev.id, 'Go on')
    expectSent(request, messages[0]!.content)
    expectCovered(request, messages, false)
  })

  async function playTurns(
    colloquy: Colloquy,
    sessionId: string,
    turns: ReadonlyArray<{ steps: ReadonlyArray<{ words: number; calls: number }>; isAnswered: boolean }>,
  ): Promise<Message[]> {
    const { sessions } = colloquy
    const messages: Message[] = []
    const add = async (input: Parameters<typeof sessions.addMessage>[1]) => {
      messages.push(await sessions.addMessage(sessionId, input))
    }
    for (const [index, { steps, isAnswered }] of turns.entries()) {
      await add({ role: 'user', content: `Instruction number ${index + 1} of the person, to be kept.` })
      for (const [place, { words, calls }] of steps.entries()) {
        const ids = Array.from({ length: calls }, (_, call) => `call-${index}-${place}-${call}`)
        const text = `Step ${place}. ${'work '.repeat(words)}`
        const parts: Part[] = ids.map(callId => ({ type: 'tool-call', callId, name: 'open', input: {} }))
        await add({ role: 'assistant', parts: [{ type: 'text', text }, ...parts] })
        for (const callId of ids) {
          const output = 'line of a file\n'.repeat(words)
          await add({ role: 'user', author: 'tools', internal: true, parts: [{ type: 'tool-result', callId, output }] })
        }
      }
      if (isAnswered) await add({ role: 'assistant', content: `Turn ${index + 1} is done.` })
    }
    return messages
  }

  function isInstruction({ role, internal }: Message): boolean {
    return role === 'user' && !internal
  }

  /** Each version is in one place: kept, checkpointed or counted as left out. The instruction may be in a second one. */
  function expectCovered(request: AgentRequest, messages: readonly Message[], onlyTalk: boolean): void {
    const visible = messages.filter(({ internal }) => !onlyTalk || !internal)
    const kept = request.ledger.entries.flatMap(({ what, versions }) => (what === 'message' ? (versions ?? []) : []))
    expect(new Set(kept).size).toBe(kept.length)
    const upTo = request.ledger.entries.find(({ fate }) => fate === 'summarised')?.range?.to ?? 0
    const left = visible.filter(({ version }) => version > upTo && !kept.includes(version))
    expect(left).toHaveLength(request.omitted)
  }
})
