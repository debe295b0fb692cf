/**
 * Gathers what a session's next request is made of: heads, the newest messages the budget can hold, and nothing more.
 * What is older is known by its sums, so the cost does not grow with history.
 */
import { renderCheckpoint } from '../compaction/render.ts'
import type { Engine } from '../engine.ts'
import { NotFound } from '../errors.ts'
import type { CheckpointTaken } from '../events/checkpoint.ts'
import type { ContextGathered, SessionContext } from '../events/context.ts'
import type { AgentDescription, SessionDescribed } from '../events/description.ts'
import type { ConversationEvent } from '../events/event.ts'
import { type LaneKind, type LaneSums, laneKinds } from '../log/lane.ts'
import { isVisible, viewerOf } from '../log/visibility.ts'
import type { Window } from '../log/windows.ts'
import { messageSize, overhead } from '../request/budget.ts'
import { descriptionFor } from '../request/descriptions.ts'
import { recallWords } from '../request/recall-words.ts'
import { renderStableContext, renderVolatileContext } from '../request/render-context.ts'
import { renderDescription } from '../request/render-description.ts'
import type { Material, Quote, TextSection, Trigger } from '../request/sections.ts'
import type { Strategy } from '../request/strategy.ts'
import type { TokenEstimator } from '../request/tokens.ts'
import type { Message } from '../views/message.ts'
import type { SessionHead } from '../views/session.ts'

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
  checkpoint: CheckpointTaken['checkpoint'] | undefined
  /** Quotes of messages before a version that have the words of the message. */
  recallBefore(version: number): Promise<Quote[]>
}

const mostQuotes = 8

export function materialGatherer(engine: Engine, estimator: () => TokenEstimator | Promise<TokenEstimator>) {
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

  async function eventAt<T extends ConversationEvent['type']>(
    head: SessionHead,
    version: number | undefined,
    type: T,
  ): Promise<Extract<ConversationEvent, { type: T }> | undefined> {
    if (version === undefined) return undefined
    const { project, conversationId } = head
    const [recorded] = await store.read({ project, conversationId, from: version, to: version })
    return recorded?.event.type === type ? (recorded.event as Extract<ConversationEvent, { type: T }>) : undefined
  }

  async function gather({ head, trigger: asked, strategy, budget }: GatherInput): Promise<Gathered> {
    const counting = estimator()
    const counter = counting instanceof Promise ? await counting : counting
    const usesCheckpoint = strategy.name === 'checkpoint' || strategy.name === 'summarization'
    const [described, contextEvent, taken, conversation] = await Promise.all([
      eventAt(head, head.describedAt, 'session.described') as Promise<SessionDescribed | undefined>,
      eventAt(head, head.contextAt, 'context.gathered') as Promise<ContextGathered | undefined>,
      eventAt(head, usesCheckpoint ? head.checkpoint?.version : undefined, 'checkpoint.taken') as Promise<
        CheckpointTaken | undefined
      >,
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
    const { trigger, history } = await findTrigger(asked, head, read, counter)
    const isFar = trigger.version !== undefined && trigger.version > window.start && history.length === read.length
    const outside = [...head.kept, ...(conversation?.info.pins ?? [])].filter(
      version =>
        (head.kept.includes(version) || version > head.windowStart) &&
        version !== trigger.version &&
        !read.some(one => one.version === version),
    )
    const pinned = await messagesAt(window, outside)
    // A stored trigger that is older than what was read is not left out either: it stands at the end.
    const far = isFar ? await messagesAt(window, [trigger.version!]) : []
    const elsewhere = pinned.filter(one => one.version > window.start).length + far.length
    const unread = {
      messages: Math.max(0, sums.messages - read.length - elsewhere),
      tokens: Math.max(0, sums.tokens - read.reduce((sum, one) => sum + one.tokens.count, 0)),
    }
    const description = described?.description ?? descriptionFor(head.agentType)
    const context = contextEvent?.context
    return {
      description,
      context,
      checkpoint,
      window: sums,
      recallBefore: version => recalled(head, trigger, { before: version, pinned, counter }),
      material: {
        description: section(renderDescription(description), counter),
        context: section(context ? renderStableContext(context) : '', counter),
        checkpoint: checkpoint && {
          ...section(renderCheckpoint(checkpoint), counter),
          number: checkpoint.number,
          from: checkpoint.from,
          upTo: checkpoint.upTo,
          messages: checkpoint.messages,
        },
        pinned,
        history,
        earlier: unread,
        state: section('', counter),
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
      found = found.length === 0 ? page : [...page, ...found]
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
    return {
      trigger: { ...section(content, counter), author, version },
      history: read.filter(message => message.version !== version),
    }
  }

  async function byId(messageId: string, read: readonly Message[], head: SessionHead): Promise<Message> {
    const near = read.find(message => message.id === messageId)
    const message = near ?? (await store.message(head.project, messageId))
    const isOurs = message?.conversationId === head.conversationId && isVisible(message.audience, viewerOf(head))
    if (!message || !isOurs) throw new NotFound('message', messageId)
    return message
  }

  async function recalled(
    head: SessionHead,
    trigger: Trigger,
    { before, pinned, counter }: { before: number; pinned: readonly Message[]; counter: TokenEstimator },
  ): Promise<Quote[]> {
    const words = recallWords(trigger.text.slice(0, 2000))
    if (words.length === 0) return []
    const hits = await store.search({
      project: head.project,
      conversationId: head.conversationId,
      text: words.join(' '),
      viewer: viewerOf(head),
      before,
      limit: mostQuotes,
    })
    const known = new Set([...pinned.map(message => message.version), trigger.version])
    return hits
      .filter(hit => hit.version > head.windowStart && !known.has(hit.version))
      .map(hit => ({ version: hit.version, author: hit.author, ...section(hit.snippet, counter) }))
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
