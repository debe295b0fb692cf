/** Fifty compactions in a row with a model that cannot be relied on: what must not be lost is not. */
import type { Checkpoint, Colloquy, Message } from 'colloquy'
import type { ModelRequest } from 'colloquy/models'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'
import { random } from '../../torture/random.ts'

const feature = { type: 'feature', agentType: 'helper', featureId: 'login' } as const
const pinned = 'NEVER touch the   production\tdatabase.\r\nNot even «once».'
const budget = 3_000

/** A version the model was shown, to name as a source. */
function shownIn(request: ModelRequest): number {
  const versions = [...JSON.stringify(request.messages).matchAll(/\b(\d+) (?:user|assistant)\b/g)]
  return Number(versions[0]?.[1] ?? 3)
}

type Mood = 'well' | 'fails' | 'throws' | 'stalls' | 'prose' | 'nothing' | 'empty delta' | 'too much'
const moods: readonly Mood[] = ['fails', 'throws', 'stalls', 'prose', 'nothing', 'empty delta', 'too much']

/** A model in another mood each time, every second time a good one, in an order the seed gives. */
function moodyModel(seed: number, seen: Map<Mood, number>) {
  const from = random(seed)
  return scriptedModel(async request => {
    const mood: Mood = from.below(2) === 0 ? 'well' : from.pick(moods)
    seen.set(mood, (seen.get(mood) ?? 0) + 1)
    switch (mood) {
      case 'well': {
        const text = `Step ${seen.get('well')} was done`
        return JSON.stringify({ add: [{ section: 'completed', text, sources: [shownIn(request)] }] })
      }
      case 'fails':
        return [{ type: 'failure', kind: 'overloaded', message: 'busy', retryable: true }]
      case 'throws':
        throw new Error('the connection broke')
      case 'stalls':
        return new Promise<string>(() => {})
      case 'prose':
        return 'I am sorry, but I would rather talk about the weather.'
      case 'nothing':
        return ''
      case 'empty delta':
        return '{}'
      case 'too much': {
        const text = `More than it got ${'and more '.repeat(4_000)}`
        return JSON.stringify({ add: [{ section: 'facts', text, sources: [shownIn(request)] }] })
      }
      default:
        return mood satisfies never
    }
  }, 'test:moody')
}

/** One turn: a question, a call and its result, sometimes an answer. */
async function turn(colloquy: Colloquy, sessionId: string, name: string): Promise<void> {
  const { sessions } = colloquy
  const words = `about part ${name} of the login page `.repeat(5)
  const input = { path: `src/part-${name}.ts`, content: 'export {}' }
  await sessions.addMessage(sessionId, { role: 'user', content: `Question ${name} ${words}` })
  const parts = [{ type: 'tool-call' as const, callId: `call-${name}`, name: 'write_file', input }]
  await sessions.addMessage(sessionId, { role: 'assistant', parts })
  const result = { type: 'tool-result' as const, callId: `call-${name}`, output: `written ${words}` }
  await sessions.addMessage(sessionId, { role: 'user', author: 'tools', parts: [result] })
  await sessions.addMessage(sessionId, { role: 'assistant', content: `Answer ${name} ${words}` })
}

function coverageOf(all: readonly Message[], checkpoint: Checkpoint | undefined) {
  const upTo = checkpoint?.upTo ?? 0
  return { covered: all.filter(message => message.version <= upTo), left: all.filter(one => one.version > upTo) }
}

describe('fifty compactions in a row', () => {
  it.each([1, 2])(
    '[P6] [P9] [P10] fifty compactions in a row lose nothing with a model that fails, stalls, rambles or says nothing (seed %i)',
    async seed => {
      const seen = new Map<Mood, number>()
      const requests = { budget, recall: false, answerWithinMs: 30 }
      const { colloquy } = await freshColloquy({ model: moodyModel(seed, seen), clock: Date.now, requests })
      const { id, conversationId } = await colloquy.sessions.getOrCreateSession(feature)
      await colloquy.sessions.addMessage(id, { role: 'user', content: pinned, pinned: true })
      const running = { type: 'tool-call' as const, callId: 'call-deploy', name: 'deploy', input: { to: 'staging' } }
      await colloquy.sessions.addMessage(id, { role: 'assistant', parts: [running] })
      let last = 0
      let rounds = 0
      const outcomes = new Map<string, number>()
      // Each is forced, so that each is tried: fifty that were taken or failed, however the model felt.
      while ((outcomes.get('taken') ?? 0) + (outcomes.get('failed') ?? 0) < 50 && rounds++ < 120) {
        await turn(colloquy, id, `${rounds}-a`)
        await turn(colloquy, id, `${rounds}-b`)
        const before = await colloquy.sessions.getCheckpoint(id)
        const { outcome } = await colloquy.sessions.forceCompact(id)
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        const checkpoint = await colloquy.sessions.getCheckpoint(id)
        if (outcome !== 'taken') expect(checkpoint).toEqual(before)
        else expect(checkpoint).toMatchObject({ base: before?.number ?? 0, number: (before?.number ?? 0) + 1 })

        const all = await colloquy.sessions.getAllMessages(id)
        expect(all).toHaveLength(2 + rounds * 8)
        const { covered, left } = coverageOf(all, checkpoint)
        expect(covered).toHaveLength(checkpoint?.messages ?? 0)
        expect(checkpoint?.upTo ?? 0).toBeGreaterThanOrEqual(last)
        last = checkpoint?.upTo ?? 0

        const request = await colloquy.sessions.previewRequest(id, `And after round ${rounds}?`)
        expect(request.totalTokens).toBeLessThanOrEqual(request.budget)
        const sent = request.ledger.entries.filter(entry => entry.what === 'message' && entry.why !== 'pinned')
        const kept = sent.flatMap(entry => entry.versions ?? []).filter(version => version > last)
        const isPinnedLeft = left.some(message => message.pinned && !kept.includes(message.version)) ? 1 : 0
        expect(kept.length + request.omitted + isPinnedLeft).toBe(left.length)
        // The pinned words to the byte, the call that still runs, the newest words of the person and the newest file.
        expect(request.systemPrompt).toContain(pinned)
        expect(request.systemPrompt).toContain(`Question ${rounds}-b`)
        if (checkpoint) expectCarried(checkpoint, covered)
      }
      expect((outcomes.get('taken') ?? 0) + (outcomes.get('failed') ?? 0)).toBe(50)
      expect(outcomes.get('taken')).toBeGreaterThan(8)
      expect(new Set(seen.keys())).toEqual(new Set(['well', ...moods]))
      const events = await colloquy.conversations.getEvents(conversationId, { limit: 10_000 })
      const count = (type: string) => events.filter(one => one.event.type === type).length
      expect(count('compaction.started')).toBe(count('checkpoint.taken') + count('compaction.failed'))
      expect(await colloquy.verify()).toMatchObject({ clean: true })
    },
    120_000,
  )
})

/** The carried sections are complete, by any author of the rest. */
function expectCarried(checkpoint: Checkpoint, covered: readonly Message[]): void {
  const rendered = JSON.stringify(checkpoint)
  if (covered.some(message => message.version > 3)) expect(rendered).toContain('call-deploy')
  const asked = covered.filter(message => message.role === 'user' && message.content.startsWith('Question'))
  for (const { content } of asked.slice(-2)) expect(rendered).toContain(content.slice(0, 30))
  // The cut may be inside a turn: its file is known when its call is covered.
  const last = covered.at(-1)!.version
  const worked = asked.filter(({ version }) => version + 3 <= last)
  const names = worked.slice(-2).map(({ content }) => content.split(' ')[1]!)
  for (const name of names) expect(rendered).toContain(`src/part-${name}.ts`)
}
