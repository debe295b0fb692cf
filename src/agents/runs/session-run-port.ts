/** The port of one run. Every write goes through its session, under its lease. */
import { readFile, stat } from 'node:fs/promises'
import { recordedMessage, type Scribe } from '../../conversation/access/prepare-message.ts'
import type { SessionRequests } from '../../conversation/sessions/session-requests.ts'
import type { Claim } from '../../conversation/turns/agent-views.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { addToSession } from '../../log/commands/message.ts'
import { endRun, startRun } from '../../log/commands/run.ts'
import { linkSession } from '../../log/commands/session.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { windowOf } from '../../log/windows.ts'
import { projectPath } from '../../request/context/project-path.ts'
import type { LiveChannel } from './live-channel.ts'
import type { RunPort } from './run-port.ts'

/** The maximum size that providers accept. */
const maxImageBytes = 5 * 1024 * 1024

/** Maximum number of messages read; the newest ones. */
const maxMessages = 300

export function sessionRunPort({
  engine,
  scope,
  scribe,
  requests,
  claim,
  head,
  model,
  live,
  root,
}: {
  engine: Engine
  scope: Scope
  scribe: Scribe
  requests: SessionRequests
  claim: Pick<Claim, 'fence'>
  head: SessionHead
  model: string
  live: LiveChannel
  /** The work tree, if there is one. */
  root: string | undefined
}): RunPort {
  const { store } = engine
  const { project } = scope
  const { id: sessionId, conversationId, agentName: agent } = head
  const runId = engine.newId()
  const origin = { project, conversationId, sessionId, runId, agent }

  const write = (decide: Decision, { isFenced = true } = {}) =>
    engine.execute(
      { ...scope, actor: agent },
      {
        conversation: { id: conversationId },
        session: { id: sessionId },
        decide,
        asked: [],
        ...(isFenced && { options: { fence: claim.fence } }),
      },
    )

  return {
    runId,
    head,
    now: engine.clock,
    async recordStart({ trigger }) {
      const resumes = head.run && head.run.trigger === trigger && head.run.outcome !== 'done' ? head.run.id : undefined
      await write(startRun({ sessionId, runId, agent, model, trigger, ...(resumes !== undefined && { resumes }) }))
    },
    async recordEnd(end) {
      await write(endRun({ sessionId, runId, agent, ...end }), { isFenced: false })
    },
    async version() {
      return (await store.conversation(project, conversationId))!.version
    },
    request: ({ id: messageId, parts }, terms) =>
      requests.build(
        sessionId,
        { messageId },
        // Results of tools are poor search texts for recall.
        { ...terms, model, ...(parts.some(part => part.type === 'tool-result') && { recall: false }) },
      ),
    async addMessage({ acknowledges, ...message }) {
      const agentType = message.role === 'assistant' && { agentType: head.agentType }
      const prepared = await scribe.prepare({ ...message, ...agentType })
      return recordedMessage(await write(addToSession(sessionId, prepared, acknowledges)))
    },
    compact: ({ tokens, budget }) => requests.forceCompact(sessionId, { keep: { tokens }, budget }),
    async messagesAfter(version) {
      const current = (await store.session(project, sessionId))!
      const window = { ...windowOf(current), start: Math.max(current.windowStart, version), kept: [] }
      return store.messages(window, { limit: maxMessages })
    },
    outsideIds: async () => (await store.session(project, sessionId))!.outsideIds,
    async link(outsideIds) {
      for (const [system, outsideId] of Object.entries(outsideIds))
        await write(linkSession(sessionId, system, outsideId))
    },
    async image(path) {
      const file = root === undefined ? undefined : await projectPath(root, path)
      if (!file?.inside || file.kind !== 'file') return undefined
      const { size } = await stat(file.absolute)
      return size > maxImageBytes ? undefined : readFile(file.absolute)
    },
    live: part => live.publish({ ...origin, part }),
  }
}
