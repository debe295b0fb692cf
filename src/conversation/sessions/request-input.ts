/**
 * Gathers what a session's next request is made of: heads, the newest messages the budget can hold, and nothing more.
 * What is older is known by its sums, so the cost does not grow with history.
 */

import type { Engine } from '../../log/engine.ts'
import type { Checkpoint } from '../../log/events/checkpoint.ts'
import type { SessionContext } from '../../log/events/context.ts'
import type { AgentDescription } from '../../log/events/description.ts'
import type { Strategy } from '../../log/events/strategy.ts'
import { Recent } from '../../log/lru.ts'
import { type LaneKind, type LaneSums, laneKinds } from '../../log/records/lane.ts'
import type { ConversationInfo } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { type Window, windowOf } from '../../log/windows.ts'
import { descriptionFor } from '../../request/assembly/descriptions.ts'
import { handOffSince } from '../../request/assembly/hand-over.ts'
import { defaultShares } from '../../request/assembly/pack.ts'
import { inPlace } from '../../request/assembly/reference-contents.ts'
import { renderStableContext, renderVolatileContext } from '../../request/assembly/render-context.ts'
import { renderDescription } from '../../request/assembly/render-description.ts'
import type { Material, Quote, TextSection, Trigger } from '../../request/assembly/sections.ts'
import { partUnseen } from '../../request/assembly/split-at-cursor.ts'
import { type ComputedSections, keptState, renderState } from '../../request/compaction/computed-sections.ts'
import { renderCheckpoint } from '../../request/compaction/render-checkpoint.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { PastHeads } from '../access/heads-at.ts'
import { eventAt } from '../access/session-access.ts'
import { messagesAt, newest } from './read-window.ts'
import { recalled } from './recall.ts'
import { firstSystemMessage } from './session-messages.ts'
import { type SharableItems, sharedWith } from './sharing.ts'
import { findTrigger } from './trigger.ts'

export interface GatherInput {
  head: SessionHead
  /** A text, or the id of a stored message. */
  trigger: string | { messageId: string }
  strategy: Strategy
  budget: number
  /** Only what was there at this version. Default: all there is. */
  end?: number
  /** How things stood, if not as they do now. */
  then?: PastHeads
  /** References that could not be resolved, a line each. */
  unresolved?: readonly string[]
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

/** What code computes may take this share of the budget behind the history. */
const stateShare = 0.1

export function materialGatherer(
  engine: Engine,
  estimator: () => TokenEstimator | Promise<TokenEstimator>,
  computed: ComputedSections,
) {
  const { store } = engine
  const sizes = new Map<string, number>()
  const sharable: SharableItems = new Recent(200)
  /** What windows held when they were last asked for, by session. */
  const lastSums = new Recent<LaneSums>(200)

  /** Sections are counted once per text; they change seldom and are asked for with every request. */
  function section(text: string, counter: TokenEstimator): TextSection {
    if (text === '') return { text, tokens: 0 }
    const key = `${counter.name} ${text}`
    let tokens = sizes.get(key)
    if (tokens === undefined) {
      tokens = counter.count(text)
      if (sizes.size > 200) sizes.clear()
      sizes.set(key, tokens)
    }
    return { text, tokens }
  }

  async function gather(input: GatherInput): Promise<Gathered> {
    const { head, trigger: asked, strategy, budget, end, then, unresolved } = input
    const counting = estimator()
    const counter = counting instanceof Promise ? await counting : counting
    const counted = (text: string) => section(text, counter)
    const usesCheckpoint = strategy.name === 'checkpoint' || strategy.name === 'summarization'
    const kinds: readonly LaneKind[] = strategy.name === 'recent' ? ['talk'] : laneKinds
    const windowFrom = (upTo = 0): Window => ({
      ...windowOf(head, kinds),
      start: Math.max(head.windowStart, upTo),
      kept: [],
      ...(end !== undefined && { end }),
    })
    const expected = windowFrom(usesCheckpoint ? head.checkpoint?.upTo : undefined)
    const most = strategy.name === 'recent' ? strategy.messages + 1 : undefined
    const stateTokens = Math.floor(budget * stateShare)
    const told =
      then?.conversation.info ?? store.conversation(head.project, head.conversationId).then(found => found?.info)
    // How much fits is known well enough from the last time; if it was too little, the rest is read behind it.
    const last = head.acknowledged === undefined ? lastSums.get(head.id) : undefined
    // All at once: a store that is elsewhere takes as long for one question as for several.
    const [described, contextEvent, taken, system, expectedSums, expectedRead, shared, info] = await Promise.all([
      eventAt(engine, head, head.describedAt, 'session.described'),
      eventAt(engine, head, head.contextAt, 'context.gathered'),
      eventAt(engine, head, usesCheckpoint ? head.checkpoint?.version : undefined, 'checkpoint.taken'),
      // Seed 003 keeps the system message, whatever else goes.
      keepsSystemMessage(strategy) ? firstSystemMessage(engine, head) : undefined,
      store.measure(expected),
      last?.messages ? newest(store, expected, { sums: last, most, budget }) : undefined,
      sharedWith({ engine, known: sharable, head, conversation: told, then, counter, end, maxTokens: stateTokens }),
      told,
    ])
    const checkpoint = taken?.checkpoint
    const window = windowFrom(checkpoint?.upTo)
    const isExpected = window.start === expected.start
    const sums = isExpected ? expectedSums : await store.measure(window)
    lastSums.set(head.id, sums)
    const away = await sinceAcknowledged(window, head, budget)
    const past = away ? { ...window, end: Math.min(away.since, end ?? away.since) } : window
    const pastSums = away ? await store.measure(past) : sums
    const pastRead =
      isExpected && expectedRead ? expectedRead : await newest(store, past, { sums: pastSums, most, budget })
    const pins = new Set(info?.pins)
    // Results are not among talk, and a call without its result would be told as one that still runs.
    const asTold = strategy.name === 'recent' ? withoutCalls : (message: Message) => message
    const read: Message[] = []
    const readVersions = new Set<number>()
    for (const messages of [pastRead, away?.read ?? []]) {
      for (const message of messages) {
        read.push(asTold(withPin(message, pins)))
        readVersions.add(message.version)
      }
    }
    const { trigger, rest: found } = await findTrigger({ store, head, asked, read, section: counted })
    const contents = await contentsBeyond(window, info, readVersions, trigger)
    const rest = contents.length === 0 ? found : [...found, ...contents]
    const others = system === undefined ? rest : rest.filter(message => message.version !== system)
    const outside = [...head.kept, ...pins].filter(
      version =>
        (head.kept.includes(version) || version > head.windowStart) &&
        version !== trigger.version &&
        !readVersions.has(version),
    )
    const pinned = await messagesAt(store, window, system === undefined ? outside : [...outside, system])
    // A stored trigger that is older than what was read is not left out either: it stands at the end.
    const isFar = trigger.version !== undefined && trigger.version > window.start && !readVersions.has(trigger.version)
    const isUnread = ({ version }: Message) => !readVersions.has(version)
    const elsewhere = [
      ...pinned.filter(isUnread),
      ...(isFar ? await messagesAt(store, window, [trigger.version!]) : []),
    ]
    const unread = (whole: LaneSums, found: readonly Message[], { start, end = Number.MAX_SAFE_INTEGER }: Window) => {
      const there = [...found, ...elsewhere.filter(one => one.version > start && one.version <= end)]
      const tokens = there.reduce((sum, one) => sum + one.tokens.count, 0)
      return { messages: Math.max(0, whole.messages - there.length), tokens: Math.max(0, whole.tokens - tokens) }
    }
    const { known, unseen } = away
      ? partUnseen(others, { agentName: head.agentName, acknowledged: away.since })
      : { known: others, unseen: [] }
    const handOff =
      away &&
      handOffSince(info, {
        since: away.since,
        end,
        maxTokens: Math.floor(budget * defaultShares.catchUp * 0.5),
        estimator: counter,
      })
    const description = described?.description ?? descriptionFor(head.agentType)
    const context = contextEvent?.context
    const facts = {
      session: head,
      conversation: info,
      checkpoint,
      // Of a window without its tool messages nothing can be said about calls.
      messages: strategy.name === 'recent' ? [] : read,
      shared,
      ...(unresolved && { unresolved }),
    }
    const state = renderState(computed.state, facts, { maxTokens: stateTokens, estimator: counter })
    return {
      description,
      context,
      checkpoint,
      kept: keptState(computed.state, facts),
      messages: read,
      window: sums,
      recallBefore: before => recalled({ store, head, trigger, before, pinned, section: counted }),
      material: {
        description: counted(renderDescription(description)),
        context: counted(context ? renderStableContext(context) : ''),
        checkpoint: checkpoint && {
          ...counted(renderCheckpoint(checkpoint, computed)),
          number: checkpoint.number,
          from: checkpoint.from,
          upTo: checkpoint.upTo,
          messages: checkpoint.messages,
        },
        pinned,
        history: inPlace(known),
        earlier: unread(pastSums, pastRead, past),
        ...(away && {
          catchUp: {
            messages: inPlace(unseen),
            earlier: unread(away.sums, away.read, away.window),
            since: away.since,
            ...(handOff && { handOff }),
          },
        }),
        state: counted(state),
        changes: counted(context ? renderVolatileContext(context) : ''),
        recall: [],
        trigger,
      },
    }
  }

  /** The contents that messages of the window refer to and that stand outside of it: recorded after its end, mostly. */
  async function contentsBeyond(
    window: Window,
    info: ConversationInfo | undefined,
    read: ReadonlySet<number>,
    trigger: Trigger,
  ): Promise<Message[]> {
    const versions = (info?.references ?? [])
      .filter(
        ({ version, of }) => version > window.start && !read.has(version) && (read.has(of) || of === trigger.version),
      )
      .map(({ version }) => version)
    const { end: _, ...open } = window
    const found = await messagesAt(store, { ...open, kinds: laneKinds }, versions)
    return found.filter(message => message.resolves)
  }

  /** What came since the agent acknowledged anything; undefined for one that never did. */
  async function sinceAcknowledged(window: Window, head: SessionHead, budget: number) {
    if (head.acknowledged === undefined) return undefined
    const since = Math.max(head.acknowledged, window.start)
    const unseen: Window = { ...window, start: since }
    const sums = await store.measure(unseen)
    const read =
      sums.messages === 0 ? [] : await newest(store, unseen, { sums, budget: budget * defaultShares.catchUp })
    return { since, sums, read, window: unseen }
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

function keepsSystemMessage({ name }: Strategy): boolean {
  return name === 'sliding_window' || name === 'summarization'
}
