/**
 * One case, carried out through the front door, together with a plain account of who said what to whom. Three sessions
 * share one conversation: two that share their messages, one that does not.
 */
import type { AgentRequest, Colloquy, Message, MessageInput, Part, Session } from 'colloquy'
import { BudgetTooSmall } from 'colloquy/errors'
import { type Ask, markPlace, type Step, type Who } from './request-cases.ts'
import { checkGrowth, checkRefusal, checkRequest, checkSame } from './request-checks.ts'

export interface Seat {
  session: Session
  agentName: string
  sharesMessages: boolean
  /** Number of messages before its window was last cleared. */
  windowFrom: number
  /** The message a reset kept. */
  kept: Said | undefined
  /** Calls that wait for their results. */
  waiting: Said[]
}

export interface Said {
  message: Message
  mark: string
  /** Every call it makes, and every call it answers. */
  calls: readonly string[]
  results: readonly string[]
  hidden: boolean
}

/** Providers take letters, digits, `_` and `-` only. */
const toolNames = ['read_file', 'read_file', 'files.read', 'führe aus', '1st', `${'long'.repeat(20)}`]

export interface Tally {
  asked: number
  refused: number
  checkpoints: number
  compacted: number
  omitted: number
}

export class RequestTable {
  readonly said: Said[] = []
  readonly problems: string[] = []
  readonly #colloquy: Colloquy
  readonly #tally: Tally
  readonly #count: (text: string) => number
  seats: Seat[] = []
  #marks = 0
  #calls = 0

  constructor(parts: { colloquy: Colloquy; tally: Tally; count: (text: string) => number }) {
    this.#colloquy = parts.colloquy
    this.#tally = parts.tally
    this.#count = parts.count
  }

  async sit(featureId: string): Promise<void> {
    const { sessions } = this.#colloquy
    for (const [agentName, sharing] of [
      ['ada', 'messages'],
      ['bob', 'messages'],
      ['cat', 'separate'],
    ] as const) {
      const options = { type: 'feature', agentType: 'helper', agentName, featureId, sharing } as const
      const session = await sessions.createSession(options)
      const sharesMessages = sharing === 'messages'
      this.seats.push({ session, agentName, sharesMessages, windowFrom: 0, kept: undefined, waiting: [] })
    }
  }

  async carryOut(step: Step): Promise<void> {
    const seat = this.seats[step.who]!
    const { sessions } = this.#colloquy
    switch (step.do) {
      case 'say':
        return void (await this.#say(seat, step.message, step.to))
      case 'call':
        return this.#call(seat, step)
      case 'answer':
        return this.#answer(seat, step.filler)
      case 'clear':
        await sessions.clearMessages(seat.session.id)
        seat.kept = undefined
        seat.windowFrom = this.said.length
        return
      case 'reset':
        await sessions.resetSession(seat.session.id, { keepSystemMessage: step.keepSystemMessage })
        seat.kept = step.keepSystemMessage
          ? (seat.kept ?? this.window(seat).find(one => one.message.role === 'system' && !one.message.internal))
          : undefined
        seat.windowFrom = this.said.length
        return
      case 'compact': {
        const { outcome } = await sessions.forceCompact(seat.session.id)
        if (outcome === 'taken') this.#tally.compacted++
        return
      }
      case 'ask':
        return this.#ask(seat, step)
      default:
        return step satisfies never
    }
  }

  /** The messages of its window that a session's model may see, oldest first, without those a reset kept. */
  window(seat: Seat): Said[] {
    return this.said.slice(seat.windowFrom).filter(one => this.sees(seat, one))
  }

  /** Repeated here on purpose: the product's own predicate is under test. */
  sees(seat: Seat, { message: { audience } }: Said): boolean {
    if (audience.to === 'everyone') return true
    if (audience.to === 'session') return audience.sessionId === seat.session.id
    return audience.to === 'agents' && audience.agents.includes(seat.agentName)
  }

  async #say(seat: Seat, input: MessageInput, to: Extract<Step, { do: 'say' }>['to'] = 'default'): Promise<Said> {
    const mark = `mark${++this.#marks}q`
    const parts = (input.parts ?? []).map(part => markedPart(part as Part, mark))
    const audiences = {
      default: undefined,
      everyone: { to: 'everyone' as const },
      session: { to: 'session' as const, sessionId: seat.session.id },
      agents: { to: 'agents' as const, agents: ['bob', 'cat'] },
      internal: { to: 'internal' as const },
      delegation: { to: 'delegation' as const, delegationId: 'somebody' },
    }
    const audience = audiences[to]
    const message = await this.#colloquy.sessions.addMessage(seat.session.id, {
      ...input,
      parts,
      ...(audience && { audience }),
    })
    const entry: Said = {
      message,
      mark: JSON.stringify(parts).includes(mark) ? mark : '',
      calls: parts.flatMap(part => (part.type === 'tool-call' ? [part.callId] : [])),
      results: parts.flatMap(part => (part.type === 'tool-result' ? [part.callId] : [])),
      hidden: audience?.to === 'internal' || audience?.to === 'delegation',
    }
    this.said.push(entry)
    return entry
  }

  async #call(seat: Seat, { calls: count, answered }: Extract<Step, { do: 'call' }>): Promise<void> {
    const ids = Array.from({ length: count }, () => {
      const number = ++this.#calls
      return `${number % 3 === 0 ? 'functions.read:' : 'toolu_01D7FLrfh4GYq7yT1U'}${number}`
    })
    const calls = ids.map((callId, index): Part => {
      const name = toolNames[(this.#calls + index) % toolNames.length]!
      const path = `${markPlace}.ts`
      return { type: 'tool-call', callId, name, input: this.#calls % 5 === 0 ? path : { path, odd: '\ud83d' } }
    })
    const results = ids.map(
      (callId): Part => ({
        type: 'tool-result',
        callId,
        output: `${markPlace} ${'line of output\n'.repeat(12 * count)}`,
      }),
    )
    if (answered === 'in the same message') {
      await this.#say(seat, { role: 'assistant', parts: calls.flatMap((call, index) => [call, results[index]!]) })
      return
    }
    const callMessage = await this.#say(seat, { role: 'assistant', parts: calls })
    if (answered === 'not yet') return void seat.waiting.push(callMessage)
    const groups = answered === 'together' ? [results] : results.map(result => [result])
    for (const parts of groups) await this.#say(seat, { role: 'user', author: 'tools', parts })
  }

  /** The result of the oldest call that waits. */
  async #answer(seat: Seat, filler: string): Promise<void> {
    const callMessage = seat.waiting.shift()
    if (!callMessage) return
    const output = `${markPlace} ${filler}`
    const parts = callMessage.calls.map((callId): Part => ({ type: 'tool-result', callId, output }))
    await this.#say(seat, { role: 'user', author: 'tools', parts })
  }

  async #ask(seat: Seat, step: Ask): Promise<void> {
    const { sessions } = this.#colloquy
    const { id } = seat.session
    const options = { budget: step.budget, strategy: step.strategy, recall: step.recall }
    const trigger = this.#trigger(seat, step)
    const ask =
      step.how === 'build'
        ? sessions.buildRequest(id, trigger.asked, options)
        : sessions.previewRequest(id, trigger.asked, options)
    this.#tally.asked++
    const request = await this.#orRefused(ask, seat, step)
    if (!request) return
    if (request.checkpoint !== undefined) this.#tally.checkpoints++
    if (request.omitted > 0) this.#tally.omitted++
    const asked = { ...trigger, step }
    this.problems.push(...checkRequest({ table: this, seat, request, asked, count: this.#count }))
    if (step.how === 'build') return
    const again = await sessions.previewRequest(id, trigger.asked, options)
    // Which quotes are best depends on everything in the index, and other cases write to it meanwhile.
    if (!step.recall) this.problems.push(...checkSame(request, again))
    if (step.how === 'preview' || step.message !== 'new' || step.recall) return
    await this.#say(seat, { role: 'assistant', parts: [{ type: 'text', text: `${markPlace} and on it goes` }] })
    const grown = await this.#orRefused(sessions.previewRequest(id, trigger.asked, options), seat, step)
    if (grown) this.problems.push(...checkGrowth({ table: this, seat, before: request, after: grown }))
  }

  /** The request; or undefined when its budget is too small, and that is true. */
  async #orRefused(asked: Promise<AgentRequest>, seat: Seat, step: Ask): Promise<AgentRequest | undefined> {
    try {
      return await asked
    } catch (error) {
      if (!(error instanceof BudgetTooSmall)) throw error
      this.#tally.refused++
      const checkpoint = await this.#colloquy.sessions.getCheckpoint(seat.session.id)
      this.problems.push(...checkRefusal({ table: this, seat, step, error, checkpoint }))
      return undefined
    }
  }

  /** Returns the trigger, and the stored message it is. */
  #trigger(seat: Seat, step: Ask): { asked: string | { messageId: string }; mark: string; stored: Said | undefined } {
    // An internal message is no trigger where only messages for a person are sent.
    const isTalk = ({ message }: Said) => step.strategy.name !== 'recent' || !message.internal
    const talk = this.window(seat).filter(one => one.mark !== '' && one.message.content !== '' && isTalk(one))
    if (step.message === 'stored text') {
      // Older than what is read of the window, words are taken for new ones.
      const newest = this.window(seat)
        .filter(isTalk)
        .slice(-3)
        .findLast(one => one.message.role === 'user' && talk.includes(one))
      const answered =
        newest &&
        this.window(seat).some(
          one => one.message.version > newest.message.version && one.message.author === seat.agentName,
        )
      if (newest && !answered) return { asked: newest.message.content, mark: newest.mark, stored: newest }
    }
    if (step.message === 'stored id') {
      const people = talk.filter(one => one.message.role === 'user')
      const one = people[people.length - 1 - (step.filler.length % 3)] ?? people.at(-1)
      if (one) return { asked: { messageId: one.message.id }, mark: one.mark, stored: one }
    }
    const mark = `mark${++this.#marks}q`
    return { asked: `${mark} ${step.filler}`, mark, stored: undefined }
  }
}

function markedPart(part: Part, mark: string): Part {
  return JSON.parse(JSON.stringify(part).replaceAll(markPlace, mark)) as Part
}

/** Names a session in a report. */
export function nameOf(who: Who): string {
  return ['ada', 'bob', 'cat'][who]!
}
