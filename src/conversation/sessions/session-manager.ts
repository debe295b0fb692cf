/**
 * `SessionManager`: sessions, their messages and requests. Thin over the engine; each method takes the session's id
 * first.
 */
import { z } from 'zod'
import type { Decision } from '../../log/commands/decision.ts'
import { parseInput } from '../../log/commands/input.ts'
import { jsonCopy } from '../../log/commands/json.ts'
import { addAllToSession, addToSession } from '../../log/commands/message.ts'
import type { MessageInput } from '../../log/commands/message-input.ts'
import type { PhaseSet } from '../../log/commands/phase-set.ts'
import * as command from '../../log/commands/session.ts'
import { type RequestedSession, requestedSession, type SessionOptions } from '../../log/commands/session-options.ts'
import type { Listed } from '../../log/directory.ts'
import { type Engine, given, type Scope, type WriteOptions } from '../../log/engine.ts'
import type { Checkpoint } from '../../log/events/checkpoint.ts'
import type { SessionContext } from '../../log/events/context.ts'
import type { AgentDescription } from '../../log/events/description.ts'
import { Id } from '../../log/events/id.ts'
import type { Metadata } from '../../log/events/metadata.ts'
import { SessionConfigured } from '../../log/events/session.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import { type LaneKind, laneKinds } from '../../log/records/lane.ts'
import type { Message } from '../../log/views/message.ts'
import { changedAtMs, expiryOf, type SessionHead, sessionKey } from '../../log/views/session.ts'
import {
  checkedOptions,
  checkedTrigger,
  type RequestOptions,
  type RequestTrigger,
} from '../../request/assembly/settings.ts'
import type { CheckpointDiff } from '../../request/compaction/diff.ts'
import type { ContextInputs } from '../../request/context/gather.ts'
import type { AnswerMessage } from '../../request/dialects/answer.ts'
import { type Dialect, type ResponseForms, readResponse } from '../../request/dialects/index.ts'
import { checkAsked, checkPage } from '../access/input-schemas.ts'
import { recordedMessage, recordedMessages, type Scribe } from '../access/prepare-message.ts'
import { changeAsSeen } from '../access/retry-on-conflict.ts'
import { type Session, sessionFrom } from '../access/session.ts'
import { type SessionAccess, sessionAccess } from '../access/session-access.ts'
import type { Settings } from '../access/settings.ts'
import type { MessagePage } from '../access/sliced-lists.ts'
import type { AgentRequest } from './agent-request.ts'
import type { FoundItem } from './checkpoints.ts'
import { type CompactOutcome, compactionLease } from './compaction-run.ts'
import { hasSubstituteNames, messageFromAnswer, withToolNames } from './sdk-answers.ts'
import { type ListSessions, listedSessions } from './session-list.ts'
import { firstSystemMessage, newestReadable, pageOf } from './session-messages.ts'
import type { SessionMetrics } from './session-metrics.ts'
import type { CompactOptions, SessionRequests } from './session-requests.ts'
import { startSession } from './start-session.ts'

/** Sessions that worked on an item, by the state of the item at the time. */
export interface SessionLinks {
  conversationId: string | undefined
  /** Session ids, oldest first; the key is '' for sessions without a state. */
  states: Record<string, string[]>
}

const ResetOptions = z.object({ options: z.strictObject({ keepSystemMessage: z.boolean().optional() }) })
const OutsideId = z.object({ system: Id, outsideId: Id.nullable() })

export class SessionManager {
  readonly #engine: Engine
  readonly #scope: Scope
  readonly #settings: Settings
  readonly #scribe: Scribe
  readonly #openRequests: () => SessionRequests
  #opened: SessionRequests | undefined
  readonly #access: SessionAccess
  readonly #phases: PhaseSet | undefined

  constructor(parts: {
    engine: Engine
    scope: Scope
    settings: Settings
    scribe: Scribe
    requests: () => SessionRequests
    /** Phases of new conversations. */
    phases: PhaseSet | undefined
  }) {
    this.#engine = parts.engine
    this.#scope = parts.scope
    this.#settings = parts.settings
    this.#scribe = parts.scribe
    this.#openRequests = parts.requests
    this.#access = sessionAccess(parts.engine, parts.scope)
    this.#phases = parts.phases
  }

  /**
   * The active session of an agent on a work item (and, for tasks, a state), made if there is none. An expired one is
   * replaced and stays in the log. However many callers ask at once, one session is made.
   */
  async getOrCreateSession(options: SessionOptions, write?: WriteOptions): Promise<Session> {
    const place = requestedSession(options)
    // A call with write options goes to the log: a key gives its first session again, even if another took its place
    // since.
    const active = isEmpty(write) ? await this.#active(place) : undefined
    if (active && !(await this.#isOver(active))) return this.#session(active)
    return this.#start(command.ensureSession, place, ['session', options], write)
  }

  /** A new session in any case. One that is active for the same agent, item and state is archived first. */
  async createSession(options: SessionOptions, write?: WriteOptions): Promise<Session> {
    return this.#start(command.createSession, requestedSession(options), ['createSession', options], write)
  }

  /** The active session of a natural key, if there is one that has not expired. */
  async getActiveSession(options: SessionOptions): Promise<Session | undefined> {
    const active = await this.#active(requestedSession(options))
    return active && !(await this.#isOver(active)) ? this.#session(active) : undefined
  }

  /** @throws {NotFound} when there is none, or it was deleted */
  async getSession(sessionId: string): Promise<Session> {
    return this.#session(await this.#head(sessionId))
  }

  /** Newest first, filtered by what is shown of them. */
  listSessions(query: ListSessions = {}): Promise<Listed<Session>> {
    return listedSessions(this.#engine, this.#scope, query)
  }

  /**
   * Sessions of a conversation that are being compacted, by any process. Those of a dead process disappear with its
   * lease.
   */
  async getCompacting(conversationId: string): Promise<string[]> {
    const { project } = this.#scope
    const { items } = await this.#engine.store.sessions({ project, conversationId, status: ['active'], limit: 200 })
    const held = await Promise.all(
      items.map(({ id }) => this.#engine.store.holderOf({ project, name: compactionLease(id) })),
    )
    return items.flatMap(({ id }, index) => (held[index] ? [id] : []))
  }

  /** Links from a work item and its states to the sessions that worked on it. */
  async getSessionLinks(workItem: WorkItem): Promise<SessionLinks> {
    checkAsked('workItem', { workItem })
    const { project } = this.#scope
    const conversation = await this.#engine.store.conversationOf(project, workItem)
    const states = new Map<string, string[]>()
    let cursor: string | undefined
    do {
      const page = await this.#engine.store.sessions({ project, workItem, limit: 500, ...(cursor && { cursor }) })
      for (const head of page.items) {
        const state = head.taskState ?? ''
        const ids = states.get(state)
        if (ids) ids.push(head.id)
        else states.set(state, [head.id])
      }
      cursor = page.next
    } while (cursor)
    // The store lists the newest first.
    for (const ids of states.values()) ids.reverse()
    return { conversationId: conversation?.info.id, states: Object.fromEntries(states) }
  }

  /**
   * Records a message. When this resolves it is durable.
   *
   * @throws {SessionClosed} when the session is archived or expired
   * @throws {ContentTooLarge} when it exceeds `maxMessageBytes`
   */
  async addMessage(sessionId: string, message: MessageInput, write?: WriteOptions): Promise<Message> {
    const prepared = await this.#scribe.prepare(message)
    const decide = addToSession(sessionId, prepared)
    return recordedMessage(await this.#execute(sessionId, decide, ['addMessage', sessionId, message], write))
  }

  /**
   * Records what the SDK of a provider returned: text, reasoning with its signature, tool calls, usage, model and stop
   * reason. One call and one write, also where the SDK took several steps.
   *
   * @param write `tools`: names of the tools that were offered, to find those whose names the provider does not take
   * @throws {InvalidInput} when it is not what that SDK returns, or says nothing
   */
  async addResponse<D extends Dialect>(
    sessionId: string,
    dialect: D,
    response: ResponseForms[D],
    { tools = [], ...write }: WriteOptions & { tools?: readonly string[] } = {},
  ): Promise<Message[]> {
    const answers = readResponse(dialect, response)
    const inputs = withToolNames(answers, await this.#toolNames(sessionId, answers, tools)).map(messageFromAnswer)
    const placed = await Promise.all(inputs.map(input => this.#scribe.prepare(input)))
    const asked = ['addResponse', sessionId, dialect, inputs]
    return recordedMessages(await this.#execute(sessionId, addAllToSession(sessionId, placed), asked, write))
  }

  /** The newest messages a person would read: no internal ones, no system ones, and none whose content is missing. */
  async getRecentContext(sessionId: string, limit = 10): Promise<Message[]> {
    checkPage({ limit })
    return newestReadable(this.#engine, await this.#head(sessionId), limit)
  }

  /** The newest messages of the window, all kinds. */
  getRecentMessages(sessionId: string, limit = 50, page: Omit<MessagePage, 'limit'> = {}): Promise<Message[]> {
    return this.#messages(sessionId, laneKinds, { ...page, limit })
  }

  /** Every message of the window, internal ones included. */
  getAllMessages(sessionId: string, page: MessagePage = {}): Promise<Message[]> {
    return this.#messages(sessionId, laneKinds, page)
  }

  /** Every message of the window but internal ones. */
  getUserFacingMessages(sessionId: string, page: MessagePage = {}): Promise<Message[]> {
    return this.#messages(sessionId, ['talk', 'system'], page)
  }

  /** Empties the window. The log keeps its messages. */
  async clearMessages(sessionId: string, write?: WriteOptions): Promise<Session> {
    return this.#change(sessionId, command.clearMessages(sessionId), ['clearMessages', sessionId], write)
  }

  /** Empties the window, except for the first system message if `keepSystemMessage` (the default). */
  async resetSession(
    sessionId: string,
    options: { keepSystemMessage?: boolean } = {},
    write?: WriteOptions,
  ): Promise<Session> {
    const { keepSystemMessage = true } = parseInput(ResetOptions, { options }).options
    const look = async (head: SessionHead | undefined) => {
      const first = keepSystemMessage && head ? await firstSystemMessage(this.#engine, head) : undefined
      // A first system message that arrives meanwhile is kept as well.
      return { decide: command.resetSession(sessionId, first), isFleeting: keepSystemMessage && first === undefined }
    }
    const asked = ['resetSession', sessionId, keepSystemMessage]
    return this.#session(await changeAsSeen(this.#access, sessionId, look, { asked, write }))
  }

  /** Makes it read-only. It can be viewed, and reopened. */
  async archiveSession(sessionId: string, reason?: string, write?: WriteOptions): Promise<Session> {
    const asked = ['archiveSession', sessionId, ...given(reason)]
    return this.#change(sessionId, command.archiveSession(sessionId, reason), asked, write)
  }

  /** @throws {IllegalState} when another session took its place, and is in use */
  async reopenSession(sessionId: string, write?: WriteOptions): Promise<Session> {
    const look = async (head: SessionHead | undefined) => {
      const other = head && (await this.#engine.store.sessionByKey(this.#scope.project, sessionKey(head)))
      const rival = other && other.id !== sessionId ? await this.#session(other) : undefined
      // The rival may be deleted meanwhile, or used again.
      return { decide: command.reopenSession(sessionId, rival), isFleeting: rival?.status === 'expired' }
    }
    const asked = ['reopenSession', sessionId]
    return this.#session(await changeAsSeen(this.#access, sessionId, look, { asked, write }))
  }

  /** Ends it now, as if it had not been used for long; `getOrCreateSession` gives its successor. */
  async expireSession(sessionId: string, write?: WriteOptions): Promise<Session> {
    return this.#change(sessionId, command.expireNow(sessionId), ['expireSession', sessionId], write)
  }

  /** Hides it from lists and look-ups. The log keeps all of it. */
  async deleteSession(sessionId: string, reason?: string, write?: WriteOptions): Promise<void> {
    const asked = ['deleteSession', sessionId, ...given(reason)]
    await this.#execute(sessionId, command.deleteSession(sessionId, reason), asked, write)
  }

  /** Merges free metadata key by key; null removes a key. */
  async setMetadata(sessionId: string, metadata: Metadata, write?: WriteOptions): Promise<Session> {
    const decide = command.annotateSession(sessionId, jsonCopy(metadata, 'metadata') as Metadata)
    return this.#change(sessionId, decide, ['setMetadata', sessionId, metadata], write)
  }

  /** Keeps an id the session has in another system, such as a Claude session id; null forgets it. */
  async setOutsideId(
    sessionId: string,
    system: string,
    outsideId: string | null,
    write?: WriteOptions,
  ): Promise<Session> {
    parseInput(OutsideId, { system, outsideId })
    const decide = command.linkSession(sessionId, system, outsideId)
    return this.#change(sessionId, decide, ['setOutsideId', sessionId, system, outsideId], write)
  }

  /**
   * Strategy, budget, model and recall of this session's requests, where they differ from the project's; null goes back
   * to the project's. Recorded when they change.
   */
  async setRequestSettings(
    sessionId: string,
    changes: SessionConfigured['requests'],
    write?: WriteOptions,
  ): Promise<Session> {
    const checked = parseInput(SessionConfigured.shape.requests, changes)
    const decide = command.configureSession(sessionId, checked)
    return this.#change(sessionId, decide, ['setRequestSettings', sessionId, changes], write)
  }

  /**
   * Builds the request for a message: a text, or a stored message by its id. It is always inside the budget, and its
   * ledger says what was kept, trimmed, summarised or left out. Stores no message, but a manifest of the request.
   *
   * @throws {BudgetTooSmall} when the parts that cannot be left out do not fit
   */
  async buildRequest(sessionId: string, message: RequestTrigger, options?: RequestOptions): Promise<AgentRequest> {
    return this.#requests.build(sessionId, checkedTrigger(message), checkedOptions(options))
  }

  /** Builds the request without side effects: nothing is compacted, gathered or recorded. */
  async previewRequest(sessionId: string, message: RequestTrigger, options?: RequestOptions): Promise<AgentRequest> {
    return this.#requests.preview(sessionId, checkedTrigger(message), checkedOptions(options))
  }

  /** Compacts now, whatever the size. */
  forceCompact(sessionId: string, options?: CompactOptions): Promise<CompactOutcome> {
    return this.#requests.forceCompact(sessionId, options)
  }

  /** The newest checkpoint of the session's window, if there is one. */
  getCheckpoint(sessionId: string): Promise<Checkpoint | undefined> {
    return this.#requests.checkpoints.newest(sessionId)
  }

  /** Every checkpoint of the session's window, newest first. */
  getCheckpointHistory(sessionId: string): Promise<Checkpoint[]> {
    return this.#requests.checkpoints.history(sessionId)
  }

  /** The changes between two checkpoints, by their numbers. */
  diffCheckpoints(sessionId: string, first: number, second: number): Promise<CheckpointDiff> {
    return this.#requests.checkpoints.diff(sessionId, first, second)
  }

  /** An item of the newest checkpoint that has it: later ones may have trimmed it. */
  getCheckpointItem(sessionId: string, itemId: string): Promise<FoundItem> {
    return this.#requests.checkpoints.item(sessionId, itemId)
  }

  /** The messages behind an item of any checkpoint of the window. */
  expand(sessionId: string, itemId: string): Promise<Message[]> {
    return this.#requests.checkpoints.expand(sessionId, itemId)
  }

  /** The newest context that was gathered for the session. */
  getContext(sessionId: string): Promise<SessionContext | undefined> {
    return this.#requests.contexts.context(sessionId)
  }

  /** Gathers the context from a project's files and git, and the description of feature and task; recorded if it changed. */
  updateContext(sessionId: string, inputs: ContextInputs): Promise<SessionContext> {
    return this.#requests.contexts.update(sessionId, inputs)
  }

  /** Role, instructions and allowed tools of the session's agent. */
  getAgentDescription(sessionId: string): Promise<AgentDescription> {
    return this.#requests.contexts.description(sessionId)
  }

  /** Sets role, instructions and allowed tools of the session's agent. */
  setAgentDescription(sessionId: string, description: AgentDescription): Promise<AgentDescription> {
    return this.#requests.contexts.describe(sessionId, description)
  }

  /** Totals, what compaction saved, the last request, and how far the next compaction is. */
  getMetrics(sessionId: string): Promise<SessionMetrics> {
    return this.#requests.metrics(sessionId)
  }

  // From options to a session, and from a head to what callers see.

  async #start(
    decide: typeof command.ensureSession,
    place: RequestedSession,
    asked: readonly unknown[],
    write: WriteOptions | undefined,
  ): Promise<Session> {
    const parts = { engine: this.#engine, scope: this.#scope, settings: this.#settings, phases: this.#phases }
    return this.#session(await startSession(parts, decide, place, { asked, write }))
  }

  /** Names of tools that a provider may have been told by a substitute: what the agent may call, and what it called. */
  async #toolNames(
    sessionId: string,
    answers: readonly AnswerMessage[],
    offered: readonly string[],
  ): Promise<string[]> {
    if (!hasSubstituteNames(answers)) return []
    const { allowedTools } = await this.getAgentDescription(sessionId)
    const messages = await this.getRecentMessages(sessionId, 200)
    const called = messages.flatMap(({ parts }) =>
      parts.flatMap(part => (part.type === 'tool-call' ? [part.name] : [])),
    )
    return [...offered, ...allowedTools, ...called]
  }

  /** Created with the first request, because most calls only write or read messages. */
  get #requests(): SessionRequests {
    this.#opened ??= this.#openRequests()
    return this.#opened
  }

  #head(sessionId: string): Promise<SessionHead> {
    return this.#access.head(sessionId)
  }

  #active(place: RequestedSession): Promise<SessionHead | undefined> {
    return this.#engine.store.sessionByKey(this.#scope.project, sessionKey(place))
  }

  async #isOver(head: SessionHead): Promise<boolean> {
    if (head.expiresInMs === null) return false
    const now = this.#engine.clock()
    if (changedAtMs(head) + head.expiresInMs > now) return false
    return expiryOf(head, Date.parse((await this.#session(head)).stats.lastActivityAt))! <= now
  }

  #execute(sessionId: string, decide: Decision, asked: readonly unknown[], options: WriteOptions | undefined) {
    return this.#engine.execute(this.#scope, {
      conversation: 'of-session',
      session: { id: sessionId },
      decide,
      options,
      asked,
    })
  }

  async #change(
    sessionId: string,
    decide: Decision,
    asked: readonly unknown[],
    options: WriteOptions | undefined,
  ): Promise<Session> {
    const { session } = await this.#execute(sessionId, decide, asked, options)
    return this.#session(session!)
  }

  async #messages(sessionId: string, kinds: readonly LaneKind[], page: MessagePage): Promise<Message[]> {
    checkPage(page)
    return pageOf(this.#engine, await this.#head(sessionId), kinds, page)
  }

  #session(head: SessionHead): Promise<Session> {
    return sessionFrom(this.#engine, head)
  }
}

function isEmpty(write: WriteOptions | undefined): boolean {
  return write === undefined || (typeof write === 'object' && write !== null && Object.keys(write).length === 0)
}
