/**
 * The context of work on a task: its log, worktree, agents and checks, under one lease. Shared by the loop, the review and
 * the landing.
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
import type { FeatureWorktree } from './feature-worktree.ts'
import { type Check, findChecks } from './find-checks.ts'
import type { OnProgress } from './progress.ts'
import type { RalphTask } from './ralph-message.ts'

interface TaskParts {
  engine: Engine
  scope: Scope
  sessions: SessionManager
  agents: AgentManager
  settings: BuildSettings
  worktree: FeatureWorktree
  task: RalphTask & { featureId: string; agent?: string }
  write: WriteOptions
  signal: AbortSignal
  /** Model of all agents, instead of the configured ones. */
  model: Model | string | undefined
  onProgress: OnProgress
  /** Receives each part of a run, as `onProgress` does. */
  onRunPart: (agent: string, part: LivePart) => void
}

export interface TaskContext extends TaskParts {
  item: WorkItem
  head(): Promise<ConversationHead>
  session(agentType: string, taskState: string, agentName?: string): Promise<Session>
  /** Writes an event about the task under its lease, as the agent of the session. */
  record(decide: (conversationId: string) => Decision, session?: Session): Promise<ConversationHead>
  run(
    session: Session,
    input: { message: string; once: string; folder: string; fresh?: boolean; tools?: readonly Tool[] },
  ): Promise<RunResult>
  /** Lists the checks of the settings or of the project's files. Those of the worktree do not count: agents can edit them. */
  checks(): Check[]
  check(folder: string): Promise<CheckResult[]>
}

export function taskContext(parts: TaskParts, root: string): TaskContext {
  const { engine, scope, sessions, agents, settings, task, write, signal, model, onProgress, onRunPart } = parts
  const { featureId, taskId } = task
  const item: WorkItem = { type: 'task', featureId, taskId }

  async function head(): Promise<ConversationHead> {
    const conversation = await engine.store.conversationOf(scope.project, item)
    if (!conversation) throw new NotFound('task', taskId)
    return conversation
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
        // The session must not expire while a person takes long to answer.
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
          onRunPart(session.agentName, part)
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

/** Folder of agents in the worktree of merges. */
export function mergeFolder({ mergePath, prefix }: FeatureWorktree): string {
  return join(mergePath, prefix)
}

function configuredChecks({ checks }: BuildSettings): Check[] | undefined {
  return checks && Object.entries(checks).map(([name, command]) => ({ name, command }))
}
