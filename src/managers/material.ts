/**
 * Gathers what a session's next request is made of: heads, the newest messages the budget can hold, and nothing more.
 * What is older is known by its sums, so the cost does not grow with history.
 */
import { type ComputedSections, keptState, renderState } from '../compaction/computed.ts'
import { renderCheckpoint } from '../compaction/render.ts'
import type { Engine } from '../engine.ts'
import { NotFound } from '../errors.ts'
import type { Checkpoint } from '../events/checkpoint.ts'
import type { SessionContext } from '../events/context.ts'
import type { AgentDescription } from '../events/description.ts'
import type { Strategy } from '../events/strategy.ts'
import { type LaneKind, type LaneSums, laneKinds } from '../log/lane.ts'
import { viewerOf } from '../log/visibility.ts'
import type { Window } from '../log/windows.ts'
import { messageSize, overhead } from '../request/budget.ts'
import { descriptionFor } from '../request/descriptions.ts'
import { wholeSize } from '../request/pack.ts'
import { partsText } from '../request/part-text.ts'
import { renderStableContext, renderVolatileContext } from '../request/render-context.ts'
import { renderDescription } from '../request/render-description.ts'
import type { Material, Quote, TextSection, Trigger } from '../request/sections.ts'
import type { TokenEstimator } from '../request/tokens.ts'
import type { Message } from '../views/message.ts'
import type { SessionHead } from '../views/session.ts'
import { eventAt, windowOf } from './session-access.ts'
import { firstSystemMessage } from './session-messages.ts'

export interface GatherInput {
  head: SessionHead
  /** A text, or the id of a stored message. */
  trigger: string | { messageId: string }
  strategy: Strategy
  budget: number
}

export interface Gathered {
  material: Material
  /** What the window holds in all, read or not. */
  window: LaneSums
  description: AgentDescription
  context: SessionContext | undefined
  checkpoint: Checkpoint | undefined
  /** The messages that were read, oldest first, the one it is for among them. */
  messages: readonly Message[]
  /** What a checkpoint taken now keeps of the state. */
  kept: Pick<Checkpoint, 'ralphLoop'>
  /** Quotes of messages before a version that have the words of the message. */
  recallBefore(version: number): Promise<Quote[]>
}

const mostQuotes = 8
/** The best hits are quoted with what was said right before and after. */
const hitsWithNeighbours = 3
const neighbourCharacters = 400

/** What code computes may take this share of the budget behind the history. */
const stateShare = 0.1

export function materialGatherer(
  engine: Engine,
  estimator: () => TokenEstimator | Promise<TokenEstimator>,
  computed: ComputedSections,
) {
  const { store } = engine
  const counted = new Map<string, number>()

  /** Sections are counted once per text; they change seldom and are asked for with every request. */
  function section(text: string, counter: TokenEstimator): TextSection {
    if (text === '') return { text, tokens: 0 }
    const key = `${counter.name} ${text}`
    let tokens = counted.get(key)
    if (tokens === undefined) {
      tokens = counter.count(text)
      if (counted.size > 200) counted.clear()
      counted.set(key, tokens)
    }
    return { text, tokens }
  }

  async function gather({ head, trigger: asked, strategy, budget }: GatherInput): Promise<Gathered> {
    const counting = estimator()
    const counter = counting instanceof Promise ? await counting : counting
    const usesCheckpoint = strategy.name === 'checkpoint' || strategy.name === 'summarization'
    const [described, contextEvent, taken, conversation] = await Promise.all([
      eventAt(engine, head, head.describedAt, 'session.described'),
      eventAt(engine, head, head.contextAt, 'context.gathered'),
      eventAt(engine, head, usesCheckpoint ? head.checkpoint?.version : undefined, 'checkpoint.taken'),
      store.conversation(head.project, head.conversationId),
    ])
    const checkpoint = taken?.checkpoint
    const kinds: readonly LaneKind[] = strategy.name === 'recent' ? ['talk'] : laneKinds
    const window: Window = {
      project: head.project,
      conversationId: head.conversationId,
      viewer: viewerOf(head),
      kinds,
      start: Math.max(head.windowStart, checkpoint?.upTo ?? 0),
      kept: [],
    }
    const sums = await store.measure(window)
    const read = await newest(window, sums, strategy.name === 'recent' ? strategy.messages + 1 : undefined, budget)
    const found = await findTrigger(asked, head, read, counter)
    const { trigger } = found
    // Seed 003 keeps the system message, whatever else goes.
    const system = keepsSystemMessage(strategy) ? await firstSystemMessage(engine, head) : undefined
    const history = found.history.filter(message => message.version !== system)
    const outside = [...head.kept, ...(conversation?.info.pins ?? [])].filter(
      version =>
        (head.kept.includes(version) || version > head.windowStart) && !read.some(one => one.version === version),
    )
    const pinned = await messagesAt(window, system === undefined ? outside : [...outside, system])
    const isUnread = ({ version }: Message) => version > window.start && !read.some(one => one.version === version)
    const unread = {
      messages: sums.messages - read.length - pinned.filter(isUnread).length,
      tokens: Math.max(0, sums.tokens - read.reduce((sum, one) => sum + one.tokens.count, 0)),
    }
    const description = described?.description ?? descriptionFor(head.agentType)
    const context = contextEvent?.context
    const known = {
      session: head,
      conversation: conversation?.info,
      checkpoint,
      // Of a window without its tool messages nothing can be said about calls.
      messages: strategy.name === 'recent' ? [] : read,
    }
    const state = renderState(computed.state, known, { maxTokens: Math.floor(budget * stateShare), estimator: counter })
    return {
      description,
      context,
      checkpoint,
      kept: keptState(computed.state, known),
      messages: read,
      window: sums,
      recallBefore: version => recalled(head, trigger, { before: version, pinned, counter }),
      material: {
        description: section(renderDescription(description), counter),
        context: section(context ? renderStableContext(context) : '', counter),
        checkpoint: checkpoint && {
          ...section(renderCheckpoint(checkpoint, computed), counter),
          number: checkpoint.number,
          from: checkpoint.from,
          upTo: checkpoint.upTo,
          messages: checkpoint.messages,
        },
        pinned,
        history,
        earlier: strategy.name === 'recent' ? { messages: 0, tokens: 0 } : unread,
        state: section(state, counter),
        changes: section(context ? renderVolatileContext(context) : '', counter),
        recall: [],
        trigger,
      },
    }
  }

  /** As many of the newest messages as the budget can hold, mostly in one read. */
  async function newest(window: Window, sums: LaneSums, most: number | undefined, budget: number): Promise<Message[]> {
    const average = sums.tokens / Math.max(1, sums.messages) + overhead.message
    const limit = most ?? Math.min(5000, Math.max(16, Math.ceil((budget / average) * 1.05)))
    let found: Message[] = []
    let size = 0
    for (;;) {
      const before = found[0]?.version
      const page = await store.messages(window, { limit, ...(before !== undefined && { before }) })
      found = [...page, ...found]
      for (const message of page) size += messageSize(message)
      if (page.length < limit || size >= budget || most !== undefined) return found
    }
  }

  function messagesAt(window: Window, versions: readonly number[]): Promise<Message[]> {
    if (versions.length === 0) return Promise.resolve([])
    const ordered = [...new Set(versions)].sort((a, b) => a - b)
    return store.messages({ ...window, start: Number.MAX_SAFE_INTEGER, kept: ordered }, { limit: ordered.length })
  }

  /** A text that the newest unanswered message of the person has already is that message: it stands there once. */
  async function findTrigger(
    asked: string | { messageId: string },
    head: SessionHead,
    read: readonly Message[],
    counter: TokenEstimator,
  ): Promise<{ trigger: Trigger; history: readonly Message[] }> {
    const stored =
      typeof asked === 'string' ? unanswered(asked, read, head.agentName) : await byId(asked.messageId, read, head)
    if (!stored) return { trigger: { ...section(asked as string, counter), author: 'user' }, history: read }
    const { version, author, content } = stored
    const isPlain = stored.role === 'user' && stored.parts.every(part => part.type === 'text')
    const told = isPlain
      ? { text: content, tokens: stored.tokens.count }
      : { text: partsText(stored.parts), tokens: wholeSize(stored), message: stored }
    return {
      trigger: { ...told, author, version },
      history: read.filter(message => message.version !== version),
    }
  }

  async function byId(messageId: string, read: readonly Message[], head: SessionHead): Promise<Message> {
    const near = read.find(message => message.id === messageId)
    const message = near ?? (await store.message(head.project, messageId))
    if (!message || message.conversationId !== head.conversationId) throw new NotFound('message', messageId)
    return message
  }

  async function recalled(
    head: SessionHead,
    trigger: Trigger,
    { before, pinned, counter }: { before: number; pinned: readonly Message[]; counter: TokenEstimator },
  ): Promise<Quote[]> {
    const hits = await store.search({
      project: head.project,
      conversationId: head.conversationId,
      text: trigger.text.slice(0, 2000),
      viewer: viewerOf(head),
      before,
      limit: mostQuotes,
    })
    const known = new Set(pinned.map(message => message.version))
    const found = hits.filter(hit => hit.version > head.windowStart && !known.has(hit.version))
    for (const hit of found) known.add(hit.version)
    const quotes = await Promise.all(
      found.map(async (hit, rank): Promise<Quote[]> => {
        const quote = { version: hit.version, author: hit.author, ...section(hit.snippet, counter) }
        return rank < hitsWithNeighbours ? [quote, ...(await neighbours(hit.version))] : [quote]
      }),
    )
    // A message between two hits is the neighbour of both.
    return [...new Map(quotes.flat().map(quote => [quote.version, quote])).values()]

    /** What was said right before and after: a question without its answer says little. */
    async function neighbours(version: number): Promise<Quote[]> {
      const window = windowOf(head, ['talk'])
      const [earlier, later] = await Promise.all([
        store.messages(window, { before: version, limit: 1 }),
        store.messages(window, { after: version, limit: 1 }),
      ])
      return [...earlier, ...later]
        .filter(one => one.version < before && !known.has(one.version) && one.content.trim() !== '')
        .map(one => ({
          version: one.version,
          author: one.author,
          ...section(clipped(one.content), counter),
          beside: version,
        }))
    }
  }

  return { gather, section }
}

function unanswered(text: string, read: readonly Message[], agentName: string): Message | undefined {
  for (let index = read.length - 1; index >= 0; index--) {
    const message = read[index]!
    if (message.role === 'user' && message.content === text) return message
    if (message.author === agentName) return undefined
  }
  return undefined
}

function keepsSystemMessage({ name }: Strategy): boolean {
  return name === 'sliding_window' || name === 'summarization'
}

function clipped(text: string): string {
  if (text.length <= neighbourCharacters) return text
  return `${text.slice(0, neighbourCharacters).toWellFormed()}…`
}
