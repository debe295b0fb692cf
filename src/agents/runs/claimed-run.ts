/** Runs an agent on a session that is claimed for it: connects the run and its tools to the session, under its lease. */
import type { Claim } from '../../conversation/turns/agent-views.ts'
import { questionOfCall } from '../../log/commands/question.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { Model } from '../../models/model.ts'
import { builtInTools, workTreeTools } from '../tools/index.ts'
import type { Tool, ToolLimits } from '../tools/tool.ts'
import type { ToolPort } from '../tools/tool-port.ts'
import type { LiveUpdate } from './live-channel.ts'
import { type RunResult, run } from './run.ts'
import type { RunOptions } from './run-options.ts'
import type { RunServices } from './run-services.ts'
import { conversationOf } from './session-claim.ts'
import { sessionRunPort } from './session-run-port.ts'
import { sessionToolPort } from './session-tool-port.ts'

interface ClaimedRun {
  claim: Claim
  head: SessionHead
  trigger: Message
  model: Model
  options: RunOptions
  delegate: ToolPort['delegate']
  onStart: (runId: string) => void
}

export async function runClaimedSession(
  services: RunServices,
  { claim, head, trigger, model, options, delegate, onStart }: ClaimedRun,
): Promise<RunResult> {
  const { scope, settings, keeper, team } = services
  const { id: sessionId, conversationId, agentName: agent, agentType } = head
  const { root = services.root } = options
  const kept = keeper.keep(sessionId, claim, { leaseMs: settings.leaseMs, signal: options.signal })
  try {
    const port = sessionRunPort({ ...services, claim, head, model: model.name, root })
    const publish = (part: LiveUpdate['part']) => {
      port.live(part)
      if (part.type === 'run-start') onStart(port.runId)
      options.onPart?.(part)
    }
    const toolPort = sessionToolPort({
      ...services,
      scope: { ...scope, actor: agent },
      head,
      root,
      write: { fence: claim.fence },
      delegate,
      onAsked: ({ id: questionId, kind, text, choices }) =>
        publish({ type: 'question', questionId, kind, text, ...(choices && { choices }) }),
    })
    const limits = toolLimits(services, agentType, options)
    const result = await run(
      { ...port, live: publish },
      {
        trigger,
        model,
        tools: await toolsFor(services, head, { additional: options.tools, root }),
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
            limits: { ...limits, characters: Math.min(characters, limits.characters) },
            port: toolPort,
          }),
          waits: async (callId, asking) => {
            const { info } = await conversationOf(services, conversationId)
            const question = questionOfCall(info, { sessionId, callId: callKey(callId, asking) })
            return question !== undefined && !question.taken
          },
        },
      },
    )
    const { completed } = result
    if (completed !== undefined) {
      const { info } = await conversationOf(services, conversationId)
      const isOpenDelegation = info.delegated && info.delegated.outcome === undefined
      if (isOpenDelegation) await team.delegations.end(conversationId, { result: completed }, undefined)
    }
    return result
  } finally {
    kept.end()
  }
}

/** Providers may reuse ids of calls, so the message is part of the key. */
function callKey(callId: string, asking: Message): string {
  return `${asking.id} ${callId}`
}

function toolLimits(
  { settings: { limits, commands } }: RunServices,
  agentType: string,
  { answerWithinMs = limits.answerWithinMs }: RunOptions,
): ToolLimits {
  return { ...limits, answerWithinMs, commands: [...(commands['*'] ?? []), ...(commands[agentType] ?? [])] }
}

/** Returns the tools that the agent's description allows, those of MCP servers, and the run's own. */
async function toolsFor(
  { requests, settings, mcp }: RunServices,
  { id, agentType }: SessionHead,
  { additional = [], root }: { additional: readonly Tool[] | undefined; root: string | undefined },
): Promise<Tool[]> {
  const { allowedTools } = await requests.contexts.description(id)
  const builtIn = root === undefined ? builtInTools.filter(({ name }) => !workTreeTools.has(name)) : builtInTools
  const isAllowed = ({ name }: Tool) => allowedTools.includes(name) || allowedTools.includes('*')
  const allowed = [...builtIn, ...settings.tools].filter(isAllowed)
  return [...allowed, ...((await mcp?.toolsFor(agentType)) ?? []), ...additional]
}
