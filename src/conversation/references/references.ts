/**
 * What messages refer to is looked up when an agent is to be sent them for the first time, and its content recorded as a
 * message of its own: from then on it is counted, compacted, searched and erased like any other, and nobody looks it up
 * again. The message that refers to it stays as it is.
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

/** A reference that was left as it is, and why. */
export interface UnresolvedReference {
  reference: string
  /** Version of the message that refers to it; absent for a text that is not in the log. */
  of?: number
  reason: string
}

interface Unresolved extends UnresolvedReference {
  /** Somebody was asked and had no answer: the agent is told. */
  failed: boolean
}

interface ReferencesInput {
  head: SessionHead
  /** The view ends here. */
  asOf: number
  /** Version of the message to answer, or its text if it is not in the log. */
  trigger: number | string
}

export interface References {
  /** Looks up what the agent has not been sent yet, and says what could not be had. Never throws for a reference. */
  resolve(input: ReferencesInput): Promise<Unresolved[]>
}

/** What all scopes of a store share: who can be asked, who is being asked, and who had no answer a moment ago. */
export interface ReferenceDesk {
  settings: ReferenceSettings | undefined
  resolvers: readonly ReferenceResolver[]
  /** What is being looked up and recorded; undefined when that went well, else why not. */
  pending: Map<string, Promise<string | undefined>>
  failed: Map<string, { reason: string; until: number }>
}

interface Wanted {
  reference: Reference
  message: Message
  digest: string
}

/** Of what is new to the agent, the newest so many messages are looked at. */
const messagesLookedAt = 50
const failuresRemembered = 1_000
const longestShown = 160

export function references({
  engine,
  scope,
  scribe,
  estimator,
  desk,
}: {
  engine: Engine
  scope: Scope
  scribe: Scribe
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  desk: ReferenceDesk
}): References {
  const { store } = engine
  const { project } = scope
  const { settings, resolvers, pending, failed } = desk

  /** What the agent has not acknowledged yet, and the message it is to answer: each reference once, oldest first. */
  async function wantedBy({ head, asOf, trigger }: ReferencesInput): Promise<Wanted[]> {
    const window = { ...windowOf(head), kept: [], end: asOf }
    const start = Math.max(head.windowStart, head.acknowledged ?? 0)
    const messages = await store.messages({ ...window, start }, { limit: messagesLookedAt })
    if (typeof trigger === 'number' && !messages.some(({ version }) => version === trigger)) {
      const alone = { ...window, start: Number.MAX_SAFE_INTEGER, kept: [trigger] }
      messages.push(...(await store.messages(alone, { limit: 1 })))
    }
    const wanted = new Map<string, Wanted>()
    for (const message of messages) {
      const isOwn = message.role === 'assistant' && message.author === head.agentName
      // What a content refers to is not looked up: one could lead to the next for ever.
      if (isOwn || message.resolves || message.missing) continue
      for (const reference of findReferences(message.parts)) {
        const digest = digestOf(reference, message)
        if (!wanted.has(digest)) wanted.set(digest, { reference, message, digest })
      }
    }
    return [...wanted.values()]
  }

  /** Looks it up and records it, after `before` is done. Why it could not, or undefined. */
  async function settle(
    wanted: Wanted,
    head: SessionHead,
    settings: ReferenceSettings,
    before: Promise<unknown>,
  ): Promise<string | undefined> {
    const { reference, message, digest } = wanted
    const { conversationId } = head
    const { version: of, audience } = message
    try {
      const found = await lookUp({
        reference,
        of,
        project,
        conversationId,
        resolvers: resolversOf(reference),
        timeoutMs: settings.timeoutMs,
        maxTokens: settings.maxTokens,
        estimator: await estimator(),
      })
      // Contents stand in the log in the order of their references, whoever answers first.
      await before
      if ('reason' in found) return found.reason
      const content = await scribe.prepare({
        role: 'system',
        author: 'reference',
        content: found.text,
        audience,
        internal: true,
      })
      const resolves = { reference: referenceText(reference), of, source: found.source }
      await engine.execute(scope, {
        conversation: { id: conversationId },
        decide: recordReference(conversationId, { message: content, resolves, digest, after: head.windowStart }),
        asked: [],
      })
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  function resolversOf({ kind }: Reference): ReferenceResolver[] {
    return resolvers.filter(({ kinds }) => kinds.includes(kind))
  }

  function remember(key: string, reason: string, until: number): void {
    if (failed.size >= failuresRemembered) failed.clear()
    failed.set(key, { reason, until })
  }

  return {
    async resolve(input) {
      const { head, trigger } = input
      if (!settings) return []
      const wanted = await wantedBy(input)
      const left: Unresolved[] = typeof trigger === 'string' ? outsideTheLog(trigger, wanted) : []
      if (wanted.length === 0) return left
      const leave = ({ reference, message: { version: of } }: Wanted, reason: string, failed: boolean) => {
        left.push({ reference: oneLine(referenceText(reference), longestShown), of, reason, failed })
      }
      // Read last, so that what others record meanwhile is in it or still pending.
      const conversation = await store.conversation(project, head.conversationId)
      const { references: known, status = 'active' } = conversation?.info ?? {}
      const open = wanted.filter(one => resolvedAt(known, one.digest, head.windowStart) === undefined)
      const askable: Wanted[] = []
      for (const one of open) {
        if (resolversOf(one.reference).length === 0) {
          leave(one, `nothing here resolves ${one.reference.kind} references`, false)
        } else if (status !== 'active') leave(one, `the conversation is ${status}: nothing is recorded`, false)
        else askable.push(one)
      }
      const tooMany = askable.splice(0, Math.max(0, askable.length - settings.perView))
      for (const one of tooMany) leave(one, `more than ${settings.perView} at once; the newest are looked up`, true)
      let before: Promise<unknown> = Promise.resolve()
      const asked = askable.map(one => {
        const key = JSON.stringify([project, head.conversationId, one.digest])
        const lately = failed.get(key)
        if (lately && lately.until > engine.clock()) return { one, outcome: Promise.resolve(lately.reason) }
        const running = pending.get(key)
        const outcome =
          running ??
          settle(one, head, settings, before).then(reason => {
            pending.delete(key)
            if (reason === undefined) failed.delete(key)
            else remember(key, reason, engine.clock() + settings.retryAfterMs)
            return reason
          })
        if (!running) pending.set(key, outcome)
        before = outcome
        return { one, outcome }
      })
      for (const { one, outcome } of asked) {
        const reason = await outcome
        if (reason !== undefined) leave(one, reason, true)
      }
      return left
    },
  }
}

/** There is no message that the content of such a reference could stand behind. */
function outsideTheLog(text: string, wanted: readonly Wanted[]): Unresolved[] {
  const stored = new Set(wanted.map(({ reference }) => referenceText(reference)))
  return findReferences([{ type: 'text', text }])
    .map(referenceText)
    .filter(reference => !stored.has(reference))
    .map(reference => ({
      reference: oneLine(reference, longestShown),
      reason: 'the message is not in the log',
      failed: true,
    }))
}

/** The same for the same reference in messages for the same people. */
function digestOf(reference: Reference, { audience }: Message): string {
  const told = JSON.stringify([reference.kind, reference.target, audienceKey(audience)])
  return createHash('sha256').update(told).digest('base64url').slice(0, 22)
}

/** A reference that failed, as a line of the request's state. */
export function unresolvedLine({ reference, of, reason }: UnresolvedReference): string {
  return `${reference}${of === undefined ? '' : ` in message ${of}`} could not be resolved: ${reason}`
}
