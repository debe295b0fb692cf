/**
 * The first stage of a request: all of its reads. They stop at one version, so that messages which arrive meanwhile
 * cannot tear the parts of a request from each other. Older messages are known by their sums, so the cost does not
 * grow with history.
 */
import { NotFound } from '../../errors.ts'
import type { Engine } from '../../log/engine.ts'
import type { Strategy } from '../../log/events/strategy.ts'
import { type LaneKind, laneKinds, noSums } from '../../log/records/lane.ts'
import type { StoreCalls } from '../../log/store.ts'
import type { ConversationHead, ConversationInfo } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { type Window, windowOf } from '../../log/windows.ts'
import { type FittedRequest, oldestKept } from '../../request/assembly/fitted-request.ts'
import type { QuotedMessage, RequestInputs, Stretch } from '../../request/assembly/inputs.ts'
import {
  budgetOf,
  type RequestOptions,
  type RequestSettings,
  type RequestTrigger,
  settingsFor,
} from '../../request/assembly/settings.ts'
import { partUnseen } from '../../request/assembly/split-at-cursor.ts'
import { unansweredMessage } from '../../request/assembly/trigger.ts'
import type { PastHeads } from '../access/heads-at.ts'
import { eventAt } from '../access/session-access.ts'
import { recallQuotes } from './recall-quotes.ts'
import { firstSystemMessage } from './session-messages.ts'
import { sharedKnowledge } from './shared-knowledge.ts'
import { standingInstructions } from './standing-instructions.ts'
import { messagesAt, newestStretch } from './window-messages.ts'

/** The heads that a request is built from, as they are now or were at an earlier version. */
export interface RequestHeads {
  session: SessionHead
  conversation: ConversationHead | undefined
  /** All sessions of the conversation at an earlier version. Absent for now: then the store lists them. */
  sessions?: PastHeads['sessions']
}

export interface LoadOptions extends RequestOptions {
  /** References that could not be resolved, a line each. */
  unresolved?: readonly string[]
}

interface Load {
  engine: Engine
  /** The request settings of the project. */
  project: RequestSettings
  heads: RequestHeads
  trigger: RequestTrigger
  options: LoadOptions
  /** Renders and fits the inputs without quotes, because recall quotes only what the request leaves out. */
  draft: (inputs: RequestInputs) => FittedRequest
}

/** @throws {NotFound} when the session does not see the message that triggers the request */
export async function loadInputs({ engine, project, heads, trigger, options, draft }: Load): Promise<RequestInputs> {
  const { store } = engine
  const { session, conversation: conversationHead, sessions } = heads
  const conversation = conversationHead?.info
  const { asOf, unresolved = [], reserve = 0 } = options
  const end = asOf ?? conversationHead?.version ?? Number.MAX_SAFE_INTEGER
  const settings = settingsFor(project, session, options)
  const { strategy } = settings
  const { budget: wholeBudget, limits } = budgetOf(settings)
  const budget = Math.max(0, wholeBudget - reserve)
  const usesCheckpoint = strategy.name === 'checkpoint' || strategy.name === 'summarization'

  const [described, gathered, taken, built, systemMessage, shared] = await Promise.all([
    eventAt(engine, session, session.describedAt, 'session.described'),
    eventAt(engine, session, session.contextAt, 'context.gathered'),
    eventAt(engine, session, usesCheckpoint ? session.checkpoint?.version : undefined, 'checkpoint.taken'),
    eventAt(engine, session, session.lastRequest?.version, 'request.built'),
    keepsSystemMessage(strategy) ? firstSystemMessage(engine, session) : undefined,
    sharedKnowledge({ engine, session, conversation, sessions, end }),
  ])
  const window = requestWindow(session, { strategy, start: taken?.checkpoint.upTo ?? 0, end })
  const { known, unseen } = await newestOf(engine, session, { window, strategy, budget })
  const messages = [...known.messages, ...(unseen?.messages ?? [])]
  const message = await triggerMessage(engine, session, trigger, messages)
  const instructions = await standingInstructions(store, {
    session,
    end,
    messages,
    trigger: message,
    carried: taken?.checkpoint.carried.userMessages.map(({ version }) => version) ?? [],
    pins: conversation?.pins ?? [],
  })
  const outside = await messagesOutside(engine, session, {
    window,
    conversation,
    messages,
    trigger: message?.version,
    systemMessage,
    instructions: instructions.unread,
  })
  const inputs: RequestInputs = {
    session,
    conversation,
    settings,
    limits,
    budget,
    asOf,
    end,
    description: described?.description,
    context: gathered?.context,
    checkpoint: taken?.checkpoint,
    lastRequest: built && { version: session.lastRequest!.version, manifest: built },
    shared,
    unresolved,
    known,
    unseen,
    trigger: message ?? (trigger as string),
    instructions: instructions.versions,
    unreadInstructions: instructions.unread,
    ...outside,
    systemMessage,
    quotes: [],
  }
  return settings.recall ? { ...inputs, quotes: await quotesFor(store, draft(inputs)) } : inputs
}

/** Quotes of messages that the request leaves out. */
async function quotesFor(store: StoreCalls, request: FittedRequest): Promise<QuotedMessage[]> {
  const oldest = oldestKept(request)
  if (oldest === undefined) return []
  const { inputs, sections } = request
  return recallQuotes({
    store,
    session: inputs.session,
    text: sections.trigger.text,
    before: Math.min(oldest, inputs.end + 1),
    except: [...inputs.pinned.map(({ version }) => version), ...inputs.instructions, sections.trigger.version],
  })
}

function requestWindow(
  session: SessionHead,
  { strategy, start, end }: { strategy: Strategy; start: number; end: number },
): Window {
  const kinds: readonly LaneKind[] = strategy.name === 'recent' ? ['talk'] : laneKinds
  return { ...windowOf(session, kinds), start: Math.max(session.windowStart, start), kept: [], end }
}

/**
 * The newest messages of the window that the budget can hold, split at the agent's cursor if it has one. If no
 * other agent or person spoke after the cursor, all of it is known.
 */
async function newestOf(
  { store }: Engine,
  { id: sessionId, agentName, acknowledged }: SessionHead,
  { window, strategy, budget }: { window: Window; strategy: Strategy; budget: number },
): Promise<{ known: Stretch; unseen: Stretch | undefined }> {
  const maxMessages = strategy.name === 'recent' ? strategy.messages + 1 : undefined
  const end = window.end!
  if (acknowledged === undefined)
    return { known: await newestStretch(store, window, { budget, maxMessages }), unseen: undefined }
  const cursor = Math.max(acknowledged, window.start)
  const [known, unseen] = await Promise.all([
    newestStretch(store, { ...window, end: Math.min(cursor, end) }, { budget, maxMessages }),
    newestStretch(store, { ...window, start: cursor }, { budget }),
  ])
  const news = partUnseen(unseen.messages, { agentName, sessionId, acknowledged: cursor }).unseen
  if (news.length > 0) return { known, unseen }
  return { known: joined(known, unseen), unseen: { start: end, end, sums: noSums, messages: [] } }
}

/** Two neighbouring stretches as one. Of the first nothing is kept if the second was not read whole. */
function joined(first: Stretch, second: Stretch): Stretch {
  const isWhole = second.messages.length === second.sums.messages
  return {
    start: first.start,
    end: second.end,
    sums: {
      messages: first.sums.messages + second.sums.messages,
      tokens: first.sums.tokens + second.sums.tokens,
    },
    messages: isWhole ? [...first.messages, ...second.messages] : second.messages,
  }
}

/**
 * The stored message that a request is for, if there is one. A text that the newest unanswered message of the person
 * has already is that message, so that it stands in the request once.
 */
async function triggerMessage(
  { store }: Engine,
  session: SessionHead,
  trigger: RequestTrigger,
  messages: readonly Message[],
): Promise<Message | undefined> {
  if (typeof trigger === 'string') return unansweredMessage(trigger, messages, session.agentName)
  const { messageId } = trigger
  const recent = messages.findLast(message => message.id === messageId)
  if (recent) return recent
  const stored = await store.message(session.project, messageId)
  // Read through the window, which knows what the session sees and what its branch continues.
  const [visible] = stored ? await messagesAt(store, windowOf(session), [stored.version]) : []
  if (visible?.id !== messageId) throw new NotFound('message', messageId)
  return visible
}

/** Messages outside the stretches that were read: contents of references, pinned ones, an older trigger. */
async function messagesOutside(
  { store }: Engine,
  { kept, windowStart }: SessionHead,
  {
    window,
    conversation,
    messages,
    trigger,
    systemMessage,
    instructions,
  }: {
    window: Window
    conversation: ConversationInfo | undefined
    messages: readonly Message[]
    trigger: number | undefined
    systemMessage: number | undefined
    /** Instructions that were read apart from the others. */
    instructions: readonly Message[]
  },
): Promise<Pick<RequestInputs, 'contents' | 'pinned' | 'readElsewhere'>> {
  const versions = new Set(messages.map(message => message.version))
  // A content is recorded after its message, and so perhaps after the end of the window.
  const contentVersions = (conversation?.references ?? [])
    .filter(
      ({ version, of }) => version > window.start && !versions.has(version) && (versions.has(of) || of === trigger),
    )
    .map(({ version }) => version)
  const elsewhere = new Set([trigger, ...versions, ...instructions.map(message => message.version)])
  const pinnedVersions = [...kept, ...(conversation?.pins ?? []).filter(version => version > windowStart)].filter(
    version => !elsewhere.has(version),
  )
  if (systemMessage !== undefined) pinnedVersions.push(systemMessage)
  const isFarTrigger = trigger !== undefined && trigger > window.start && !versions.has(trigger)
  const { end: _, ...openWindow } = window
  const [contents, pinned, farTrigger] = await Promise.all([
    messagesAt(store, { ...openWindow, kinds: laneKinds }, contentVersions),
    messagesAt(store, window, pinnedVersions),
    isFarTrigger ? messagesAt(store, window, [trigger]) : [],
  ])
  return {
    contents: contents.filter(message => message.resolves),
    pinned,
    readElsewhere: [...pinned.filter(message => !versions.has(message.version)), ...instructions, ...farTrigger],
  }
}

function keepsSystemMessage({ name }: Strategy): boolean {
  return name === 'sliding_window' || name === 'summarization'
}
