/** The contract of models: see `src/models/model.ts`. */
import {
  answerCollector,
  answerOf,
  type Model,
  type ModelAnswer,
  type ModelFailureKind,
  type ModelPart,
  type ModelRequest,
} from 'colloquy/models'
import { describe, expect, it } from 'vitest'
import type { Refusal, Scene } from '../support/models/scene.ts'

export interface ModelUnderTest {
  /** A model that plays these scenes, one per call, the last one ever after. */
  playing(...scenes: Scene[]): Promise<Model>
  /** Opens a model that is refused; absent where no provider can refuse. */
  refusedWith?(refusal: Refusal): Promise<Model>
  /** Features that the model can show. */
  has: { reasoning: boolean; usage: boolean }
}

export const question: ModelRequest = {
  system: 'You are brief.',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'What is the weather in Paris?' }] }],
}

const weather = {
  name: 'get_weather',
  description: 'The weather of a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

const called = (id: string, json = '{"city":"Paris"}') => ({ id, name: 'get_weather', arguments: json })

export function describeModel(name: string, { playing, refusedWith, has }: ModelUnderTest): void {
  describe(`the ${name} model`, () => {
    describeAnswers(playing, has)
    describeEnds(playing)
    describeTools(playing)
    if (refusedWith) describeRefusals(refusedWith)
  })
}

function describeAnswers(playing: ModelUnderTest['playing'], has: ModelUnderTest['has']): void {
  it('a model streams its text piece by piece, each block started before its deltas and ended before the finish', async () => {
    const model = await playing({ text: 'It is sunny in Paris, and warm.' })
    const parts = await partsOf(model, question)
    expect(parts[0]).toEqual({ type: 'start', model: model.name })
    expect(parts.at(-1)).toMatchObject({ type: 'finish', stopReason: 'stop' })
    expectOrder(parts)
    const deltas = parts.flatMap(part => (part.type === 'text-delta' ? [part.text] : []))
    expect(deltas.join('').trimEnd()).toBe('It is sunny in Paris, and warm.')
  })

  it('a model keeps every character, also those of several bytes', async () => {
    const text = 'Größe → 漢字 🌍 \u0001 "quoted" \\ and\n\nlines'
    const answer = await answerOf(await playing({ text }), question)
    expect(answer.text.trimEnd()).toBe(text)
  })

  it('a model can be asked again, and by several callers at once', async () => {
    const model = await playing({ text: 'Yes.' })
    const answers = await Promise.all([1, 2, 3].map(() => answerOf(model, question)))
    expect(answers.map(one => one.text.trim())).toEqual(['Yes.', 'Yes.', 'Yes.'])
  })

  it('a model answers nothing with nothing, and finishes', async () => {
    const answer = await answerOf(await playing({ text: '' }), question)
    expect(answer).toMatchObject({ ok: true, text: '', content: [] })
  })

  if (has.reasoning) {
    it('a model shows its reasoning apart from its text', async () => {
      const answer = await answerOf(
        await playing({ reasoning: { text: 'Paris is in France.' }, text: 'Sunny.' }),
        question,
      )
      expect(answer.content.map(part => part.type)).toEqual(['reasoning', 'text'])
      expect(answer.content[0]).toMatchObject({ text: 'Paris is in France.' })
      expect(answer.text.trim()).toBe('Sunny.')
    })
  }

  if (has.usage) {
    it('a model reports its usage, with what came from the cache counted apart', async () => {
      const scene = { text: 'Sunny.', usage: { input: 12, output: 3, cacheRead: 2000 } }
      const answer = await answerOf(await playing(scene), question)
      expect(answer).toMatchObject({ ok: true, usage: { input: 12, output: 3, cacheRead: 2000 } })
    })

    it('a model says when it had to stop before its end', async () => {
      const answer = await answerOf(await playing({ text: 'It is sun', stop: 'length' }), question)
      expect(answer).toMatchObject({ ok: true, stopReason: 'length' })
    })
  }
}

function describeEnds(playing: ModelUnderTest['playing']): void {
  it('a model is cancelled before its first call', async () => {
    const model = await playing({ text: 'Never said.' })
    const parts = await partsOf(model, { ...question, signal: AbortSignal.abort() })
    expect(parts.at(-1)).toMatchObject({ type: 'failure', kind: 'cancelled', retryable: false })
    expect(parts.some(part => part.type === 'text-delta')).toBe(false)
  })

  it('a model keeps what it said when it is cancelled in the middle', async () => {
    const model = await playing({ text: 'It is sunny ', ending: 'stall' })
    const controller = new AbortController()
    const collector = answerCollector()
    const parts: ModelPart[] = []
    for await (const part of model.stream({ ...question, signal: controller.signal })) {
      parts.push(part)
      collector.add(part)
      if (collector.answer().text.includes('sunny')) controller.abort()
    }
    expect(parts.filter(part => part.type === 'failure' || part.type === 'finish')).toHaveLength(1)
    expect(collector.answer()).toMatchObject({ ok: false, failure: { kind: 'cancelled', retryable: false } })
    expect(collector.answer().text.trim()).toBe('It is sunny')
  })

  it('the stream of a model can be left in the middle', async () => {
    const model = await playing({ text: 'It is sunny ', ending: 'stall' }, { text: 'Again.' })
    for await (const part of model.stream(question)) if (part.type === 'text-delta') break
    expect((await answerOf(model, question)).text.trim()).toBe('Again.')
  })

  it('a model keeps what it said when it breaks off, and says whether a retry may help', async () => {
    const answer = failureOf(await answerOf(await playing({ text: 'It is sunny ', ending: 'cut' }), question))
    expect(answer.text.trim()).toBe('It is sunny')
    expect(typeof answer.failure.retryable).toBe('boolean')
    expect(answer.failure.message).not.toBe('')
  })
}

function describeTools(playing: ModelUnderTest['playing']): void {
  const request: ModelRequest = { ...question, tools: [weather] }

  it('a model calls tools with parsed arguments, or does not accept tools at all', async () => {
    const model = await playing({
      text: 'Let me look.',
      calls: [called('call_1'), called('call_2')],
      stop: 'tool-calls',
    })
    const answer = await answerOf(model, request)
    expect(answer.ok).toBe(true)
    const calls = answer.content.filter(part => part.type === 'tool-call')
    if (!model.takesTools) return expect(calls).toEqual([])
    expect(answer).toMatchObject({ stopReason: 'tool-calls' })
    expect(calls).toEqual(
      ['call_1', 'call_2'].map(callId => ({
        type: 'tool-call',
        callId,
        name: 'get_weather',
        input: { city: 'Paris' },
      })),
    )
    expectOrder(await partsOf(model, request))
  })

  it('a model takes back its calls with their results', async () => {
    const model = await playing({ text: 'Sunny, 22 degrees.' })
    const answer = await answerOf(model, {
      ...request,
      messages: [
        ...question.messages,
        {
          role: 'assistant',
          content: [{ type: 'tool-call', callId: 'call_1', name: 'get_weather', input: { city: 'Paris' } }],
        },
        { role: 'user', content: [{ type: 'tool-result', callId: 'call_1', text: '22 degrees, sunny' }] },
      ],
    })
    expect(answer).toMatchObject({ ok: true })
    expect(answer.text.trim()).toBe('Sunny, 22 degrees.')
  })

  it('a model returns a call whose arguments are broken as such, with the text', async () => {
    const model = await playing({ calls: [called('call_1', '{"city": "Par')], stop: 'tool-calls' })
    if (!model.takesTools) return
    const [call] = (await answerOf(model, request)).content
    expect(call).toMatchObject({ type: 'tool-call', callId: 'call_1', input: { unreadable: '{"city": "Par' } })
    expect(call).toHaveProperty('problem', expect.stringContaining('not JSON'))
  })

  it('a model has no calls when its answer broke off', async () => {
    const model = await playing({ text: 'Let me look.', calls: [called('call_1')], ending: 'cut' })
    const answer = failureOf(await answerOf(model, request))
    expect(answer.content.filter(part => part.type === 'tool-call')).toEqual([])
    expect(answer.text.trim()).toBe('Let me look.')
  })
}

function describeRefusals(refusedWith: NonNullable<ModelUnderTest['refusedWith']>): void {
  const cases: [Refusal['kind'], ModelFailureKind, boolean][] = [
    ['overloaded', 'overloaded', true],
    ['rate-limited', 'rate-limited', true],
    ['context-too-long', 'context-too-long', false],
    ['refused', 'refused', false],
    ['unauthorised', 'unauthorised', false],
    ['bad-request', 'bad-request', false],
  ]
  it.each(cases)('a model reports %s as data', async (refusal, kind, retryable) => {
    const answer = failureOf(await answerOf(await refusedWith({ kind: refusal }), question))
    expect(answer.failure).toMatchObject({ kind, retryable })
    expect(answer.failure.message).not.toBe('')
  })

  it('a model passes on when the provider wants a retry', async () => {
    const model = await refusedWith({ kind: 'rate-limited', retryAfterSeconds: 7 })
    expect(failureOf(await answerOf(model, question)).failure).toMatchObject({ retryAfterMs: 7000 })
  })
}

export async function partsOf(model: Model, request: ModelRequest): Promise<ModelPart[]> {
  const parts: ModelPart[] = []
  for await (const part of model.stream(request)) parts.push(part)
  return parts
}

export function failureOf(answer: ModelAnswer): Extract<ModelAnswer, { ok: false }> {
  if (answer.ok) throw new Error(`it answered: ${answer.text}`)
  return answer
}

/** One end, and it is last; every block is begun once, goes on while it is open, and is ended. */
function expectOrder(parts: readonly ModelPart[]): void {
  const open = new Set<string>()
  const begun = new Set<string>()
  for (const [index, part] of parts.entries()) {
    if (part.type === 'finish' || part.type === 'failure') expect(index).toBe(parts.length - 1)
    if (!('id' in part)) continue
    const [kind, step] = [part.type.slice(0, part.type.lastIndexOf('-')), part.type.slice(part.type.lastIndexOf('-'))]
    const block = `${kind} ${part.id}`
    if (step === '-start') {
      expect(begun).not.toContain(block)
      begun.add(block)
      open.add(block)
    } else expect(open).toContain(block)
    if (step === '-end') open.delete(block)
  }
  expect([...open]).toEqual([])
}
