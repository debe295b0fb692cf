/** Agents that answer: a run of an agent on its session, what it says while it runs, and what it asks people. Thin. */
import { setTimeout as wait } from 'node:timers/promises'
import type { LiveChannel, LiveFilter, LiveUpdate } from '../agent/live.ts'
import type { McpServers } from '../agent/mcp/servers.ts'
import { type RunResult, run } from '../agent/run.ts'
import { newcomer } from '../agent/run-input.ts'
import { builtInTools, workTreeTools } from '../agent/tools/index.ts'
import type { Tool } from '../agent/tools/tool.ts'
import type { Decision } from '../commands/decision.ts'
import { addToSession, type MessageInput } from '../commands/message.ts'
import { questionOfCall } from '../commands/question.ts'
import { clearMessages, resetSession } from '../commands/session.ts'
import type { Engine, Scope, WriteOptions } from '../engine.ts'
import { FeatureOff, IllegalState, LeaseHeld, ModelMissing, NotFound } from '../errors.ts'
import { windowOf } from '../log/windows.ts'
import type { Model, ModelPriority } from '../models/model.ts'
import { type ModelSettings, openModel } from '../models/open.ts'
import type { Message } from '../views/message.ts'
import type { SessionHead } from '../views/session.ts'
import type { AgentSettings } from './agent-settings.ts'
import type { AgentViews, Claim } from './agent-views.ts'
import type { Question } from './questions.ts'
import { runDesk } from './run-desk.ts'
import type { RunKeeper } from './run-keeper.ts'
import { type RunningRun, runningRuns } from './running-runs.ts'
import { recordedMessage, type Scribe } from './scribe.ts'
import { type SessionAccess, sessionAccess } from './session-access.ts'
import type { SessionRequests } from './session-requests.ts'
import type { Team } from './team.ts'
import { toolDesk } from './tool-desk.ts'

/** A session by its id, or an agent of a conversation, whose session is made if there is none. */
export type RunTarget = string | { conversationId: string; agent: string; agentType?: string }

export interface RunOptions {
  /** Said first, and stored before anything else; then answered. */
  message?: string | MessageInput
  /** Answers this stored message. Without it and without a message: whatever waits, or was cut off. */
  trigger?: { messageId: string }
  /** By name or opened. Default: the session's, the agent type's, the project's. */
  model?: Model | string
  /** Stops the run; what was said by then is kept. */
  signal?: AbortSignal
  /** Who goes first where calls of the model must wait. Default `normal`. */
  priority?: ModelPriority
  /** Told of everything as it happens. */
  onPart?: (part: LiveUpdate['part']) => void
  /** Tools of this run beside those that the agent's description allows. */
  tools?: readonly Tool[]
  maxSteps?: number
  /** How long a person has to answer what the agent asks. */
  answerWithinMs?: number
  /** Stops a run of the session in this process and takes its place. */
  supersedes?: boolean
  /** While another run has the session, waits for its end. Always so with a message. */
  waits?: boolean
  /** How the message is stored. With a key it is stored, and answered, once. */
  write?: WriteOptions
  /** The folder its tools work in and never leave, where it is not the project's. */
  root?: string
  /** Starts with an empty window: what was said before is kept, and not sent. */
  fresh?: boolean
  /** Makes the message be said once for ever: a run that was cut off goes on with the one that is there. */
  once?: string
}

/** A run that goes on by itself, or waits until another one has left the session. */
export interface StartedRun {
  state: 'running' | 'waiting'
  /** Absent while it waits. */
  runId?: string
  sessionId: string
  conversationId: string
  agent: string
  model: string
  /** The message it answers; absent while it waits and nobody knows yet. */
  messageId?: string
  /** How it went. Nobody needs to look: the log says so, too. */
  ended: Promise<RunResult>
}

type UnderWay = (run: Omit<StartedRun, 'ended'>) => void

/** Where a session is looked at while another run has it. */
const lookEveryMs = 50
/** Delegations within delegations. */
const deepest = 4

export class AgentManager {
  readonly #engine: Engine
  readonly #scope: Scope
  readonly #scribe: Scribe
  readonly #requests: SessionRequests
  readonly #views: AgentViews
  readonly #team: Team
  readonly #settings: AgentSettings
  readonly #defaultModel: string | undefined
  readonly #isOn: boolean
  readonly #root: string | undefined
  readonly #live: LiveChannel
  readonly #keeper: RunKeeper
  readonly #opened: Map<string, Promise<Model>>
  readonly #mcp: McpServers | undefined
  readonly #access: SessionAccess

  constructor(parts: {
    engine: Engine
    scope: Scope
    scribe: Scribe
    requests: SessionRequests
    views: AgentViews
    team: Team
    settings: AgentSettings
    /** The model whose limits requests keep to. */
    defaultModel: string | undefined
    /** Off: nothing is run in this project. */
    isOn: boolean
    /** The work tree; without one agents have no files, and no programs. */
    root: string | undefined
    live: LiveChannel
    keeper: RunKeeper
    /** Models that were opened by name; each once. */
    opened: Map<string, Promise<Model>>
    mcp: McpServers | undefined
  }) {
    this.#engine = parts.engine
    this.#scope = parts.scope
    this.#scribe = parts.scribe
    this.#requests = parts.requests
    this.#views = parts.views
    this.#team = parts.team
    this.#settings = parts.settings
    this.#defaultModel = parts.defaultModel
    this.#isOn = parts.isOn
    this.#root = parts.root
    this.#live = parts.live
    this.#keeper = parts.keeper
    this.#opened = parts.opened
    this.#mcp = parts.mcp
    this.#access = sessionAccess(parts.engine, parts.scope)
  }

  /**
   * Runs an agent until it has answered: a new message, a stored one, or what waits. The message is stored first; while
   * another run has the session it waits, and that run may answer it. What a model or a tool does wrong is in the
   * result and in the log, never thrown.
   *
   * @throws {FeatureOff} when agents are switched off in the project
   * @throws {ModelMissing} when no model is named
   * @throws {AlreadyAnswered} when the trigger was answered by another run
   * @throws {LeaseHeld} when the trigger is to be answered and another run has the session
   */
  run(target: RunTarget, options: RunOptions = {}): Promise<RunResult> {
    return this.#run(target, options, 0)
  }

  /**
   * Starts a run and answers as soon as it is under way, or known to wait for another one: what was said is stored by
   * then. Throws what `run` throws before that.
   */
  start(target: RunTarget, options: RunOptions = {}): Promise<StartedRun> {
    return new Promise((resolve, reject) => {
      const ended = this.#run(target, options, 0, run => resolve({ ...run, ended }))
      ended.catch(reject)
    })
  }

  /** Runs that are under way in the project, or on one conversation, in whatever process; oldest first. */
  running(conversationId?: string): Promise<RunningRun[]> {
    return runningRuns(this.#engine, this.#scope, { conversationId, isHere: id => this.#keeper.find(id) !== undefined })
  }

  /** Stops the run of a session in this process. What it has said is kept. False if there is none. */
  async cancel(sessionId: string): Promise<boolean> {
    const running = this.#keeper.find(sessionId)
    running?.stop('cancelled')
    await running?.over
    return running !== undefined
  }

  /** Names of the models that the project's settings have chosen. */
  configuredModels(): string[] {
    const { model, models } = this.#settings
    return [this.#defaultModel, model, ...Object.values(models)].filter(name => typeof name === 'string')
  }

  /** What runs of this process say while they say it. Live only: the log has what counts. */
  live(filter: Omit<LiveFilter, 'project'> = {}): AsyncIterableIterator<LiveUpdate> {
    return this.#live.listen({ project: this.#scope.project, ...filter })
  }

  /** What agents of the project, or of one conversation, wait to be told. */
  questions(conversationId?: string): Promise<Question[]> {
    return this.#team.questions.open(conversationId)
  }

  /** Open, or among the newest of the conversation that were answered. @throws {NotFound} when it is neither */
  question(conversationId: string, questionId: string): Promise<Question> {
    return this.#team.questions.find(conversationId, questionId)
  }

  /**
   * Answers a question, or a request for leave with yes or no. Whoever runs the agent goes on with it, now or later.
   *
   * @throws {IllegalState} when it is not open
   */
  answer(
    questionId: string,
    answer: string,
    { conversationId, ...write }: WriteOptions & { conversationId?: string | undefined } = {},
  ): Promise<Question> {
    return this.#team.questions.answer(questionId, answer, { conversationId, write })
  }

  async #run(target: RunTarget, options: RunOptions, depth: number, underWay?: UnderWay): Promise<RunResult> {
    if (!this.#isOn) throw new FeatureOff({ feature: 'agents', project: this.#scope.project })
    const known = await this.#session(target)
    const model = await this.#model(known, options)
    const { id: sessionId, conversationId, agentName: agent } = known
    const place = { sessionId, conversationId, agent, model: model.name }
    const { message: said, isRepeated } = await this.#said(known, options)
    const onWait = () => underWay?.({ state: 'waiting', ...place, ...(said && { messageId: said.id }) })
    if (isRepeated) onWait()
    if (options.supersedes) await this.#supersede(known.id)
    const claim = await this.#claim(known, {
      ...options,
      // What was stored by an earlier call under the same key may be answered by now.
      ...(isRepeated && options.once === undefined && { trigger: { messageId: said!.id } }),
      waits: options.waits === true || said !== undefined,
      onWait,
    })
    try {
      // As it is under the lease: the run before may have moved it.
      let head = await this.#access.head(known.id)
      const trigger = said ?? (await this.#trigger(head, options.trigger))
      if (!said && this.#settings.singleShot) head = await this.#alone(head, trigger)
      const onStart = (runId: string) => underWay?.({ state: 'running', runId, ...place, messageId: trigger.id })
      const input = { head, trigger, model, options, depth, onStart }
      const { traced } = this.#engine
      if (!traced) return await this.#under(claim, input)
      const attributes = {
        'colloquy.project': head.project,
        'colloquy.conversation': conversationId,
        'colloquy.session': sessionId,
        'colloquy.agent': agent,
        'colloquy.model': model.name,
      }
      return await traced('colloquy.run', attributes, async note => {
        const result = await this.#under(claim, input)
        const { runId, outcome, steps, toolCalls, usage } = result
        note({ 'colloquy.run': runId, 'colloquy.outcome': outcome })
        note({ 'colloquy.steps': steps, 'colloquy.tool_calls': toolCalls })
        note({ 'gen_ai.usage.input_tokens': usage.input, 'gen_ai.usage.output_tokens': usage.output })
        return result
      })
    } finally {
      await claim.release()
    }
  }

  async #under(
    claim: Claim,
    {
      head,
      trigger,
      model,
      options,
      depth,
      onStart,
    }: {
      head: SessionHead
      trigger: Message
      model: Model
      options: RunOptions
      depth: number
      onStart: (runId: string) => void
    },
  ): Promise<RunResult> {
    const { engine, scope, scribe, requests, team, settings, live } = this.#parts()
    const { id: sessionId, conversationId, agentName: agent, agentType } = head
    const { root = this.#root } = options
    const kept = this.#keeper.keep(sessionId, claim, { leaseMs: settings.leaseMs, signal: options.signal })
    try {
      const desk = runDesk({ engine, scope, scribe, requests, claim, head, model: model.name, live, root })
      const tell = (part: LiveUpdate['part']) => {
        desk.live(part)
        if (part.type === 'run-start') onStart(desk.runId)
        options.onPart?.(part)
      }
      const callKey = (callId: string, asking: Message) => `${asking.id} ${callId}`
      const tools = await this.#tools(head, { more: options.tools, root })
      const commands = [...(settings.commands['*'] ?? []), ...(settings.commands[agentType] ?? [])]
      const answerWithinMs = options.answerWithinMs ?? settings.limits.answerWithinMs
      const asked = toolDesk({
        engine,
        scope: { ...scope, actor: agent },
        scribe,
        requests,
        team,
        questions: this.#team.questions,
        head,
        root,
        write: { fence: claim.fence },
        delegate: (to, task, signal) => this.#delegate(head, { to, task, model, options, signal, depth }),
        onAsked: ({ id: questionId, kind, text, choices }) =>
          tell({ type: 'question', questionId, kind, text, ...(choices && { choices }) }),
      })
      const result = await run(
        { ...desk, live: tell },
        {
          trigger,
          model,
          tools,
          signal: kept.signal,
          isSuperseded: kept.isSuperseded,
          ...(options.priority && { priority: options.priority }),
          maxSteps: options.maxSteps ?? settings.maxSteps,
          calls: {
            call: ({ callId, signal, asking, characters }) => ({
              callId: callKey(callId, asking),
              // Those that look at files are not among the tools of a project without a folder.
              root: root ?? '',
              agent,
              agentType,
              signal,
              limits: {
                ...settings.limits,
                characters: Math.min(characters, settings.limits.characters),
                commands,
                answerWithinMs,
              },
              desk: asked,
            }),
            waits: async (callId, asking) => {
              const info = (await engine.store.conversation(scope.project, conversationId))!.info
              const question = questionOfCall(info, { sessionId, callId: callKey(callId, asking) })
              return question !== undefined && !question.taken
            },
          },
        },
      )
      if (result.completed !== undefined) await this.#complete(conversationId, result.completed)
      return result
    } finally {
      kept.end()
    }
  }

  #parts() {
    return {
      engine: this.#engine,
      scope: this.#scope,
      scribe: this.#scribe,
      requests: this.#requests,
      team: this.#team,
      settings: this.#settings,
      live: this.#live,
    }
  }

  async #session(target: RunTarget): Promise<SessionHead> {
    if (typeof target === 'string') return this.#access.head(target)
    const { conversationId, agent, agentType } = target
    const conversation = await this.#conversation(conversationId)
    return this.#views.join(conversation, agent, agentType)
  }

  async #conversation(conversationId: string) {
    const head = await this.#engine.store.conversation(this.#scope.project, conversationId)
    if (!head) throw new NotFound('conversation', conversationId)
    return head
  }

  async #said(
    { id, conversationId }: SessionHead,
    { message, write, once, fresh = this.#settings.singleShot }: RunOptions,
  ): Promise<{ message: Message | undefined; isRepeated: boolean }> {
    if (message === undefined) return { message: undefined, isRepeated: false }
    const input: MessageInput = typeof message === 'string' ? { role: 'user', content: message } : message
    const prepared = await this.#scribe.prepare(input)
    const place = { conversation: { id: conversationId }, session: { id } }
    const decide: Decision = (heads, now) => [
      ...(fresh ? clearMessages(id)(heads, now) : []),
      ...addToSession(id, prepared)(heads, now),
    ]
    // Who takes work up again may put it in other words than the first did; the first ones hold.
    const [asked, options] =
      once === undefined ? [['run', id, message], write] : [['run', id], { ...write, idempotencyKey: once }]
    const appended = await this.#engine.execute(this.#scope, { ...place, decide, asked, options })
    return { message: recordedMessage(appended), isRepeated: appended.replayed }
  }

  async #claim(
    head: SessionHead,
    { trigger, signal, waits, onWait }: RunOptions & { onWait: () => void },
  ): Promise<Claim> {
    const conversation = await this.#conversation(head.conversationId)
    const claim = () =>
      this.#views.claim(
        conversation,
        { sessionId: head.id },
        { forMs: this.#settings.leaseMs, ...(trigger && { trigger }) },
      )
    for (;;) {
      try {
        return await claim()
      } catch (error) {
        // What was said just now may be answered by the run that is under way; if not, it is this one's turn then.
        if (!(error instanceof LeaseHeld) || !waits) throw error
        onWait()
        await wait(lookEveryMs, undefined, signal ? { signal } : {})
      }
    }
  }

  async #supersede(sessionId: string): Promise<void> {
    const running = this.#keeper.find(sessionId)
    running?.stop('superseded')
    await running?.over
  }

  /** What waits: the message that was asked for, the one whose run was cut off, or the newest that is new to the agent. */
  async #trigger(head: SessionHead, asked: RunOptions['trigger']): Promise<Message> {
    const { store } = this.#engine
    const window = windowOf(head)
    if (asked) return (await store.message(head.project, asked.messageId))!
    if (head.run && head.run.outcome !== 'done') {
      const [found] = await store.messages(
        { ...window, start: Number.MAX_SAFE_INTEGER, kept: [head.run.trigger] },
        { limit: 1 },
      )
      if (found) return found
    }
    const start = Math.max(head.windowStart, head.acknowledged ?? 0)
    const fresh = await store.messages({ ...window, start, kept: [] }, { limit: 200 })
    const found = newcomer(fresh, { head })
    if (found) return found
    throw new IllegalState(`Nothing waits for an answer of ${head.agentName} in session ${head.id}.`, {
      sessionId: head.id,
    })
  }

  /**
   * The model that agents of a type run on, opened once.
   *
   * @throws {ModelMissing} when none is named
   * @throws {FeatureOff} when the project has agents switched off
   */
  async model(agentType: string, asked?: Model | string): Promise<Model> {
    if (!this.#isOn) throw new FeatureOff({ feature: 'agents', project: this.#scope.project })
    return this.#model({ agentType }, asked === undefined ? {} : { model: asked })
  }

  async #model(
    head: Pick<SessionHead, 'agentType' | 'requests'>,
    { model: asked, root = this.#root }: Pick<RunOptions, 'model' | 'root'>,
  ): Promise<Model> {
    const { model, models } = this.#settings
    const named = asked ?? head.requests?.model ?? models[head.agentType] ?? model ?? this.#defaultModel
    if (named === undefined) throw new ModelMissing(head.agentType)
    if (typeof named !== 'string') return named
    if (root === undefined && named.startsWith('command:')) {
      const { project } = this.#scope
      throw new IllegalState(`A program works in the project's folder: projects.${project}.root is missing.`, {
        project,
      })
    }
    // A command works in the folder it is opened for.
    const key = JSON.stringify([named, root])
    let opened = this.#opened.get(key)
    if (!opened) {
      opened = openModel(named, { ...this.#modelSettings(named), ...(root !== undefined && { folder: root }) })
      this.#opened.set(key, opened)
      // One that could not be opened may be the next time: a key may be set by then.
      opened.catch(() => this.#opened.delete(key))
    }
    return opened
  }

  #modelSettings(name: string): ModelSettings {
    const { prices, concurrency } = this.#settings
    const places = typeof concurrency === 'number' ? concurrency : concurrency[name]
    return { prices, ...(places !== undefined && { concurrency: places }) }
  }

  /** Without a conversation: of what was said before, only the message itself is sent. One that is taken up is left. */
  async #alone(head: SessionHead, { version }: Message): Promise<SessionHead> {
    if (head.run?.trigger === version) return head
    await this.#access.execute(head, resetSession(head.id, version))
    return this.#access.head(head.id)
  }

  async #tools(
    { id, agentType }: SessionHead,
    { more = [], root }: { more: readonly Tool[] | undefined; root: string | undefined },
  ): Promise<Tool[]> {
    const { allowedTools } = await this.#requests.contexts.description(id)
    const builtIn = root === undefined ? builtInTools.filter(({ name }) => !workTreeTools.has(name)) : builtInTools
    const all = [...builtIn, ...this.#settings.tools]
    const allowed = all.filter(tool => allowedTools.includes(tool.name) || allowedTools.includes('*'))
    return [...allowed, ...((await this.#mcp?.toolsFor(agentType)) ?? []), ...more]
  }

  /** The other agent is run here and now; its last words are the result unless it completes with others. */
  async #delegate(
    { conversationId, agentName: from }: SessionHead,
    {
      to,
      task,
      model,
      options,
      signal,
      depth,
    }: { to: string; task: string; model: Model; options: RunOptions; signal: AbortSignal; depth: number },
  ): Promise<{ outcome: string; result: string }> {
    if (depth >= deepest) return { outcome: 'failed', result: 'Work was handed on too often already; do it yourself.' }
    const { delegations } = this.#team
    const { id, conversationId: childId } = await delegations.delegate(conversationId, { from, to, task }, undefined)
    const own = this.#settings.models[to]
    const { answerWithinMs, root } = options
    const target = { conversationId: childId, agent: to }
    const done = await this.#run(
      target,
      {
        model: own ?? model,
        signal,
        ...(answerWithinMs !== undefined && { answerWithinMs }),
        ...(root !== undefined && { root }),
      },
      depth + 1,
    )
    if (done.completed === undefined) {
      const isDone = done.outcome === 'done'
      const outcome = isDone ? 'completed' : done.outcome === 'cancelled' ? 'aborted' : 'failed'
      await delegations.end(childId, { outcome, result: (isDone ? done.text : done.reason) || '(nothing)' }, undefined)
    }
    const { status, result = '' } = await delegations.get(conversationId, id)
    return { outcome: status, result }
  }

  /** Of work that was delegated, what the agent said when it completed is the result. */
  async #complete(conversationId: string, result: string): Promise<void> {
    const { info } = await this.#conversation(conversationId)
    if (info.delegated && info.delegated.outcome === undefined) {
      await this.#team.delegations.end(conversationId, { result }, undefined)
    }
  }
}
