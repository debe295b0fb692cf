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
import { type Window, windowOf } from '../log/windows.ts'
import { messageSize, overhead } from '../request/budget.ts'
import { descriptionFor } from '../request/descriptions.ts'
import { defaultShares, wholeSize } from '../request/pack.ts'
import { partsText } from '../request/part-text.ts'
import { recallWords } from '../request/recall-words.ts'
import { renderStableContext, renderVolatileContext } from '../request/render-context.ts'
import { renderDescription } from '../request/render-description.ts'
import type { HandOff, Material, Quote, TextSection, Trigger } from '../request/sections.ts'
import type { TokenEstimator } from '../request/tokens.ts'
import { labelOf } from '../request/transcript.ts'
import { trimText } from '../request/trim.ts'
import { partUnseen } from '../request/unseen.ts'
import type { ConversationInfo } from '../views/conversation.ts'
import type { Message } from '../views/message.ts'
import type { SessionHead } from '../views/session.ts'
import { eventAt } from './session-access.ts'
import { firstSystemMessage } from './session-messages.ts'
import { sharedWith } from './shared-knowledge.ts'

export interface GatherInput {
  head: SessionHead
  /** A text, or the id of a stored message. */
  trigger: string | { messageId: string }
  strategy: Strategy
  budget: number
  /** Only what was there at this version. Default: all there is. */
  end?: number
  /** How the conversation stood, if not as it does now. */
  conversation?: ConversationInfo
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

interface HandedOffInput {
  since: number
  end: number | undefined
  budget: number
  counter: TokenEstimator
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

  async function gather({ head, trigger: asked, strategy, budget, end, conversation }: GatherInput): Promise<Gathered> {
    const counting = estimator()
    const counter = counting instanceof Promise ? await counting : counting
    const usesCheckpoint = strategy.name === 'checkpoint' || strategy.name === 'summarization'
    const [described, contextEvent, taken, info] = await Promise.all([
      eventAt(engine, head, head.describedAt, 'session.described'),
      eventAt(engine, head, head.contextAt, 'context.gathered'),
      eventAt(engine, head, usesCheckpoint ? head.checkpoint?.version : undefined, 'checkpoint.taken'),
      conversation ?? store.conversation(head.project, head.conversationId).then(found => found?.info),
    ])
    const checkpoint = taken?.checkpoint
    const kinds: readonly LaneKind[] = strategy.name === 'recent' ? ['talk'] : laneKinds
    const window: Window = {
      ...windowOf(head, kinds),
      start: Math.max(head.windowStart, checkpoint?.upTo ?? 0),
      kept: [],
      ...(end !== undefined && { end }),
    }
    const sums = await store.measure(window)
    const most = strategy.name === 'recent' ? strategy.messages + 1 : undefined
    const away = await sinceAcknowledged(window, head, budget)
    const past = away ? { ...window, end: Math.min(away.since, end ?? away.since) } : window
    const pastSums = away ? await store.measure(past) : sums
    const pastRead = await newest(past, pastSums, most, budget)
    const pins = new Set(info?.pins)
    const seen = [...pastRead, ...(away?.read ?? [])].map(message => withPin(message, pins))
    // Results are not among talk, and a call without its result would be told as one that still runs.
    const read = strategy.name === 'recent' ? seen.map(withoutCalls) : seen
    const { trigger, rest: found } = await findTrigger(asked, head, read, counter)
    // Seed 003 keeps the system message, whatever else goes.
    const system = keepsSystemMessage(strategy) ? await firstSystemMessage(engine, head) : undefined
    const rest = system === undefined ? found : found.filter(message => message.version !== system)
    const readVersions = new Set(read.map(message => message.version))
    const outside = [...head.kept, ...pins].filter(
      version =>
        (head.kept.includes(version) || version > head.windowStart) &&
        version !== trigger.version &&
        !readVersions.has(version),
    )
    const pinned = await messagesAt(window, system === undefined ? outside : [...outside, system])
    // A stored trigger that is older than what was read is not left out either: it stands at the end.
    const isFar = trigger.version !== undefined && trigger.version > window.start && !readVersions.has(trigger.version)
    const isUnread = ({ version }: Message) => !readVersions.has(version)
    const elsewhere = [...pinned.filter(isUnread), ...(isFar ? await messagesAt(window, [trigger.version!]) : [])]
    const unread = (whole: LaneSums, found: readonly Message[], { start, end = Number.MAX_SAFE_INTEGER }: Window) => ({
      messages: Math.max(
        0,
        whole.messages - found.length - elsewhere.filter(one => one.version > start && one.version <= end).length,
      ),
      tokens: Math.max(0, whole.tokens - found.reduce((sum, one) => sum + one.tokens.count, 0)),
    })
    const { known, unseen } = away
      ? partUnseen(rest, { agentName: head.agentName, acknowledged: away.since })
      : { known: rest, unseen: [] }
    const description = described?.description ?? descriptionFor(head.agentType)
    const context = contextEvent?.context
    const facts = {
      session: head,
      conversation: info,
      checkpoint,
      // Of a window without its tool messages nothing can be said about calls.
      messages: strategy.name === 'recent' ? [] : read,
      shared: await sharedWith({ engine, head, conversation: info, counter, end }),
    }
    const state = renderState(computed.state, facts, { maxTokens: Math.floor(budget * stateShare), estimator: counter })
    return {
      description,
      context,
      checkpoint,
      kept: keptState(computed.state, facts),
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
        history: known,
        earlier: unread(pastSums, pastRead, past),
        ...(away && {
          catchUp: {
            messages: unseen,
            earlier: unread(away.sums, away.read, away.window),
            since: away.since,
            ...handedOff(info, { since: away.since, end, budget, counter }),
          },
        }),
        state: section(state, counter),
        changes: section(context ? renderVolatileContext(context) : '', counter),
        recall: [],
        trigger,
      },
    }
  }

  /** What came since the agent acknowledged anything; undefined for one that never did. */
  async function sinceAcknowledged(window: Window, head: SessionHead, budget: number) {
    if (head.acknowledged === undefined) return undefined
    const since = Math.max(head.acknowledged, window.start)
    const unseen: Window = { ...window, start: since }
    const sums = await store.measure(unseen)
    const read = sums.messages === 0 ? [] : await newest(unseen, sums, undefined, budget * defaultShares.catchUp)
    return { since, sums, read, window: unseen }
  }

  /** What was said when the phase changed, if the agent was away then. */
  function handedOff(
    info: ConversationInfo | undefined,
    { since, end = Number.MAX_SAFE_INTEGER, budget, counter }: HandedOffInput,
  ): { handOff?: HandOff } {
    const { phase, phaseState } = info ?? {}
    const summary = phaseState?.summary ?? phaseState?.message
    if (!phaseState || !summary || phaseState.version <= since || phaseState.version > end) return {}
    const whole = section(summary, counter)
    const most = Math.floor(budget * defaultShares.catchUp * 0.5)
    const text =
      whole.tokens <= most
        ? whole
        : trimText(summary, { to: most, tokens: whole.tokens, estimator: counter, how: 'the log has all of it' })
    const label = `hand-off from ${phaseState.from ?? 'the start'} to ${phase} by ${phaseState.agent ?? phaseState.actor}`
    return { handOff: { text: text.text, tokens: text.tokens, label } }
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
  ): Promise<{ trigger: Trigger; rest: readonly Message[] }> {
    const stored =
      typeof asked === 'string' ? unanswered(asked, read, head.agentName) : await byId(asked.messageId, read, head)
    if (!stored) return { trigger: { ...section(asked as string, counter), author: 'user' }, rest: read }
    const { version, author } = stored
    // Calls and results are told as providers take them; other parts, and other people's words, as text with a name.
    const isWhole = stored.parts.some(part => part.type === 'tool-result' || part.type === 'tool-call')
    const label = labelOf(stored, head.agentName)
    const told = isWhole
      ? { text: partsText(stored.parts), tokens: wholeSize(stored), message: stored }
      : { text: partsText(stored.parts), tokens: stored.tokens.count, ...(label !== undefined && { label }) }
    return {
      trigger: { ...told, author, version },
      rest: read.filter(message => message.version !== version),
    }
  }

  async function byId(messageId: string, read: readonly Message[], head: SessionHead): Promise<Message> {
    const near = read.find(message => message.id === messageId)
    const message = near ?? (await store.message(head.project, messageId))
    // Whether the session sees it, and whether it stands in its line of branches, is for the window to say.
    const [seen] = message ? await messagesAt(windowOf(head), [message.version]) : []
    if (seen?.id !== messageId) throw new NotFound('message', messageId)
    return seen
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
      ...(head.branchOf && { branchOf: head.branchOf }),
      before,
      limit: mostQuotes,
    })
    const known = new Set([...pinned.map(message => message.version), trigger.version])
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

/** Pins come and go after a message was written: what counts is what the conversation says now. */
function withPin(message: Message, pins: ReadonlySet<number>): Message {
  const isPinned = pins.has(message.version)
  if (isPinned === (message.pinned ?? false)) return message
  return { ...message, pinned: isPinned }
}

function withoutCalls(message: Message): Message {
  const parts = message.parts.filter(part => part.type !== 'tool-call')
  return parts.length === message.parts.length || parts.length === 0 ? message : { ...message, parts }
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
