/**
 * Runs agents on their sessions: stores the message, claims the session, runs the agent under the lease with its tools,
 * and closes a delegation with its answer.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { recordedMessage, type Scribe } from '../../conversation/access/prepare-message.ts'
import { sessionAccess } from '../../conversation/access/session-access.ts'
import type { SessionRequests } from '../../conversation/sessions/session-requests.ts'
import type { AgentViews, Claim } from '../../conversation/turns/agent-views.ts'
import type { Team } from '../../conversation/turns/team-parts.ts'
import { FeatureOff, IllegalState, LeaseHeld, NotFound } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { addToSession } from '../../log/commands/message.ts'
import type { MessageInput } from '../../log/commands/message-input.ts'
import { questionOfCall } from '../../log/commands/question.ts'
import { clearMessages, resetSession } from '../../log/commands/session.ts'
import { type Engine, given, type Scope } from '../../log/engine.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { windowOf } from '../../log/windows.ts'
import type { Model } from '../../models/model.ts'
import { builtInTools, workTreeTools } from '../tools/index.ts'
import type { McpServers } from '../tools/mcp/servers.ts'
import type { Tool } from '../tools/tool.ts'
import type { AgentModels } from './agent-models.ts'
import type { AgentSettings } from './agent-settings.ts'
import type { LiveChannel, LiveUpdate } from './live.ts'
import { type RunResult, run } from './run.ts'
import { runDesk } from './run-desk.ts'
import { newcomer } from './run-input.ts'
import type { RunKeeper } from './run-keeper.ts'
import type { RunOptions, RunTarget, StartedRun } from './run-options.ts'
import { toolDesk } from './tool-desk.ts'

type UnderWay = (run: Omit<StartedRun, 'ended'>) => void

export interface AgentRunParts {
  engine: Engine
  scope: Scope
  scribe: Scribe
  requests: SessionRequests
  views: AgentViews
  team: Team
  settings: AgentSettings
  models: AgentModels
  /** False when agents are switched off in this project. */
  isOn: boolean
  /** The work tree. Without one agents have neither files nor programs. */
  root: string | undefined
  live: LiveChannel
  keeper: RunKeeper
  mcp: McpServers | undefined
}

/** Poll interval while another run has the session. */
const lookEveryMs = 50
/** Maximum depth of nested delegations. */
const deepest = 4

/** @returns a function that runs an agent until it has answered; `depth` counts the delegations above it */
export function agentRuns(parts: AgentRunParts) {
  const { engine, scope, scribe, requests, views, team, settings, models, isOn, live, keeper, mcp } = parts
  const projectRoot = parts.root
  const access = sessionAccess(engine, scope)

  async function runAgent(
    target: RunTarget,
    options: RunOptions,
    depth: number,
    underWay?: UnderWay,
  ): Promise<RunResult> {
    if (!isOn) throw new FeatureOff({ feature: 'agents', project: scope.project })
    const known = await sessionOf(target)
    const model = await models.choose(known, options)
    const { id: sessionId, conversationId, agentName: agent } = known
    const place = { sessionId, conversationId, agent, model: model.name }
    const { message: said, isRepeated } = await store(known, options)
    const onWait = () => underWay?.({ state: 'waiting', ...place, ...(said && { messageId: said.id }) })
    if (isRepeated) onWait()
    if (options.supersedes) await supersede(known.id)
    const claim = await claimed(known, {
      ...options,
      // A message stored by an earlier call with the same key may already be answered.
      ...(isRepeated && options.once === undefined && { trigger: { messageId: said!.id } }),
      waits: options.waits === true || said !== undefined,
      onWait,
    })
    try {
      // Read again under the lease, because the previous run may have changed it.
      let head = await access.head(known.id)
      const trigger = said ?? (await waiting(head, options.trigger))
      if (!said && settings.singleShot) head = await alone(head, trigger)
      const onStart = (runId: string) => underWay?.({ state: 'running', runId, ...place, messageId: trigger.id })
      const input = { head, trigger, model, options, depth, onStart }
      const { traced } = engine
      if (!traced) return await under(claim, input)
      const attributes = {
        'colloquy.project': head.project,
        'colloquy.conversation': conversationId,
        'colloquy.session': sessionId,
        'colloquy.agent': agent,
        'colloquy.model': model.name,
      }
      return await traced('colloquy.run', attributes, async note => {
        const result = await under(claim, input)
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

  async function under(
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
    const { id: sessionId, conversationId, agentName: agent, agentType } = head
    const { root = projectRoot } = options
    const kept = keeper.keep(sessionId, claim, { leaseMs: settings.leaseMs, signal: options.signal })
    try {
      const desk = runDesk({ engine, scope, scribe, requests, claim, head, model: model.name, live, root })
      const tell = (part: LiveUpdate['part']) => {
        desk.live(part)
        if (part.type === 'run-start') onStart(desk.runId)
        options.onPart?.(part)
      }
      const callKey = (callId: string, asking: Message) => `${asking.id} ${callId}`
      const tools = await toolsFor(head, { more: options.tools, root })
      const commands = [...(settings.commands['*'] ?? []), ...(settings.commands[agentType] ?? [])]
      const answerWithinMs = options.answerWithinMs ?? settings.limits.answerWithinMs
      const asked = toolDesk({
        engine,
        scope: { ...scope, actor: agent },
        scribe,
        requests,
        team,
        questions: team.questions,
        head,
        root,
        write: { fence: claim.fence },
        delegate: (to, task, signal) => delegate(head, { to, task, model, options, signal, depth }),
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
              // A project without a folder has no tools for files.
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
      if (result.completed !== undefined) await complete(conversationId, result.completed)
      return result
    } finally {
      kept.end()
    }
  }

  async function sessionOf(target: RunTarget): Promise<SessionHead> {
    if (typeof target === 'string') return access.head(target)
    const { conversationId, agent, agentType } = target
    const conversation = await conversationOf(conversationId)
    return views.join(conversation, agent, agentType)
  }

  async function conversationOf(conversationId: string) {
    const head = await engine.store.conversation(scope.project, conversationId)
    if (!head) throw new NotFound('conversation', conversationId)
    return head
  }

  async function store(
    { id, conversationId }: SessionHead,
    { message, write, once, fresh }: RunOptions,
  ): Promise<{ message: Message | undefined; isRepeated: boolean }> {
    if (message === undefined) return { message: undefined, isRepeated: false }
    const input: MessageInput = typeof message === 'string' ? { role: 'user', content: message } : message
    const prepared = await scribe.prepare(input)
    const place = { conversation: { id: conversationId }, session: { id } }
    const decide: Decision = (heads, now) => [
      ...((fresh ?? settings.singleShot) ? clearMessages(id)(heads, now) : []),
      ...addToSession(id, prepared)(heads, now),
    ]
    // A resumed piece of work keeps its first wording.
    const [asked, options] =
      once === undefined
        ? [['run', id, message, ...given(fresh)], write]
        : [['run', id], { ...write, idempotencyKey: once }]
    const appended = await engine.execute(scope, { ...place, decide, asked, options })
    return { message: recordedMessage(appended), isRepeated: appended.replayed }
  }

  async function claimed(
    head: SessionHead,
    { trigger, signal, waits, onWait }: RunOptions & { onWait: () => void },
  ): Promise<Claim> {
    const conversation = await conversationOf(head.conversationId)
    const claim = () =>
      views.claim(conversation, { sessionId: head.id }, { forMs: settings.leaseMs, ...(trigger && { trigger }) })
    for (;;) {
      try {
        return await claim()
      } catch (error) {
        // The running run may answer this message; otherwise this run does afterwards.
        if (!(error instanceof LeaseHeld) || !waits) throw error
        onWait()
        await wait(lookEveryMs, undefined, signal ? { signal } : {})
      }
    }
  }

  async function supersede(sessionId: string): Promise<void> {
    const running = keeper.find(sessionId)
    running?.stop('superseded')
    await running?.over
  }

  /** Finds the message to answer: the requested one, the one whose run was cut off, or the newest unanswered one. */
  async function waiting(head: SessionHead, asked: RunOptions['trigger']): Promise<Message> {
    const log = engine.store
    const window = windowOf(head)
    if (asked) return (await log.message(head.project, asked.messageId))!
    if (head.run && head.run.outcome !== 'done') {
      const [found] = await log.messages(
        { ...window, start: Number.MAX_SAFE_INTEGER, kept: [head.run.trigger] },
        { limit: 1 },
      )
      if (found) return found
    }
    const start = Math.max(head.windowStart, head.acknowledged ?? 0)
    const fresh = await log.messages({ ...window, start, kept: [] }, { limit: 200 })
    const found = newcomer(fresh, { head })
    if (found) return found
    throw new IllegalState(`Nothing waits for an answer of ${head.agentName} in session ${head.id}.`, {
      sessionId: head.id,
    })
  }

  /** Clears the window so that only the message itself is sent. A resumed run keeps its window. */
  async function alone(head: SessionHead, { version }: Message): Promise<SessionHead> {
    if (head.run?.trigger === version) return head
    await access.execute(head, resetSession(head.id, version))
    return access.head(head.id)
  }

  async function toolsFor(
    { id, agentType }: SessionHead,
    { more = [], root }: { more: readonly Tool[] | undefined; root: string | undefined },
  ): Promise<Tool[]> {
    const { allowedTools } = await requests.contexts.description(id)
    const builtIn = root === undefined ? builtInTools.filter(({ name }) => !workTreeTools.has(name)) : builtInTools
    const all = [...builtIn, ...settings.tools]
    const allowed = all.filter(tool => allowedTools.includes(tool.name) || allowedTools.includes('*'))
    return [...allowed, ...((await mcp?.toolsFor(agentType)) ?? []), ...more]
  }

  /** Runs the other agent at once. Its last text is the result, unless it completes with another one. */
  async function delegate(
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
    const { delegations } = team
    const { id, conversationId: childId } = await delegations.delegate(conversationId, { from, to, task }, undefined)
    const own = settings.models[to]
    const { answerWithinMs, root } = options
    const target = { conversationId: childId, agent: to }
    const done = await runAgent(
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

  /** Ends a delegation with the text the agent completed with. */
  async function complete(conversationId: string, result: string): Promise<void> {
    const { info } = await conversationOf(conversationId)
    if (info.delegated && info.delegated.outcome === undefined) {
      await team.delegations.end(conversationId, { result }, undefined)
    }
  }

  return runAgent
}
