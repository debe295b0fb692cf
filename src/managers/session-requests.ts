/** Requests of a session: what its agent is told, what it was told, and the checkpoints that make it fit. */
import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type CompactOutcome, compact } from '../agent/compact.ts'
import { parseInput } from '../commands/input.ts'
import { describeSession, recordContext, recordRequest } from '../commands/request.ts'
import { type CheckpointDiff, diffCheckpoints } from '../compaction/diff.ts'
import type { ContextInputs } from '../context/gather.ts'
import { contextGatherer } from '../context/gatherer.ts'
import type { Engine, Scope } from '../engine.ts'
import { IllegalState, NotFound } from '../errors.ts'
import type { Checkpoint, CheckpointTaken, CompactionReason } from '../events/checkpoint.ts'
import type { ContextGathered, SessionContext } from '../events/context.ts'
import { AgentDescription, type SessionDescribed } from '../events/description.ts'
import type { ConversationEvent } from '../events/event.ts'
import type { RequestBuilt } from '../events/request.ts'
import { laneKinds } from '../log/lane.ts'
import { viewerOf } from '../log/visibility.ts'
import type { Model } from '../models/model.ts'
import { overhead, requestBudget, sectionSize } from '../request/budget.ts'
import { descriptionFor } from '../request/descriptions.ts'
import type { Ledger } from '../request/ledger.ts'
import type { RequestMessage } from '../request/message.ts'
import { modelLimits } from '../request/models.ts'
import { type Packed, type PackOptions, pack } from '../request/pack.ts'
import { renderMessages, renderPrompt } from '../request/render.ts'
import { renderStableContext, renderVolatileContext } from '../request/render-context.ts'
import type { Strategy } from '../request/strategy.ts'
import type { TokenEstimator } from '../request/tokens.ts'
import type { Message } from '../views/message.ts'
import type { SessionHead } from '../views/session.ts'
import { type Gathered, materialGatherer } from './material.ts'
import type { RequestSettings } from './request-settings.ts'

export interface RequestOptions {
  budget?: number
  strategy?: Strategy
  recall?: boolean
}

/** A request ready to be sent, in both renderings, with the account of how it came to be. */
export interface AgentRequest {
  sessionId: string
  strategy: Strategy['name']
  /** Seeds 001 and 002: everything but the message, and the message. */
  systemPrompt: string
  userPrompt: string
  /** For a Messages API: the system text and the messages, the user's last. */
  system: string
  messages: RequestMessage[]
  totalTokens: number
  budget: number
  ledger: Ledger
  /** Messages left out, and said so in the request. */
  omitted: number
  /** Number of the checkpoint it stands on. */
  checkpoint: number | undefined
}

export interface SessionMetrics {
  messages: number
  tokens: number
  tokensIn: number
  tokensOut: number
  compactions: number
  tokensSaved: number
  lastRequest: SessionHead['lastRequest']
  budget: number
  /** Tokens a request would have now, without a message. */
  used: number
  /** Tokens until the next compaction; 0 when it is due. */
  untilTrigger: number
  latched: boolean
}

/** A checkpoint may take this share of the budget. */
const checkpointShare = 0.15
const longestWaitMs = 120_000

export class SessionRequests {
  readonly #engine: Engine
  readonly #scope: Scope
  readonly #settings: RequestSettings
  readonly #model: Model | undefined
  readonly #estimator: () => TokenEstimator | Promise<TokenEstimator>
  readonly #material: ReturnType<typeof materialGatherer>
  readonly #contexts = contextGatherer()

  constructor(parts: {
    engine: Engine
    scope: Scope
    settings: RequestSettings
    model: Model | undefined
    estimator: () => TokenEstimator | Promise<TokenEstimator>
  }) {
    this.#engine = parts.engine
    this.#scope = parts.scope
    this.#settings = parts.settings
    this.#model = parts.model
    this.#estimator = parts.estimator
    this.#material = materialGatherer(parts.engine, parts.estimator)
  }

  async preview(
    sessionId: string,
    message: string | { messageId: string },
    options: RequestOptions = {},
  ): Promise<AgentRequest> {
    const { packed, strategy, head } = await this.#pack(await this.#head(sessionId), message, options, true)
    return this.#request(head, strategy, packed)
  }

  async build(
    sessionId: string,
    message: string | { messageId: string },
    options: RequestOptions = {},
  ): Promise<AgentRequest> {
    await this.#refreshContext(sessionId)
    let head = await this.#head(sessionId)
    let made = await this.#pack(head, message, options, false)
    const due = this.#dueFor(made.packed, made.strategy, head, made.gathered)
    if (due) {
      await this.#compact(head, made.gathered, made.budget, due)
      head = await this.#head(sessionId)
      made = await this.#pack(head, message, options, false)
    }
    // Whatever the compaction did, the request fits: what is left out then is counted and said.
    if (made.packed.overflows) made = await this.#pack(head, message, options, true)
    const request = this.#request(head, made.strategy, made.packed)
    await this.#execute(head, recordRequest(this.#manifest(head, made.strategy, made.packed)))
    this.#compactInBackground(head, made.gathered, made.packed, made.strategy)
    return request
  }

  async forceCompact(sessionId: string): Promise<CompactOutcome> {
    const head = await this.#head(sessionId)
    const gathered = await this.#gather(head, '', { recall: false })
    return this.#compact(head, gathered, this.#budget({}), 'forced')
  }

  async description(sessionId: string): Promise<AgentDescription> {
    const head = await this.#head(sessionId)
    const event = (await this.#eventAt(head, head.describedAt)) as SessionDescribed | undefined
    return event?.description ?? descriptionFor(head.agentType)
  }

  async describe(sessionId: string, description: AgentDescription): Promise<AgentDescription> {
    const checked = parseInput(AgentDescription, description)
    const known = await this.description(sessionId)
    if (JSON.stringify(known) !== JSON.stringify(checked)) {
      await this.#execute(await this.#head(sessionId), describeSession(sessionId, checked))
    }
    return checked
  }

  async context(sessionId: string): Promise<SessionContext | undefined> {
    return (await this.#contextEvent(await this.#head(sessionId)))?.context
  }

  /** Gathers the context anew and records it if it changed. */
  async updateContext(sessionId: string, inputs: ContextInputs): Promise<SessionContext> {
    const head = await this.#head(sessionId)
    const recorded = await this.#contextEvent(head)
    const { context, fingerprint, changed } = await this.#contexts.gather(inputs, recorded)
    if (changed) {
      const counter = await this.#estimator()
      const tokens = {
        stable: counter.count(renderStableContext(context)),
        volatile: counter.count(renderVolatileContext(context)),
      }
      await this.#execute(head, recordContext(sessionId, context, fingerprint, tokens))
    }
    return context
  }

  async checkpoint(sessionId: string): Promise<Checkpoint | undefined> {
    const head = await this.#head(sessionId)
    return ((await this.#eventAt(head, head.checkpoint?.version)) as CheckpointTaken | undefined)?.checkpoint
  }

  /** Every checkpoint of the window, newest first. */
  async checkpointHistory(sessionId: string): Promise<Checkpoint[]> {
    const head = await this.#head(sessionId)
    const found: Checkpoint[] = []
    let version = head.checkpoint?.version
    while (version !== undefined) {
      const event = (await this.#eventAt(head, version)) as CheckpointTaken | undefined
      if (!event) break
      found.push(event.checkpoint)
      version = event.previous
    }
    return found
  }

  async diff(sessionId: string, first: number, second: number): Promise<CheckpointDiff> {
    const history = await this.checkpointHistory(sessionId)
    const numbered = (number: number) => {
      const found = history.find(checkpoint => checkpoint.number === number)
      if (!found) throw new IllegalState(`Session ${sessionId} has no checkpoint ${number}; it has ${history.length}.`)
      return found
    }
    return diffCheckpoints(numbered(first), numbered(second))
  }

  /** The messages behind an item of the checkpoint. */
  async expand(sessionId: string, itemId: string): Promise<Message[]> {
    const head = await this.#head(sessionId)
    const item = (await this.checkpoint(sessionId))?.items.find(one => one.id === itemId)
    if (!item) throw new NotFound('message', itemId, 'The checkpoint has no such item.')
    const versions = [...new Set([...item.sources, ...(item.resolved?.sources ?? [])])].sort((a, b) => a - b)
    return this.#engine.store.messages(
      { ...this.#window(head), start: Number.MAX_SAFE_INTEGER, kept: versions },
      { limit: versions.length },
    )
  }

  async metrics(sessionId: string): Promise<SessionMetrics> {
    const head = await this.#head(sessionId)
    const total = await this.#engine.store.measure({ ...this.#window(head), start: 0 })
    const { packed, budget } = await this.#pack(head, '', { recall: false }, false)
    return {
      messages: total.messages,
      tokens: total.tokens,
      tokensIn: total.input,
      tokensOut: total.output,
      compactions: head.compactions,
      tokensSaved: head.checkpoint?.totalSaved ?? 0,
      lastRequest: head.lastRequest,
      budget,
      used: packed.tokens,
      untilTrigger: Math.max(0, Math.floor(budget * this.#settings.trigger) - packed.tokens),
      latched: head.latched ?? false,
    }
  }

  // Packing

  #gather(head: SessionHead, trigger: string | { messageId: string }, options: RequestOptions): Promise<Gathered> {
    return this.#material.gather({
      head,
      trigger,
      strategy: options.strategy ?? this.#settings.strategy,
      budget: this.#budget(options),
    })
  }

  /** `mayOmit` false keeps the checkpoint strategy from leaving anything out before its latch. */
  async #pack(head: SessionHead, message: string | { messageId: string }, options: RequestOptions, mayOmit: boolean) {
    const strategy = options.strategy ?? this.#settings.strategy
    const budget = this.#budget({ ...options, strategy })
    const gathered = await this.#gather(head, message, options)
    const packing: PackOptions = {
      budget,
      estimator: await this.#estimator(),
      mayOmit: mayOmit || strategy.name !== 'checkpoint' || head.latched === true,
      ...(strategy.name === 'recent' && { maxMessages: strategy.messages }),
    }
    const packed = await this.#withRecall(pack(gathered.material, packing), gathered, packing, options)
    return { packed, gathered, strategy, budget, head }
  }

  /** Only what is not in the request can be worth quoting; so it is packed once to see what that is. */
  async #withRecall(
    packed: Packed,
    gathered: Gathered,
    packing: PackOptions,
    options: RequestOptions,
  ): Promise<Packed> {
    const isPartial = packed.omitted.messages > 0 || packed.checkpoint !== undefined
    if (!(options.recall ?? this.#settings.recall) || !isPartial || packed.overflows) return packed
    const first = packed.history[0]?.version ?? packed.trigger.version
    const quotes = await gathered.recallBefore(first ?? Number.MAX_SAFE_INTEGER)
    return quotes.length === 0 ? packed : pack({ ...gathered.material, recall: quotes }, packing)
  }

  #budget({ budget = this.#settings.budget, strategy = this.#settings.strategy }: RequestOptions): number {
    const { contextWindow, outputLimit } = modelLimits(this.#settings.model ?? '')
    const { buffer } = this.#settings
    const outputReserve = Math.min(this.#settings.outputReserve, outputLimit)
    // Seed 003 keeps a fifth of the model's limit free.
    const window = strategy.name === 'sliding_window' ? Math.floor(contextWindow * 0.8) + outputReserve : contextWindow
    return requestBudget({ configured: budget, contextWindow: window, outputReserve, buffer })
  }

  /** Each rendering is made when it is first looked at: hardly anybody sends both. */
  #request(head: SessionHead, strategy: Strategy, packed: Packed): AgentRequest {
    const options = { agentName: head.agentName, place: head.id }
    const asPrompt = once(() => renderPrompt(packed, options))
    const asMessages = once(() => renderMessages(packed, options))
    return {
      sessionId: head.id,
      strategy: strategy.name,
      get systemPrompt() {
        return asPrompt().systemPrompt
      },
      get userPrompt() {
        return asPrompt().userPrompt
      },
      get system() {
        return asMessages().system
      },
      get messages() {
        return asMessages().messages
      },
      totalTokens: packed.tokens,
      budget: packed.ledger.budget,
      ledger: packed.ledger,
      omitted: packed.omitted.messages,
      checkpoint: packed.checkpoint?.number,
    }
  }

  #manifest(head: SessionHead, strategy: Strategy, packed: Packed): RequestBuilt {
    const { history, pinned, recall, trigger } = packed
    const [first, last] = [history[0], history.at(-1)]
    const configuration = createHash('sha256').update(JSON.stringify(this.#settings)).digest('base64url').slice(0, 16)
    return {
      type: 'request.built',
      sessionId: head.id,
      requestId: this.#engine.newId(),
      strategy: strategy.name,
      ...(trigger.version !== undefined && { trigger: trigger.version }),
      ...(first && last && { kept: { from: first.version, to: last.version, messages: history.length } }),
      ...(pinned.length > 0 && { pinned: pinned.map(message => message.version) }),
      ...(head.describedAt !== undefined && { description: head.describedAt }),
      ...(head.contextAt !== undefined && { context: head.contextAt }),
      ...(packed.checkpoint && head.checkpoint && { checkpoint: head.checkpoint.version }),
      ...(recall.length > 0 && { recall: recall.map(quote => quote.version) }),
      omitted: packed.omitted.messages,
      estimator: history[0]?.tokens.by ?? 'none',
      configuration,
      budget: packed.ledger.budget,
      tokens: packed.tokens,
    }
  }

  // Compaction

  /** Why it should be compacted before it is sent, if it should. */
  #dueFor(packed: Packed, strategy: Strategy, head: SessionHead, gathered: Gathered): CompactionReason | undefined {
    if (head.latched || (strategy.name !== 'checkpoint' && strategy.name !== 'summarization')) return undefined
    const { everyMessages, trigger } = this.#settings
    if (packed.overflows) return 'overflow'
    if (packed.tokens > packed.ledger.budget * trigger) return 'trigger'
    if (strategy.name === 'summarization' && packed.omitted.messages > 0) return 'overflow'
    return everyMessages !== null && gathered.window.messages >= everyMessages ? 'every-n' : undefined
  }

  #compactInBackground(head: SessionHead, gathered: Gathered, packed: Packed, strategy: Strategy): void {
    const { budget } = packed.ledger
    const isDue = strategy.name === 'checkpoint' && !head.latched && packed.tokens > budget * this.#settings.background
    // Without a model it takes milliseconds, and the request that needs it can wait for it.
    if (!isDue || !this.#model) return
    // Its failure is in the log already; nobody waits for it here.
    this.#compact(head, gathered, budget, 'background').catch(() => undefined)
  }

  async #compact(
    head: SessionHead,
    gathered: Gathered,
    budget: number,
    reason: CompactionReason,
  ): Promise<CompactOutcome> {
    const { material, checkpoint } = gathered
    const { strategy, everyMessages } = this.#settings
    const fixed =
      sectionSize(material.description.tokens) +
      Math.min(sectionSize(material.context.tokens), Math.floor(budget * 0.4)) +
      sectionSize(material.changes.tokens) +
      material.trigger.tokens +
      overhead.message
    const maxCheckpointTokens = Math.floor(budget * checkpointShare)
    const target = Math.floor(budget * this.#settings.target) - fixed - maxCheckpointTokens
    const keep =
      strategy.name === 'summarization'
        ? { messages: strategy.keepRecentMessages }
        : // By count and not by size: it may well be far below the target.
          reason === 'every-n' && everyMessages !== null
          ? { messages: Math.floor(everyMessages / 2) }
          : { tokens: reason === 'forced' ? Math.min(Math.floor(budget * 0.1), target) : Math.max(0, target) }
    const outcome = await compact(this.#engine, this.#scope, {
      head,
      base: checkpoint,
      reason,
      estimator: await this.#estimator(),
      model: this.#model,
      modelWindow: modelLimits(this.#model?.name ?? '').contextWindow,
      answerWithinMs: this.#settings.answerWithinMs,
      keep,
      maxCheckpointTokens,
    })
    if (outcome.outcome === 'held') await this.#untilReleased(head.id)
    return outcome
  }

  /** Another run compacts this session: its checkpoint will do. */
  async #untilReleased(sessionId: string): Promise<void> {
    const lease = { project: this.#scope.project, name: `compaction ${sessionId}` }
    const deadline = performance.now() + longestWaitMs
    while (performance.now() < deadline && (await this.#engine.store.holderOf(lease))) await wait(20)
  }

  // Reading and writing

  /** Gathers again what the last context was gathered from; unchanged inputs cost a few file stats. */
  async #refreshContext(sessionId: string): Promise<void> {
    const head = await this.#head(sessionId)
    const recorded = await this.#contextEvent(head)
    if (!recorded) return
    const { project, feature, task, dagSummary } = recorded.context
    await this.updateContext(sessionId, {
      ...(project.root !== undefined && { root: project.root }),
      ...(feature && { feature }),
      ...(task && { task }),
      ...(dagSummary !== undefined && { dagSummary }),
    })
  }

  async #contextEvent(head: SessionHead): Promise<ContextGathered | undefined> {
    return (await this.#eventAt(head, head.contextAt)) as ContextGathered | undefined
  }

  async #eventAt(head: SessionHead, version: number | undefined): Promise<ConversationEvent | undefined> {
    if (version === undefined) return undefined
    const { project, conversationId } = head
    const [recorded] = await this.#engine.store.read({ project, conversationId, from: version, to: version })
    return recorded?.event as ConversationEvent | undefined
  }

  async #head(sessionId: string): Promise<SessionHead> {
    const head = await this.#engine.store.session(this.#scope.project, sessionId)
    if (!head || head.status === 'deleted') throw new NotFound('session', sessionId)
    return head
  }

  #window(head: SessionHead) {
    const { project, conversationId, windowStart } = head
    return { project, conversationId, viewer: viewerOf(head), kinds: laneKinds, start: windowStart, kept: head.kept }
  }

  #execute(head: SessionHead, decide: Parameters<Engine['execute']>[1]['decide']) {
    return this.#engine.execute(this.#scope, {
      conversation: { id: head.conversationId },
      session: { id: head.id },
      decide,
      asked: [],
    })
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
