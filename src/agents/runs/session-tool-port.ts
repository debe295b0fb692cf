/** The port of the tools of one run: they act as its agent, on its session. */

import { recordedMessage, type Scribe } from '../../conversation/access/prepare-message.ts'
import type { SessionRequests } from '../../conversation/sessions/session-requests.ts'
import type { Team } from '../../conversation/turns/team-parts.ts'
import type { Question } from '../../conversation/turns/turn-views.ts'
import { NotFound } from '../../errors.ts'
import { addToSession, pinMessage } from '../../log/commands/message.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { viewerOf } from '../../log/visibility.ts'
import { windowOf } from '../../log/windows.ts'
import type { ToolPort } from '../tools/tool-port.ts'
import { planPort } from './plan-port.ts'

export function sessionToolPort({
  engine,
  scope,
  scribe,
  requests,
  team,
  head,
  root,
  write,
  delegate,
  onAsked,
}: {
  engine: Engine
  scope: Scope
  scribe: Scribe
  requests: SessionRequests
  team: Team
  head: SessionHead
  /** The folder the tools work in. */
  root: string | undefined
  write: WriteOptions
  delegate: ToolPort['delegate']
  onAsked: (question: Question) => void
}): ToolPort {
  const { store } = engine
  const { project } = scope
  const { id: sessionId, conversationId, agentName: agent } = head

  const files = team.files.in(root)

  async function message(version: number): Promise<Message | undefined> {
    const window = { ...windowOf(head), start: Number.MAX_SAFE_INTEGER, kept: [version] }
    return (await store.messages(window, { limit: 1 }))[0]
  }

  return {
    recordRead: path => files.record(conversationId, { agent, path }, write),
    mayWrite: path => files.mayWrite(conversationId, agent, path),
    recall: (text, limit) =>
      store.search({
        project,
        conversationId,
        text,
        viewer: viewerOf(head),
        ...(head.branchOf && { branchOf: head.branchOf }),
        limit,
      }),
    expand: item => requests.checkpoints.expand(sessionId, item),
    message,
    async pin(target) {
      const place = { conversation: { id: conversationId }, session: { id: sessionId }, asked: [], options: write }
      if ('version' in target) {
        const stored = await message(target.version)
        if (!stored) throw new NotFound('message', String(target.version))
        const { id: messageId, version } = stored
        const decide = pinMessage(stored.conversationId, { messageId, version, pinned: true })
        await engine.execute(scope, { ...place, decide })
        return version
      }
      const note = { role: 'assistant' as const, content: target.text, pinned: true }
      const decide = addToSession(sessionId, await scribe.prepare(note))
      return recordedMessage(await engine.execute(scope, { ...place, decide })).version
    },
    delegate,
    ...planPort({ engine, scope, phases: team.settings.phases, workItem: head.workItem, write }),
    ask: (callId, { withinMs, choices, ...question }, signal) =>
      team.questions.ask(
        conversationId,
        { ...question, ...(choices && { choices: [...choices] }), sessionId, agent, callId, withinMs },
        { signal, onAsked, write },
      ),
  }
}
