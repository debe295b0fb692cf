/** The second stage of a request: its sections as text, counted, out of what was read. Pure. */
import type { Checkpoint } from '../../log/events/checkpoint.ts'
import type { Message } from '../../log/views/message.ts'
import { type ComputedSections, type Known, keptState, renderState } from '../compaction/computed-sections.ts'
import { renderCheckpoint } from '../compaction/render-checkpoint.ts'
import type { TokenEstimator } from '../text/tokens.ts'
import { descriptionFor, renderDescription } from './descriptions.ts'
import { handOffSince } from './hand-over.ts'
import type { RequestInputs, Stretch } from './inputs.ts'
import { defaultShares } from './pack.ts'
import { inPlace } from './reference-contents.ts'
import { renderStableContext, renderVolatileContext } from './render-context.ts'
import type { CatchUp, Sections, TextSection } from './sections.ts'
import { sharedLines } from './shared-lines.ts'
import { partUnseen } from './split-at-cursor.ts'
import { triggerSection } from './trigger.ts'

export interface RenderedRequest {
  inputs: RequestInputs
  sections: Sections
  /** The messages of the window that were read, oldest first, as the request shows them. */
  messages: readonly Message[]
  /** The part of the computed state that a checkpoint taken now would keep. */
  kept: Pick<Checkpoint, 'ralphLoop'>
}

export interface RenderTools {
  computed: ComputedSections
  estimator: TokenEstimator
  /** Counts a section. Sections change rarely and stand in every request, so the count of a text is cached. */
  count(text: string): TextSection
}

/** The computed state and the hand-over of a phase take these shares of the budget at most. */
const stateShare = 0.1
const handOverShare = defaultShares.catchUp * 0.5

export function renderSections(inputs: RequestInputs, tools: RenderTools): RenderedRequest {
  const { session, conversation, checkpoint, context, unseen, budget } = inputs
  const { computed, estimator, count } = tools
  const messages = shownMessages(inputs)
  const trigger = shownTrigger(inputs, messages)
  const triggerVersion = typeof trigger === 'string' ? undefined : trigger.version
  const others = [...messages, ...inputs.contents].filter(
    ({ version }) => version !== triggerVersion && version !== inputs.systemMessage,
  )
  const { known, unseen: news } = unseen
    ? partUnseen(others, { agentName: session.agentName, sessionId: session.id, acknowledged: unseen.start })
    : { known: others, unseen: [] }
  const maxTokens = Math.floor(budget * stateShare)
  const facts: Known = {
    session,
    conversation,
    checkpoint,
    // A window without its tool messages cannot say which calls are open.
    messages: inputs.settings.strategy.name === 'recent' ? [] : messages,
    shared: sharedLines(inputs.shared, { maxTokens, estimator }),
    ...(inputs.unresolved.length > 0 && { unresolved: inputs.unresolved }),
  }
  return {
    inputs,
    messages,
    kept: keptState(computed.state, facts),
    sections: {
      description: count(renderDescription(inputs.description ?? descriptionFor(session.agentType))),
      context: count(context ? renderStableContext(context) : ''),
      checkpoint: checkpoint && {
        ...count(renderCheckpoint(checkpoint, computed)),
        number: checkpoint.number,
        from: checkpoint.from,
        upTo: checkpoint.upTo,
        messages: checkpoint.messages,
      },
      pinned: inputs.pinned,
      history: inPlace(known),
      earlier: unreadIn(inputs.known, inputs.readElsewhere),
      tokensBefore: tokensBefore(inputs.known),
      instructions: inputs.instructions,
      standing: inputs.unreadInstructions,
      ...(unseen && { catchUp: catchUpOf(inputs, unseen, news, estimator) }),
      state: count(renderState(computed.state, facts, { maxTokens, estimator })),
      changes: count(context ? renderVolatileContext(context) : ''),
      recall: inputs.quotes.map(quote => ({ ...quote, ...count(quote.text) })),
      trigger: triggerSection(trigger, session.agentName, count),
    },
  }
}

/** Keeps the counts of the newest texts, for `RenderTools`. */
export function sectionCounter(maxTexts = 200): (text: string, estimator: TokenEstimator) => TextSection {
  const counts = new Map<string, number>()
  return (text, estimator) => {
    if (text === '') return { text, tokens: 0 }
    const key = `${estimator.name} ${text}`
    let tokens = counts.get(key)
    if (tokens === undefined) {
      tokens = estimator.count(text)
      if (counts.size >= maxTexts) counts.clear()
      counts.set(key, tokens)
    }
    return { text, tokens }
  }
}

/** The messages with the pins of now, and without calls where the strategy shows no results. */
function shownMessages({ known, unseen, conversation, settings }: RequestInputs): Message[] {
  const pins = new Set(conversation?.pins)
  const showsCalls = settings.strategy.name !== 'recent'
  const shown = (message: Message) => (showsCalls ? withPin(message, pins) : withoutCalls(withPin(message, pins)))
  return [...known.messages, ...(unseen?.messages ?? [])].map(shown)
}

function shownTrigger({ trigger }: RequestInputs, messages: readonly Message[]): string | Message {
  if (typeof trigger === 'string') return trigger
  return messages.findLast(message => message.version === trigger.version) ?? trigger
}

/** Pins come and go after a message was written, so the conversation's list counts. */
function withPin(message: Message, pins: ReadonlySet<number>): Message {
  const isPinned = pins.has(message.version)
  return isPinned === (message.pinned ?? false) ? message : { ...message, pinned: isPinned }
}

/** A call without its result would look like one that still runs. */
function withoutCalls(message: Message): Message {
  const parts = message.parts.filter(part => part.type !== 'tool-call')
  return parts.length === message.parts.length || parts.length === 0 ? message : { ...message, parts }
}

function catchUpOf(
  { conversation, end, budget, readElsewhere }: RequestInputs,
  unseen: Stretch,
  messages: readonly Message[],
  estimator: TokenEstimator,
): CatchUp {
  const since = unseen.start
  const maxTokens = Math.floor(budget * handOverShare)
  const handOff = handOffSince(conversation, { since, end, maxTokens, estimator })
  return {
    messages: inPlace(messages),
    earlier: unreadIn(unseen, readElsewhere),
    since,
    ...(handOff && { handOff }),
  }
}

function tokensBefore({ sums, messages }: Stretch): number {
  return sums.tokens - messages.reduce((sum, message) => sum + message.tokens.count, 0)
}

/** The rest of a stretch, which is known by its sums alone. */
function unreadIn({ start, end, sums, messages }: Stretch, readElsewhere: readonly Message[]): Sections['earlier'] {
  const read = [...messages, ...readElsewhere.filter(({ version }) => version > start && version <= end)]
  const tokens = read.reduce((sum, message) => sum + message.tokens.count, 0)
  return { messages: Math.max(0, sums.messages - read.length), tokens: Math.max(0, sums.tokens - tokens) }
}
