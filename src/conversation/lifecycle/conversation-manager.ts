/** `ConversationManager`: conversations, their agents' views, branches and archives. Thin over the engine. */

import { ConversationDamaged, IllegalState, InvalidInput, NotFound, StoreFailed } from '../../errors.ts'
import { type ArchivePlace, breakable } from '../../log/archive-place.ts'
import * as command from '../../log/commands/conversation.ts'
import { ConversationInput } from '../../log/commands/conversation-input.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { parseInput } from '../../log/commands/input.ts'
import { jsonCopy } from '../../log/commands/json.ts'
import { addToConversation, firstMessage, pinMessage } from '../../log/commands/message.ts'
import type { MessageInput } from '../../log/commands/message-input.ts'
import { firstPhase } from '../../log/commands/phase.ts'
import { refuseLongReason } from '../../log/commands/text-limits.ts'
import type { ConversationQuery, Listed } from '../../log/directory.ts'
import { checkWrite, type Engine, type Scope, type WriteOptions } from '../../log/engine.ts'
import type { EventRange } from '../../log/event-log.ts'
import type { Metadata } from '../../log/events/metadata.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import { type LaneSums, laneKinds } from '../../log/records/lane.ts'
import type { SearchHit, SearchQuery, TitleHit } from '../../log/search.ts'
import type { Purged } from '../../log/upkeep.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { everything } from '../../log/visibility.ts'
import type { Window } from '../../log/windows.ts'
import { type Conversation, shown } from '../access/conversation.ts'
import { conversationHead } from '../access/conversation-head.ts'
import { checkAsked, checkPage } from '../access/input-schemas.ts'
import { recordedMessage, type Scribe } from '../access/prepare-message.ts'
import { eventsIn, type MessagePage, messagesIn } from '../access/sliced-lists.ts'
import {
  type AgentReference,
  type AgentView,
  type AgentViewOptions,
  type AgentViews,
  type Claim,
  defaultClaimMs,
} from '../turns/agent-views.ts'
import type { Team } from '../turns/team-parts.ts'
import type { Branches, BranchOptions, Comparison } from './branches.ts'
import { type ErasedMessage, eraseMessage, takeOutErased } from './erase-message.ts'
import { TeamConversations } from './team-conversations.ts'
import type { Past, PastConversation, ReplayStep } from './time-travel.ts'

export interface NewConversationInput {
  title: string
  /** Default: a thread named after the conversation's id. */
  workItem?: WorkItem
  /** Default: the first of the project's phases. */
  phase?: string
  tracingId?: string
  metadata?: Metadata
  /** The first message. */
  initial?: MessageInput
}

export interface SearchResult {
  /** Messages whose text matches, best first. */
  messages: SearchHit[]
  /** Conversations whose title is like the text, best first. */
  conversations: TitleHit[]
}

export class ConversationManager extends TeamConversations {
  readonly #engine: Engine
  readonly #scope: Scope
  readonly #scribe: Scribe
  readonly #team: Team
  /** The place of new archives, or the place that an address names. */
  readonly #archives: (address?: string) => Promise<ArchivePlace>
  readonly #views: AgentViews
  readonly #branches: Branches
  readonly #past: Past

  constructor(parts: {
    engine: Engine
    scope: Scope
    scribe: Scribe
    views: AgentViews
    branches: Branches
    past: Past
    team: Team
    archives: (address?: string) => Promise<ArchivePlace>
  }) {
    super(parts.team)
    this.#team = parts.team
    this.#engine = parts.engine
    this.#scope = parts.scope
    this.#scribe = parts.scribe
    this.#archives = parts.archives
    this.#views = parts.views
    this.#branches = parts.branches
    this.#past = parts.past
  }

  /** @throws {IllegalState} when the work item has a conversation already */
  async createConversation(input: NewConversationInput, write?: WriteOptions): Promise<Conversation> {
    const id = this.#engine.newId()
    const { initial, metadata, workItem = { type: 'thread', threadId: id }, ...rest } = input ?? {}
    const kept = metadata === undefined ? {} : { metadata: jsonCopy(metadata, 'metadata') as Metadata }
    const { phase, ...created } = parseInput(ConversationInput, { ...rest, workItem, ...kept })
    const start = firstPhase(this.#team.settings.phases, phase)
    // As it was given: a schema leaves keys such as `__proto__` out.
    const create = command.createConversation({ ...created, ...start, ...kept })
    const first = initial === undefined ? undefined : await this.#scribe.prepare(initial)
    const decide: Decision = (heads, now) => {
      const events = create(heads, now)
      return first ? [...events, ...firstMessage(first)] : events
    }
    const asked = ['createConversation', input]
    const { conversation } = await this.#engine.execute(this.#scope, {
      conversation: { id, workItem },
      decide,
      options: write,
      asked,
    })
    return shown(conversation!)
  }

  /**
   * @throws {NotFound} when there is none
   * @throws {ConversationPurged} when it was purged; `restore` brings it back
   */
  async getConversation(conversationId: string): Promise<Conversation> {
    return shown(await this.#head(conversationId))
  }

  /** The conversation of a work item, if there is one. */
  async findConversation(workItem: WorkItem): Promise<Conversation | undefined> {
    checkAsked('workItem', { workItem })
    const head = await this.#engine.store.conversationOf(this.#scope.project, workItem)
    return head && shown(head)
  }

  /** Most recently active first. One too damaged to be shown is named in `damaged`, and hides no other. */
  async listConversations(query: Omit<ConversationQuery, 'project'> = {}): Promise<Listed<Conversation>> {
    checkAsked('conversations', query)
    const { items, ...rest } = await this.#engine.store.conversations({ ...query, project: this.#scope.project })
    return { items: items.map(shown), ...rest }
  }

  /** Records a message in the conversation itself, outside any session. Everyone sees it unless it says otherwise. */
  async addEvent(conversationId: string, message: MessageInput, write?: WriteOptions): Promise<Message> {
    const prepared = await this.#scribe.prepare(message)
    const decide = addToConversation(conversationId, prepared)
    return recordedMessage(await this.#execute(conversationId, decide, ['addEvent', conversationId, message], write))
  }

  /**
   * Builds the view of an agent: what it knows, a block with what came while it was away, and last the message to
   * answer, all inside the budget. Creates a session for an agent that has none. The cursor stays where it is until
   * the agent acknowledges `upTo`.
   *
   * @throws {BudgetTooSmall} when the parts that cannot be left out do not fit
   */
  async buildAgentMessages(
    conversationId: string,
    agent: AgentReference,
    options: AgentViewOptions,
  ): Promise<AgentView> {
    return this.#views.build(await this.#head(conversationId), agent, options)
  }

  /** The same without any side effect. */
  async previewAgentMessages(
    conversationId: string,
    agent: AgentReference,
    options: AgentViewOptions,
  ): Promise<AgentView> {
    return this.#views.preview(await this.#head(conversationId), agent, options)
  }

  /** The agent has taken in what it sees up to this version; the next view tells it only what came later. */
  async acknowledge(
    conversationId: string,
    agent: AgentReference,
    upTo: number,
    write?: WriteOptions,
  ): Promise<SessionHead> {
    checkAsked('upTo', { upTo })
    return this.#views.acknowledge(await this.#head(conversationId), agent, upTo, write)
  }

  /**
   * The right to answer as this agent, for a while: a lease on its session. Hand its `fence` to what you write.
   *
   * @throws {LeaseHeld} when another run has it
   * @throws {AlreadyAnswered} when the agent has acknowledged the trigger already
   */
  async claim(
    conversationId: string,
    agent: AgentReference,
    options: { trigger?: { messageId: string }; forMs?: number } = {},
  ): Promise<Claim> {
    checkAsked('claim', options)
    return this.#views.claim(await this.#head(conversationId), agent, options)
  }

  /**
   * Renews a claim by its fence, for callers that do not hold the claim object. Returns the new ISO time.
   *
   * @throws {LeaseLost} when it ran out or another agent run took it
   */
  async renewClaim(fence: Claim['fence'], forMs = defaultClaimMs): Promise<string> {
    checkAsked('claimed', { fence, forMs })
    const { project } = this.#scope
    return (await this.#engine.store.renew({ ...fence, project, forMs })).expiresAt
  }

  /** Gives a claim back, by its fence. */
  async releaseClaim(fence: Claim['fence']): Promise<void> {
    checkAsked('claimed', { fence })
    return this.#engine.store.release({ ...fence, project: this.#scope.project })
  }

  /** Keeps a message word for word in every request, or lets it go again. */
  async pinMessage(messageId: string, pinned = true, write?: WriteOptions): Promise<Conversation> {
    checkAsked('pinned', { pinned })
    const { conversationId, version } = await this.getMessage(messageId)
    const decide = pinMessage(conversationId, { messageId, version, pinned })
    return this.#change(conversationId, decide, ['pinMessage', messageId, pinned], write)
  }

  /** The log itself: every event of the range, in order, with its envelope. Without `limit`, all of them. */
  async getEvents(
    conversationId: string,
    range: Omit<EventRange, 'project' | 'conversationId'> = {},
  ): Promise<RecordedEvent[]> {
    checkAsked('events', range)
    const { info } = await this.#head(conversationId)
    const { branchOf } = info
    const { project } = this.#scope
    return eventsIn(this.#engine.store, { ...range, project, conversationId, ...(branchOf && { branchOf }) })
  }

  /** Every message of the conversation, for any reader. With `limit` the newest, or with `after` the oldest. */
  async getMessages(conversationId: string, page: MessagePage = {}): Promise<Message[]> {
    checkPage(page)
    return messagesIn(this.#engine.store, this.#whole(await this.#head(conversationId)), page)
  }

  /** A message by its id. */
  async getMessage(messageId: string): Promise<Message> {
    const message = await this.#engine.store.message(this.#scope.project, messageId)
    if (!message) throw new NotFound('message', messageId)
    return message
  }

  /** Messages, tokens and use of the whole conversation. */
  async stats(conversationId: string): Promise<LaneSums> {
    const whole = this.#whole(await this.#head(conversationId))
    const { lastActiveAt: _, ...sums } = await this.#engine.store.measure(whole)
    return sums
  }

  /** A new title; metadata merged key by key, null removes a key. */
  async describe(
    conversationId: string,
    changes: { title?: string; metadata?: Metadata },
    write?: WriteOptions,
  ): Promise<Conversation> {
    checkAsked('changes', { changes })
    const { title, metadata } = changes
    const checked = {
      ...(title !== undefined && { title }),
      ...(metadata !== undefined && { metadata: jsonCopy(metadata, 'metadata') as Metadata }),
    }
    return this.#change(
      conversationId,
      command.annotateConversation(conversationId, checked),
      ['describe', conversationId, changes],
      write,
    )
  }

  /** Read-only from here on, until reopened. */
  complete(conversationId: string, summary?: string, write?: WriteOptions): Promise<Conversation> {
    const decide = command.completeConversation(conversationId, summary)
    return this.#change(conversationId, decide, ['complete', conversationId, summary], write)
  }

  /** Makes a completed conversation writable again. */
  reopen(conversationId: string, reason?: string, write?: WriteOptions): Promise<Conversation> {
    const decide = command.reopenConversation(conversationId, reason)
    return this.#change(conversationId, decide, ['reopen', conversationId, reason], write)
  }

  /** Puts it away: read-only, still listed and searchable. */
  archive(conversationId: string, reason?: string, write?: WriteOptions): Promise<Conversation> {
    const decide = command.archiveConversation(conversationId, reason)
    return this.#change(conversationId, decide, ['archive', conversationId, reason], write)
  }

  /** Takes it out of the archive; one that was purged is read back from its archive file, hashes checked. */
  async restore(conversationId: string, reason?: string, write?: WriteOptions): Promise<Conversation> {
    // Before anything is brought back: what is refused afterwards would be there all the same.
    checkAsked('reason', { reason })
    refuseLongReason(reason)
    checkWrite(write)
    const { store } = this.#engine
    const { project } = this.#scope
    if (!(await store.conversation(project, conversationId))) {
      const purged = (await store.purges(project)).find(one => one.conversationId === conversationId)
      if (purged) {
        const asked = ['restore', conversationId, reason]
        // A conversation that is not there has no version to expect.
        const key = write?.idempotencyKey === undefined ? {} : { idempotencyKey: write.idempotencyKey }
        const earlier = await this.#earlierCall(conversationId, asked, key)
        if (earlier) return earlier
        await this.restoreFrom(purged.archive)
        return this.#change(conversationId, command.restorePurged(conversationId, reason), asked, key)
      }
      // It never existed, or another caller restored it just now.
    }
    const decide = command.restoreConversation(conversationId, reason)
    return this.#change(conversationId, decide, ['restore', conversationId, reason], write)
  }

  /**
   * The earlier result of a key. It is read before an archive is, because a repeated call must not undo a later purge.
   * The write refuses itself: a used key counts before the decision.
   *
   * @throws {ConversationPurged} when the key was used, and the restored conversation was purged again
   * @throws {KeyReused} when it was used for another call
   */
  async #earlierCall(
    conversationId: string,
    asked: unknown[],
    key: Pick<WriteOptions, 'idempotencyKey'>,
  ): Promise<Conversation | undefined> {
    if (key.idempotencyKey === undefined) return undefined
    const unused = new IllegalState('The key was not used before.')
    const refuse = () => {
      throw unused
    }
    try {
      return await this.#change(conversationId, refuse, asked, key)
    } catch (error) {
      if (error !== unused) throw error
      return undefined
    }
  }

  /** Brings back the conversation in an archive file. */
  async restoreFrom(archive: string): Promise<Conversation> {
    checkAsked('archive', { archive })
    const places = await this.#archives(archive)
    return this.restoreLines(places.read(archive))
  }

  /**
   * Brings back the conversation of an archive's lines, as `export` gives them: hashes checked, all of it or nothing.
   *
   * @throws {IllegalState} when it is there already, of another project, damaged or not whole
   */
  async restoreLines(lines: AsyncIterable<string>): Promise<Conversation> {
    const isReadable = typeof lines === 'object' && lines !== null
    if (!isReadable || !(Symbol.asyncIterator in lines || Symbol.iterator in lines))
      throw new InvalidInput('lines', 'must be what `export` gives, or lines read one after another')
    const { project, ...origin } = this.#scope
    const head = await this.#engine.store.restore({ project, lines, origin })
    const isChanged = await takeOutErased(this.#engine, this.#scope, head)
    return shown(isChanged ? await this.#head(head.info.id) : head)
  }

  /**
   * The conversation as it was at a version: state, sessions, messages, views and requests.
   *
   * @throws {InvalidInput} when it has no such version
   */
  async at(conversationId: string, version: number): Promise<PastConversation> {
    return this.#past.at(await this.#head(conversationId), version)
  }

  /** Step by step, what happened and how the conversation stood after it. */
  async *replay(conversationId: string, range: { from?: number; to?: number } = {}): AsyncIterableIterator<ReplayStep> {
    checkAsked('replay', range)
    yield* this.#past.replay(await this.#head(conversationId), range)
  }

  /**
   * A new conversation that shares this one up to a version (default: all of it) and goes on by itself. Nothing is
   * copied: it costs the same however long the conversation is.
   */
  async branch(
    conversationId: string,
    version?: number,
    options: BranchOptions = {},
    write?: WriteOptions,
  ): Promise<Conversation> {
    const head = await this.#head(conversationId)
    return shown(await this.#branches.branch(head, version, options, write))
  }

  /** Compares two conversations of one line: the common version, and each side since. */
  async compare(left: string, right: string): Promise<Comparison> {
    return this.#branches.compare(await this.#head(left), await this.#head(right))
  }

  /** Takes the conclusion of a branch back to its parent, as a message that says where it comes from. */
  async merge(
    branchId: string,
    options: { conclusion?: string; author?: string } = {},
    write?: WriteOptions,
  ): Promise<Message> {
    return this.#branches.merge(await this.#head(branchId), options, write)
  }

  /**
   * Messages by text and conversations by title, in one call. Without a text, the conversations that pass the filters;
   * without any filter either, nothing: `listConversations` gives all. `author`, `role` and `before` are of messages:
   * with them no titles are given, and they need a text.
   */
  async search(
    asked: Omit<SearchQuery, 'project' | 'text' | 'branchOf' | 'viewer'> & { text?: string },
  ): Promise<SearchResult> {
    checkAsked('search', asked)
    const query = { ...asked, text: asked.text ?? '' }
    const isOfMessages = asked.author !== undefined || asked.role !== undefined || asked.before !== undefined
    if (isOfMessages && query.text.trim() === '')
      throw new InvalidInput('text', 'must say what to look for: author, role and before are of messages')
    const { project } = this.#scope
    const { store } = this.#engine
    const { conversationId } = query
    const branchOf =
      conversationId === undefined ? undefined : (await store.conversation(project, conversationId))?.info.branchOf
    const [messages, conversations] = await Promise.all([
      store.search({ ...query, project, ...(branchOf && { branchOf }) }),
      isOfMessages ? [] : store.searchTitles({ ...query, project }),
    ])
    return { messages, conversations }
  }

  /**
   * Removes a message's content permanently, with the contents of its references. The chain still proves that it was
   * there.
   */
  async erase(messageId: string, reason?: string): Promise<ErasedMessage> {
    checkAsked('reason', { reason })
    refuseLongReason(reason)
    return eraseMessage(this.#engine, this.#scope, messageId, reason)
  }

  /**
   * Writes the whole conversation to an archive file, then removes it. `signal` breaks it off while the file is being
   * written: it goes, and nothing is purged.
   *
   * @throws {ConversationDamaged} when records of it are damaged, so that its archive could not be restored
   */
  async purge(conversationId: string, reason?: string, options: { signal?: AbortSignal } = {}): Promise<Purged> {
    checkAsked('reason', { reason })
    refuseLongReason(reason)
    checkAsked('purge', options)
    const { signal } = options
    const { project, ...origin } = this.#scope
    const place = await this.#archives()
    const to = signal === undefined ? place : breakable(place, signal)
    try {
      const why = reason === undefined ? {} : { reason }
      return await this.#engine.store.purge({ project, conversationId, to, origin, ...why })
    } catch (error) {
      await this.#refusePurged(conversationId, error)
      throw error
    }
  }

  /** The lines of an archive file, as `purge` writes it; nothing is removed. */
  async *export(conversationId: string): AsyncIterable<string> {
    try {
      yield* this.#engine.store.export({ project: this.#scope.project, conversationId })
    } catch (error) {
      await this.#refusePurged(conversationId, error)
      throw error
    }
  }

  /** The conversation changed or ended while it was read. Throws the reason if it was purged. */
  async #refusePurged(conversationId: string, error: unknown): Promise<void> {
    const mayBePurged = [IllegalState, StoreFailed, ConversationDamaged].some(kind => error instanceof kind)
    if (mayBePurged) await this.#head(conversationId)
  }

  #head(conversationId: string): Promise<ConversationHead> {
    return conversationHead(this.#engine.store, this.#scope.project, conversationId)
  }

  #whole({ info: { id: conversationId, branchOf } }: ConversationHead): Window {
    const { project } = this.#scope
    const whole = { project, conversationId, viewer: everything, kinds: laneKinds, start: 0, kept: [] }
    return { ...whole, ...(branchOf && { branchOf }) }
  }

  #execute(conversationId: string, decide: Decision, asked: readonly unknown[], options: WriteOptions | undefined) {
    return this.#engine.execute(this.#scope, { conversation: { id: conversationId }, decide, options, asked })
  }

  async #change(
    conversationId: string,
    decide: Decision,
    asked: readonly unknown[],
    options: WriteOptions | undefined,
  ) {
    const { conversation } = await this.#execute(conversationId, decide, asked, options)
    return shown(conversation!)
  }
}
