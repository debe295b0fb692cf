/**
 * Delegations: a conversation of its own for work that one agent hands to another.
 *
 * Two logs, two writes. The parent's start holds all that the child needs, so a child that a crash kept from being made
 * is made later; how it ended is the child's word, and what the parent does not know of it yet is recorded later. Both
 * happen on the next look and in the maintenance sweep, and never twice.
 */

import { ConversationClosed, ConversationPurged, IllegalState, NotFound } from '../../errors.ts'
import {
  beginDelegated,
  DelegationResult,
  endDelegation,
  NewDelegation,
  returnDelegated,
  startDelegation,
} from '../../log/commands/delegation.ts'
import { parseInput } from '../../log/commands/input.ts'
import { messageOutsideSessions } from '../../log/commands/message.ts'
import type { MessageInput } from '../../log/commands/message-input.ts'
import { firstPhase } from '../../log/commands/phase.ts'
import type { PhaseSet } from '../../log/commands/phase-set.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { DelegationOutcome, DelegationStarted } from '../../log/events/delegation.ts'
import { isOfType } from '../../log/events/recorded-event.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { DelegationState } from '../../log/views/delegations.ts'
import { textOf } from '../../log/views/message.ts'
import type { ConversationAccess } from '../access/conversation-access.ts'
import type { Scribe } from '../access/prepare-message.ts'
import type { Delegation } from './turn-views.ts'

interface Ending {
  outcome: DelegationOutcome
  result: string
}

export class Delegations {
  readonly #access: ConversationAccess
  readonly #scribe: Scribe
  readonly #phases: PhaseSet | undefined

  constructor(access: ConversationAccess, scribe: Scribe, phases: PhaseSet | undefined) {
    this.#access = access
    this.#scribe = scribe
    this.#phases = phases
  }

  async delegate(parentId: string, input: NewDelegation, options: WriteOptions | undefined): Promise<Delegation> {
    const { from, to, task, title = firstWords(task) } = parseInput(NewDelegation, input)
    const { newId } = this.#access.engine
    const start: DelegationStarted = {
      type: 'delegation.started',
      delegationId: newId(),
      childId: newId(),
      from,
      to,
      title,
    }
    const entry = await this.#entry(start, { author: from, content: `${delegatedTo(to)}${task}`, state: 'pending' })
    const { events } = await this.#access.execute(parentId, {
      decide: startDelegation(parentId, start, entry),
      asked: ['delegate', parentId, input],
      options,
    })
    // Under an idempotency key it may be an earlier call's.
    const recorded = events.find(one => isOfType(one, 'delegation.started'))!
    await this.#begin(parentId, recorded.event, task)
    return shown(parentId, { ...recorded.event, task }, { startedAt: recorded.at, status: 'pending' })
  }

  /** Ends delegated work, called on the conversation it was done in. What it said first stands. */
  async end(childId: string, input: DelegationResult, options: WriteOptions | undefined): Promise<Delegation> {
    const { outcome = 'completed', result } = parseInput(DelegationResult, input)
    const { conversation } = await this.#access.execute(childId, {
      decide: returnDelegated(childId, outcome, result),
      asked: ['completeDelegation', childId, input],
      options,
    })
    const { conversationId: parentId, delegationId } = conversation!.info.delegated!
    await this.settle(await this.#access.head(parentId))
    return this.get(parentId, delegationId)
  }

  /** Called on the conversation that delegated. */
  async abort(
    parentId: string,
    delegationId: string,
    reason: string,
    options: WriteOptions | undefined,
  ): Promise<Delegation> {
    const head = await this.#access.head(parentId)
    await this.settle(head)
    const pending = head.info.delegations?.pending.find(one => one.id === delegationId)
    if (pending) await this.end(pending.childId, { outcome: 'aborted', result: reason }, options)
    return this.get(parentId, delegationId)
  }

  async get(parentId: string, delegationId: string): Promise<Delegation> {
    const found = (await this.list(parentId)).find(one => one.id === delegationId)
    if (found) return found
    throw new IllegalState(`Conversation ${parentId} has no delegation ${delegationId} among its newest.`, {
      conversationId: parentId,
      delegationId,
    })
  }

  /** The pending ones and the newest that ended, oldest first, each once. */
  async list(parentId: string): Promise<Delegation[]> {
    const before = await this.#access.head(parentId)
    const changed = await this.settle(before)
    const { info } = changed > 0 ? await this.#access.head(parentId) : before
    const { pending = [], ended = [] } = info.delegations ?? {}
    const all = [...pending, ...ended].sort((a, b) => a.version - b.version)
    return Promise.all(all.map(one => this.#read(parentId, one)))
  }

  /** Brings both sides together. Returns how many delegations ended in the parent by it. */
  async settle({ info }: ConversationHead, options?: WriteOptions): Promise<number> {
    if (info.status !== 'active') return 0
    let count = 0
    for (const one of info.delegations?.pending ?? []) {
      const started = await this.#access.eventAt(info.id, one.version)
      if (!started || !isOfType(started, 'delegation.started')) continue
      const ending = await this.#ending(info.id, one, started.event)
      if (ending && (await this.#end(info.id, started.event, ending, options))) count++
    }
    return count
  }

  async #end(parentId: string, start: DelegationStarted, ending: Ending, options?: WriteOptions): Promise<boolean> {
    const { delegationId, to } = start
    const { outcome, result } = ending
    const content = `${endedBy(start, outcome)}${result}`
    const entry = await this.#entry(start, { author: to, content, state: outcome })
    try {
      const decide = endDelegation(parentId, { delegationId, outcome }, entry)
      return (await this.#access.settle(parentId, decide, options)) > 0
    } catch (error) {
      // It says so when it is opened again: the child keeps its word.
      if (error instanceof ConversationClosed) return false
      throw error
    }
  }

  /** The end that the child recorded. Creates the child if a crash kept it from being created. */
  async #ending(parentId: string, one: DelegationState, start: DelegationStarted): Promise<Ending | undefined> {
    let child: ConversationHead
    try {
      child = await this.#access.head(start.childId)
    } catch (error) {
      if (error instanceof ConversationPurged) return { outcome: 'aborted', result: 'its conversation was purged' }
      if (!(error instanceof NotFound)) throw error
      await this.#begin(parentId, start, await this.#saidAfter(parentId, one.version, delegatedTo(start.to)))
      return undefined
    }
    const { delegated, status, statusBeforeArchive, summary: result = '' } = child.info
    if (delegated?.outcome !== undefined) return { outcome: delegated.outcome, result }
    // A completed conversation ends the delegation as well.
    const isOver = status === 'completed' || statusBeforeArchive === 'completed'
    return isOver ? { outcome: 'completed', result } : undefined
  }

  async #begin(parentId: string, start: DelegationStarted, task: string): Promise<void> {
    const { childId, from, to } = start
    const said = await this.#scribe.prepare({ role: 'user', author: from, content: task, addressees: [to] })
    const parent = { conversationId: parentId, threadId: childId, phase: firstPhase(this.#phases, undefined) }
    await this.#access.settle(childId, beginDelegated(parent, start, messageOutsideSessions(said)))
  }

  /** The message in the parent about its delegation, for the delegator alone. */
  async #entry(start: DelegationStarted, said: { author: string; content: string; state: string }) {
    const { delegationId, childId, from } = start
    const message: MessageInput = {
      role: 'assistant',
      author: said.author,
      content: said.content,
      audience: { to: 'agents', agents: [from] },
      metadata: { delegation: { id: delegationId, conversationId: childId, state: said.state } },
    }
    return messageOutsideSessions(await this.#scribe.prepare(message))
  }

  async #read(parentId: string, one: DelegationState): Promise<Delegation> {
    const { id: delegationId, childId, from, to, startedAt, status } = one
    const started = await this.#access.eventAt(parentId, one.version)
    const title = started && isOfType(started, 'delegation.started') ? started.event.title : ''
    const task = await this.#saidAfter(parentId, one.version, delegatedTo(to))
    const result =
      one.endedAt === undefined || status === 'pending'
        ? undefined
        : await this.#saidAfter(parentId, one.endedAt, endedBy({ to, title }, status))
    return shown(
      parentId,
      { delegationId, childId, from, to, task },
      { startedAt, status, ...(result !== undefined && { result }) },
    )
  }

  /** The text of the message right after a fact, without the words it begins with. */
  async #saidAfter(parentId: string, version: number, beginning: string): Promise<string> {
    const event = (await this.#access.eventAt(parentId, version + 1))?.event
    if (event?.type === 'message.added') return textOf(event.parts).slice(beginning.length)
    return event ? `(${event.type})` : ''
  }
}

const delegatedTo = (to: string) => `Delegated to ${to}: `

const endedBy = ({ to, title }: { to: string; title: string }, outcome: DelegationOutcome) =>
  `${to} ${outcome} the delegation "${title}": `

function shown(
  parentId: string,
  start: Omit<DelegationStarted, 'type' | 'title'> & { task: string },
  state: Pick<Delegation, 'startedAt' | 'status' | 'result'>,
): Delegation {
  const { delegationId, childId, from, to, task } = start
  return { id: delegationId, conversationId: childId, parentId, from, to, task, ...state }
}

function firstWords(task: string): string {
  const line = task.trim().split('\n')[0]!
  return line.length <= 80 ? line : `${line.slice(0, 79).replace(/\s+\S*$/, '')}…`
}
