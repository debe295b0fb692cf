/**
 * Runs an agent on its session: stores the message, claims the session, and runs the agent under the lease. A delegation
 * runs the other agent in the same way, in a conversation of its own.
 */
import { sessionAccess } from '../../conversation/access/session-access.ts'
import { FeatureOff } from '../../errors.ts'
import type { Engine } from '../../log/engine.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { Model } from '../../models/model.ts'
import { runClaimedSession } from './claimed-run.ts'
import type { RunResult } from './run.ts'
import { storeRunMessage } from './run-message.ts'
import type { RunOptions, RunTarget, StartedRun } from './run-options.ts'
import type { RunServices } from './run-services.ts'
import { findTrigger, keepOnly } from './run-trigger.ts'
import { claimSession, sessionOf } from './session-claim.ts'

/** Maximum depth of nested delegations. */
const maxDepth = 4

type OnState = (run: Omit<StartedRun, 'ended'>) => void

/** Resolves when the agent has answered. `depth` counts the delegations above this run. */
export async function runAgent(
  services: RunServices,
  target: RunTarget,
  options: RunOptions,
  { depth = 0, onState }: { depth?: number; onState?: OnState } = {},
): Promise<RunResult> {
  const { engine, scope, settings, models, keeper } = services
  if (!services.isOn) throw new FeatureOff({ feature: 'agents', project: scope.project })
  const access = sessionAccess(engine, scope)
  const session = await sessionOf(services, target)
  const model = await models.choose(session, options)
  const { id: sessionId, conversationId, agentName: agent } = session
  const identity = { sessionId, conversationId, agent, model: model.name }
  const { message, isRepeated } = await storeRunMessage(services, session, options)
  const onWait = () => onState?.({ state: 'waiting', ...identity, ...(message && { messageId: message.id }) })
  if (isRepeated) onWait()
  if (options.supersedes) await keeper.stop(sessionId, 'superseded')
  const claim = await claimSession(services, session, {
    // A message stored by an earlier call with the same key may already be answered.
    trigger: isRepeated && options.once === undefined ? { messageId: message!.id } : options.trigger,
    signal: options.signal,
    waits: options.waits === true || message !== undefined,
    onWait,
  })
  try {
    // Read again under the lease, because the previous run may have changed it.
    let head = await access.head(sessionId)
    const trigger = message ?? (await findTrigger(engine, head, options.trigger))
    if (!message && settings.singleShot) head = await keepOnly(access, head, trigger)
    return await traced(engine, head, model, () =>
      runClaimedSession(services, {
        claim,
        head,
        trigger,
        model,
        options,
        delegate: (to, task, signal) => delegate(services, head, { to, task, model, options, signal, depth }),
        onStart: runId => onState?.({ state: 'running', runId, ...identity, messageId: trigger.id }),
      }),
    )
  } finally {
    await claim.release()
  }
}

/** Runs the other agent at once. Its last text is the result, unless it completes with another one. */
async function delegate(
  services: RunServices,
  { conversationId, agentName: from }: SessionHead,
  {
    to,
    task,
    model,
    options: { answerWithinMs, root },
    signal,
    depth,
  }: { to: string; task: string; model: Model; options: RunOptions; signal: AbortSignal; depth: number },
): Promise<{ outcome: string; result: string }> {
  if (depth >= maxDepth) {
    const result = `The work was delegated ${maxDepth} times already, the maximum. Do it yourself.`
    return { outcome: 'failed', result }
  }
  const { delegations } = services.team
  const { id, conversationId: childId } = await delegations.delegate(conversationId, { from, to, task }, undefined)
  const run = await runAgent(
    services,
    { conversationId: childId, agent: to },
    {
      model: services.settings.models[to] ?? model,
      signal,
      ...(answerWithinMs !== undefined && { answerWithinMs }),
      ...(root !== undefined && { root }),
    },
    { depth: depth + 1 },
  )
  if (run.completed === undefined) {
    const isDone = run.outcome === 'done'
    const outcome = isDone ? 'completed' : run.outcome === 'cancelled' ? 'aborted' : 'failed'
    await delegations.end(childId, { outcome, result: (isDone ? run.text : run.reason) || '(nothing)' }, undefined)
  }
  const { status, result = '' } = await delegations.get(conversationId, id)
  return { outcome: status, result }
}

function traced(
  { traced: withSpan }: Engine,
  head: SessionHead,
  model: Model,
  execute: () => Promise<RunResult>,
): Promise<RunResult> {
  if (!withSpan) return execute()
  const attributes = {
    'colloquy.project': head.project,
    'colloquy.conversation': head.conversationId,
    'colloquy.session': head.id,
    'colloquy.agent': head.agentName,
    'colloquy.model': model.name,
  }
  return withSpan('colloquy.run', attributes, async note => {
    const result = await execute()
    const { runId, outcome, steps, toolCalls, usage } = result
    note({ 'colloquy.run': runId, 'colloquy.outcome': outcome })
    note({ 'colloquy.steps': steps, 'colloquy.tool_calls': toolCalls })
    note({ 'gen_ai.usage.input_tokens': usage.input, 'gen_ai.usage.output_tokens': usage.output })
    return result
  })
}
