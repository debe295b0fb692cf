/** The operations that tools of a run may use, as its agent and on its session. */

import { recordedMessage, type Scribe } from '../../conversation/access/prepare-message.ts'
import type { SessionRequests } from '../../conversation/sessions/session-requests.ts'
import type { Questions } from '../../conversation/turns/questions.ts'
import type { Team } from '../../conversation/turns/team-parts.ts'
import type { Question } from '../../conversation/turns/turn-views.ts'
import { NotFound } from '../../errors.ts'
import { addToSession, pinMessage } from '../../log/commands/message.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { viewerOf } from '../../log/visibility.ts'
import { windowOf } from '../../log/windows.ts'
import type { ToolDesk } from '../tools/desk.ts'
import { planDesk } from './plan-desk.ts'

export function toolDesk({
  engine,
  scope,
  scribe,
  requests,
  team,
  questions,
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
  questions: Questions
  head: SessionHead
  /** The folder the tools work in. */
  root: string | undefined
  write: WriteOptions
  delegate: ToolDesk['delegate']
  onAsked: (question: Question) => void
}): ToolDesk {
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
    async pin(what) {
      const place = { conversation: { id: conversationId }, session: { id: sessionId }, asked: [], options: write }
      if ('version' in what) {
        const found = await message(what.version)
        if (!found) throw new NotFound('message', String(what.version))
        const decide = pinMessage(found.conversationId, { messageId: found.id, version: found.version, pinned: true })
        await engine.execute(scope, { ...place, decide })
        return found.version
      }
      const said = { role: 'assistant' as const, content: what.text, pinned: true }
      const decide = addToSession(sessionId, await scribe.prepare(said))
      return recordedMessage(await engine.execute(scope, { ...place, decide })).version
    },
    delegate,
    ...planDesk({ engine, scope, phases: team.settings.phases, workItem: head.workItem, write }),
    ask: (callId, { withinMs, choices, ...question }, signal) =>
      questions.ask(
        conversationId,
        { ...question, ...(choices && { choices: [...choices] }), sessionId, agent, callId, withinMs },
        { signal, onAsked, write },
      ),
  }
}
