/**
 * The room a task is worked on in: its log, its worktree, its agents, its checks. What the parts of the work on a task
 * (loop, review, landing) have in common, each over the same lease.
 */
import { join } from 'node:path'
import type { Session } from '../../conversation/access/session.ts'
import type { SessionManager } from '../../conversation/sessions/session-manager.ts'
import { NotFound } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { CheckResult } from '../../log/events/work/ralph.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { Model } from '../../models/model.ts'
import type { BuildSettings } from '../build-settings.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import type { LivePart } from '../runs/live-channel.ts'
import type { RunResult } from '../runs/run.ts'
import type { Tool } from '../tools/tool.ts'
import { runChecks } from './checks.ts'
import type { FeaturePlace } from './feature-worktree.ts'
import { type Check, findChecks } from './find-checks.ts'
import type { OnProgress } from './progress.ts'
import type { RalphTask } from './ralph-message.ts'

interface RoomParts {
  engine: Engine
  scope: Scope
  sessions: SessionManager
  agents: AgentManager
  settings: BuildSettings
  place: FeaturePlace
  task: RalphTask & { featureId: string; agent?: string }
  write: WriteOptions
  signal: AbortSignal
  /** Of all agents, where it is not as configured. */
  model: Model | string | undefined
  onProgress: OnProgress
  /** Told of what runs say, beside whoever looks on. */
  hears: (agent: string, part: LivePart) => void
}

export interface TaskRoom extends RoomParts {
  item: WorkItem
  head(): Promise<ConversationHead>
  session(agentType: string, taskState: string, agentName?: string): Promise<Session>
  /** Records about the task, as the agent whose session it is, under the lease of the work. */
  record(decide: (conversationId: string) => Decision, session?: Session): Promise<ConversationHead>
  run(
    session: Session,
    asked: { message: string; once: string; folder: string; fresh?: boolean; tools?: readonly Tool[] },
  ): Promise<RunResult>
  /** As configured, or by the files of the project, not of the worktree: who works on a task does not choose its checks. */
  checks(): Check[]
  check(folder: string): Promise<CheckResult[]>
}

export function taskRoom(parts: RoomParts, root: string): TaskRoom {
  const { engine, scope, sessions, agents, settings, task, write, signal, model, onProgress, hears } = parts
  const { featureId, taskId } = task
  const item: WorkItem = { type: 'task', featureId, taskId }

  async function head(): Promise<ConversationHead> {
    const found = await engine.store.conversationOf(scope.project, item)
    if (!found) throw new NotFound('task', taskId)
    return found
  }

  const checks = () => configuredChecks(settings) ?? findChecks(root).checks

  return {
    ...parts,
    item,
    head,
    session: (agentType, taskState, agentName = agentType) =>
      sessions.getOrCreateSession({
        ...{ type: 'task', featureId, taskId, taskState, agentType, agentName },
        title: task.title,
        // It lives as long as the work does, however long a person takes in between.
        expiresInMs: null,
      }),
    async record(decide, session) {
      const { info } = await head()
      const { conversation } = await engine.execute(
        { ...scope, ...(session && { actor: session.agentName }) },
        {
          conversation: { id: info.id },
          ...(session && { session: { id: session.id } }),
          decide: decide(info.id),
          asked: [],
          options: write,
        },
      )
      return conversation!
    },
    async run(session, { message, once, folder, fresh = false, tools = [] }) {
      await sessions.updateContext(session.id, { root: folder })
      return agents.run(session.id, {
        message: { role: 'user', content: message, author: 'harness' },
        once,
        fresh,
        tools,
        root: folder,
        signal,
        ...(model !== undefined && { model }),
        onPart(part) {
          onProgress({ type: 'run', taskId, agent: session.agentName, part })
          hears(session.agentName, part)
        },
      })
    },
    checks,
    check: folder =>
      runChecks(checks(), {
        folder,
        signal,
        timeMs: settings.checkMs,
        onStart: ({ name, command }) => onProgress({ type: 'check-start', taskId, name, command }),
        onEnd: check => onProgress({ type: 'check-end', taskId, check }),
      }),
  }
}

/** Where agents work in the worktree that merges are made in. */
export function mergeFolder({ mergePath, prefix }: FeaturePlace): string {
  return join(mergePath, prefix)
}

function configuredChecks({ checks }: BuildSettings): Check[] | undefined {
  return checks && Object.entries(checks).map(([name, command]) => ({ name, command }))
}
