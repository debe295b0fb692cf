/**
 * References are looked up when an agent is sent a message for the first time. The content is recorded as a message of its
 * own, so that it is counted, compacted, searched and erased like any other. The referring message stays as it is.
 */
import { createHash } from 'node:crypto'
import { recordReference } from '../../log/commands/reference.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import { audienceKey } from '../../log/events/audience.ts'
import type { Reference } from '../../log/events/reference.ts'
import type { Message } from '../../log/views/message.ts'
import { resolvedAt } from '../../log/views/references.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { windowOf } from '../../log/windows.ts'
import { findReferences, referenceText } from '../../request/assembly/references.ts'
import type { ReferenceResolver } from '../../request/context/resolver.ts'
import { oneLine } from '../../request/text/quote-untrusted.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { Scribe } from '../access/prepare-message.ts'
import { lookUp } from './reference-lookup.ts'
import type { ReferenceSettings } from './reference-settings.ts'

/** A reference without its content, and the reason. */
export interface UnresolvedReference {
  reference: string
  /** Version of the message that refers to it; absent for a text that is not in the log. */
  of?: number
  reason: string
}

interface Unresolved extends UnresolvedReference {
  /** A resolver was called and had no answer. The agent is told so. */
  failed: boolean
}

interface ReferencesInput {
  head: SessionHead
  /** The last version of the view. */
  asOf: number
  /** Version of the message to answer, or its text if it is not in the log. */
  trigger: number | string
}

export interface References {
  /** Looks up references that the agent has not been sent yet. Returns those that failed; never throws for one. */
  resolve(input: ReferencesInput): Promise<Unresolved[]>
}

/** State shared by all scopes of a store. */
export interface ReferenceDesk {
  settings: ReferenceSettings | undefined
  resolvers: readonly ReferenceResolver[]
  /** Look-ups under way. Each gives undefined once the content is recorded, else the reason of its failure. */
  pending: Map<string, Promise<string | undefined>>
  /** Recent failures, which are not retried for a while. */
  failed: Map<string, { reason: string; until: number }>
}

interface MessageReference {
  reference: Reference
  message: Message
  digest: string
}

/** Max number of messages whose references are looked up: the newest of those that are new to the agent. */
const maxMessages = 50
const maxFailures = 1_000
const maxShownCharacters = 160

interface ReferenceParts {
  engine: Engine
  scope: Scope
  scribe: Scribe
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  desk: ReferenceDesk
}

export function references(parts: ReferenceParts): References {
  const { engine, scope, desk } = parts
  const { store } = engine
  const { project } = scope
  const { settings, pending, failed } = desk

  /** Looks up a reference, or joins a look-up that is under way. Gives the reason of a failure. */
  function outcomeOf(
    wanted: MessageReference,
    session: SessionHead,
    settings: ReferenceSettings,
    previous: Promise<unknown>,
  ): Promise<string | undefined> {
    const key = JSON.stringify([project, session.conversationId, wanted.digest])
    const failure = failed.get(key)
    if (failure && failure.until > engine.clock()) return Promise.resolve(failure.reason)
    const running = pending.get(key)
    if (running) return running
    const outcome = recordContent(parts, wanted, { session, settings, previous }).then(reason => {
      pending.delete(key)
      failed.delete(key)
      if (reason !== undefined) {
        if (failed.size >= maxFailures) failed.clear()
        failed.set(key, { reason, until: engine.clock() + settings.retryAfterMs })
      }
      return reason
    })
    pending.set(key, outcome)
    return outcome
  }

  return {
    async resolve(input) {
      const { head: session, trigger } = input
      if (!settings) return []
      const wanted = await newReferences(store, input)
      const unresolved: Unresolved[] = typeof trigger === 'string' ? outsideTheLog(trigger, wanted) : []
      if (wanted.length === 0) return unresolved
      const leave = ({ reference, message: { version: of } }: MessageReference, reason: string, failed: boolean) => {
        unresolved.push({ reference: oneLine(referenceText(reference), maxShownCharacters), of, reason, failed })
      }
      // Read last, so that contents that other callers record meanwhile are in it or still pending.
      const conversation = await store.conversation(project, session.conversationId)
      const { references: resolved, status = 'active' } = conversation?.info ?? {}
      const resolvable: MessageReference[] = []
      for (const candidate of wanted) {
        const { kind } = candidate.reference
        if (resolvedAt(resolved, candidate.digest, session.windowStart) !== undefined) continue
        if (resolversOf(desk, candidate.reference).length === 0)
          leave(candidate, `nothing here resolves ${kind} references`, false)
        else if (status !== 'active') leave(candidate, `the conversation is ${status}: nothing is recorded`, false)
        else resolvable.push(candidate)
      }
      const excess = resolvable.splice(0, Math.max(0, resolvable.length - settings.perView))
      for (const reference of excess)
        leave(reference, `more than ${settings.perView} at once; the newest are looked up`, true)
      let previous: Promise<unknown> = Promise.resolve()
      const outcomes = resolvable.map(reference => {
        const outcome = outcomeOf(reference, session, settings, previous)
        previous = outcome
        return { reference, outcome }
      })
      for (const { reference, outcome } of outcomes) {
        const reason = await outcome
        if (reason !== undefined) leave(reference, reason, true)
      }
      return unresolved
    },
  }
}

/** References in messages after the agent's cursor and in the trigger: each once, oldest first. */
async function newReferences(
  store: Engine['store'],
  { head: session, asOf, trigger }: ReferencesInput,
): Promise<MessageReference[]> {
  const window = { ...windowOf(session), kept: [], end: asOf }
  const start = Math.max(session.windowStart, session.acknowledged ?? 0)
  const messages = await store.messages({ ...window, start }, { limit: maxMessages })
  if (typeof trigger === 'number' && !messages.some(({ version }) => version === trigger)) {
    const triggerOnly = { ...window, start: Number.MAX_SAFE_INTEGER, kept: [trigger] }
    messages.push(...(await store.messages(triggerOnly, { limit: 1 })))
  }
  const wanted = new Map<string, MessageReference>()
  for (const message of messages) {
    const isOwn = message.role === 'assistant' && message.author === session.agentName
    // References in a content are not looked up, because one could lead to the next without end.
    if (isOwn || message.resolves || message.missing) continue
    for (const reference of findReferences(message.parts)) {
      const digest = digestOf(reference, message)
      if (!wanted.has(digest)) wanted.set(digest, { reference, message, digest })
    }
  }
  return [...wanted.values()]
}

/** Looks up a reference and, once `previous` is done, records its content. Returns the reason of a failure. */
async function recordContent(
  { engine, scope, scribe, estimator, desk }: ReferenceParts,
  { reference, message, digest }: MessageReference,
  { session, settings, previous }: { session: SessionHead; settings: ReferenceSettings; previous: Promise<unknown> },
): Promise<string | undefined> {
  const { conversationId, windowStart } = session
  const { version: of, audience } = message
  try {
    const result = await lookUp({
      reference,
      of,
      project: scope.project,
      conversationId,
      resolvers: resolversOf(desk, reference),
      timeoutMs: settings.timeoutMs,
      maxTokens: settings.maxTokens,
      estimator: await estimator(),
    })
    // Contents are recorded in the order of their references, whichever resolver answers first.
    await previous
    if ('reason' in result) return result.reason
    const content = await scribe.prepare({
      role: 'system',
      author: 'reference',
      content: result.text,
      audience,
      internal: true,
    })
    const resolves = { reference: referenceText(reference), of, source: result.source }
    await engine.execute(scope, {
      conversation: { id: conversationId },
      decide: recordReference(conversationId, { message: content, resolves, digest, after: windowStart }),
      asked: [],
    })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function resolversOf({ resolvers }: ReferenceDesk, { kind }: Reference): ReferenceResolver[] {
  return resolvers.filter(({ kinds }) => kinds.includes(kind))
}

/** References of a trigger text. Their content could follow no message, so it is not recorded. */
function outsideTheLog(text: string, wanted: readonly MessageReference[]): Unresolved[] {
  const stored = new Set(wanted.map(({ reference }) => referenceText(reference)))
  return findReferences([{ type: 'text', text }])
    .map(referenceText)
    .filter(reference => !stored.has(reference))
    .map(reference => ({
      reference: oneLine(reference, maxShownCharacters),
      reason: 'the message is not in the log',
      failed: true,
    }))
}

/** Equal for equal references in messages with the same audience. */
function digestOf(reference: Reference, { audience }: Message): string {
  const identity = JSON.stringify([reference.kind, reference.target, audienceKey(audience)])
  return createHash('sha256').update(identity).digest('base64url').slice(0, 22)
}

/** A reference that failed, as a line of the request's state. */
export function unresolvedLine({ reference, of, reason }: UnresolvedReference): string {
  return `${reference}${of === undefined ? '' : ` in message ${of}`} could not be resolved: ${reason}`
}
