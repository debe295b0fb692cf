/** The desk of one run: every write goes through its session under its lease. */
import { readFile, stat } from 'node:fs/promises'
import { recordedMessage, type Scribe } from '../../conversation/access/prepare-message.ts'
import type { SessionRequests } from '../../conversation/sessions/session-requests.ts'
import type { Claim } from '../../conversation/turns/agent-views.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { addToSession } from '../../log/commands/message.ts'
import type { MessageInput } from '../../log/commands/message-input.ts'
import { endRun, startRun } from '../../log/commands/run.ts'
import { acknowledge, linkSession } from '../../log/commands/session.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { windowOf } from '../../log/windows.ts'
import { projectPath } from '../../request/context/project-path.ts'
import type { RunDesk } from './desk.ts'
import type { LiveChannel } from './live.ts'

/** The maximum size that providers accept. */
const largestImage = 5 * 1024 * 1024

/** Maximum number of messages returned, newest first. */
const mostMessages = 300

export function runDesk({
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
}): RunDesk {
  const { store } = engine
  const { project } = scope
  const { id: sessionId, conversationId, agentName: agent } = head
  const runId = engine.newId()
  const place = { project, conversationId, sessionId, runId, agent }

  /** The agent is recorded as the author of the run. */
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
    async started({ trigger }) {
      const resumes = head.run && head.run.trigger === trigger && head.run.outcome !== 'done' ? head.run.id : undefined
      await write(startRun({ sessionId, runId, agent, model, trigger, ...(resumes !== undefined && { resumes }) }))
    },
    async ended(ending) {
      await write(endRun({ sessionId, runId, agent, ...ending }), { isFenced: false })
    },
    async version() {
      return (await store.conversation(project, conversationId))!.version
    },
    request: ({ id: messageId, parts }, terms) =>
      requests.build(
        sessionId,
        { messageId },
        // What a tool gave back says little of what the person is after.
        { ...terms, model, ...(parts.some(part => part.type === 'tool-result') && { recall: false }) },
      ),
    async say({ acknowledges, ...said }) {
      const message: MessageInput = { ...said, ...(said.role === 'assistant' && { agentType: head.agentType }) }
      const add = addToSession(sessionId, await scribe.prepare(message))
      if (acknowledges === undefined) return recordedMessage(await write(add))
      const both: Decision = (heads, now) => [...add(heads, now), ...acknowledge(sessionId, acknowledges)(heads, now)]
      return recordedMessage(await write(both))
    },
    compact: ({ tokens, budget }) => requests.forceCompact(sessionId, { keep: { tokens }, budget }),
    async messagesAfter(version) {
      const now = (await store.session(project, sessionId))!
      const window = { ...windowOf(now), start: Math.max(now.windowStart, version), kept: [] }
      return store.messages(window, { limit: mostMessages })
    },
    outsideIds: async () => (await store.session(project, sessionId))!.outsideIds,
    async link(outsideIds) {
      for (const [system, outsideId] of Object.entries(outsideIds))
        await write(linkSession(sessionId, system, outsideId))
    },
    async image(path) {
      const found = root === undefined ? undefined : await projectPath(root, path)
      if (!found?.inside || found.kind !== 'file') return undefined
      const { size } = await stat(found.absolute)
      return size > largestImage ? undefined : readFile(found.absolute)
    },
    live: part => live.publish({ ...place, part }),
  }
}
