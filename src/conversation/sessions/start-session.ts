/** Creates a session for an agent on a work item, with the conversation of the item if it has none yet. */

import { firstPhase } from '../../log/commands/phase.ts'
import type { PhaseSet } from '../../log/commands/phase-set.ts'
import type * as command from '../../log/commands/session.ts'
import { type RequestedSession, titleOf } from '../../log/commands/session-options.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import { type SessionHead, sessionKey } from '../../log/views/session.ts'
import { continuation } from '../access/heads-at.ts'
import type { Settings } from '../access/settings.ts'
import { sessionBefore } from './predecessor.ts'

export async function startSession(
  {
    engine,
    scope,
    settings,
    phases,
  }: {
    engine: Engine
    scope: Scope
    settings: Settings
    /** Phases of new conversations. */
    phases: PhaseSet | undefined
  },
  decide: typeof command.ensureSession,
  meant: RequestedSession,
  { asked, write }: { asked: readonly unknown[]; write: WriteOptions | undefined },
): Promise<SessionHead> {
  const { workItem, agentName, agentType, taskState, title, metadata } = meant
  const { newId, store } = engine
  // Only a thread can be a branch: features, tasks and beads have one conversation each.
  const conversation = workItem.type === 'thread' ? await store.conversationOf(scope.project, workItem) : undefined
  const continues = await continuation(store, conversation, agentName)
  const session: command.NewSession = {
    sessionId: newId(),
    agentName,
    agentType,
    ...(taskState !== undefined && { taskState }),
    sharing: meant.sharing ?? settings.sharing[workItem.type],
    expiresInMs: meant.expiresInMs === undefined ? settings.sessionExpiresInMs : meant.expiresInMs,
    before: await sessionBefore(store, scope.project, meant),
    ...(continues && { continues }),
    ...(metadata !== undefined && { metadata }),
  }
  const appended = await engine.execute(scope, {
    conversation: { id: newId(), workItem },
    session: { key: sessionKey(meant) },
    decide: decide(session, { title: title ?? titleOf(workItem), workItem, ...firstPhase(phases, undefined) }),
    options: write,
    asked,
  })
  return appended.session!
}
