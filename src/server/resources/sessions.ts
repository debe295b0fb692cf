/** Sessions over HTTP. */
import { InvalidRequest } from '../../errors.ts'
import type { Handlers } from '../handler.ts'
import { explained } from './explained-request.ts'
import { demandModel } from './model-choice.ts'
import { demandWorkItem, workItemIn } from './work-item-query.ts'

export function sessionHandlers(): Handlers<'sessions'> {
  return {
    list({ colloquy, query: { type, featureId, taskId, beadId, threadId, ...query } }) {
      const workItem = workItemIn({ type, featureId, taskId, beadId, threadId })
      return colloquy.sessions.listSessions({ ...query, ...(workItem && { workItem }) })
    },
    async active({ colloquy, query: { agentType, agentName, taskState, ...said } }) {
      const agent = { agentType, ...(agentName !== undefined && { agentName }) }
      const meant = demandWorkItem(said)
      const state = meant.type === 'task' && taskState !== undefined ? { taskState } : {}
      return (await colloquy.sessions.getActiveSession({ ...agent, ...meant, ...state })) ?? null
    },
    getOrCreate: ({ colloquy, query, body, write }) =>
      query.fresh ? colloquy.sessions.createSession(body, write) : colloquy.sessions.getOrCreateSession(body, write),
    get: ({ colloquy, params }) => colloquy.sessions.getSession(params.sessionId),
    setMetadata: ({ colloquy, params, body, write }) =>
      colloquy.sessions.setMetadata(params.sessionId, body.metadata, write),
    async delete({ colloquy, params, query, write }) {
      await colloquy.sessions.deleteSession(params.sessionId, query.reason, write)
      return { id: params.sessionId, status: 'deleted' }
    },
    async messages({ colloquy, params, query: { kind = 'all', limit = 100, ...page } }) {
      const { sessions } = colloquy
      const { sessionId } = params
      if (kind === 'talk') return { items: await sessions.getRecentContext(sessionId, limit) }
      if (kind === 'user-facing') return { items: await sessions.getUserFacingMessages(sessionId, { ...page, limit }) }
      return { items: await sessions.getAllMessages(sessionId, { ...page, limit }) }
    },
    addMessage: ({ colloquy, params, body, write }) => colloquy.sessions.addMessage(params.sessionId, body, write),
    clear: ({ colloquy, params, write }) => colloquy.sessions.clearMessages(params.sessionId, write),
    reset: ({ colloquy, params, body = {}, write }) => colloquy.sessions.resetSession(params.sessionId, body, write),
    archive: ({ colloquy, params, body, write }) =>
      colloquy.sessions.archiveSession(params.sessionId, body?.reason, write),
    expire: ({ colloquy, params, write }) => colloquy.sessions.expireSession(params.sessionId, write),
    reopen: ({ colloquy, params, write }) => colloquy.sessions.reopenSession(params.sessionId, write),
    configure({ colloquy, params, body, write, principal }) {
      if (typeof body.model === 'string') demandModel(principal, body.model, colloquy)
      return colloquy.sessions.setRequestSettings(params.sessionId, body, write)
    },
    link: ({ colloquy, params, body, write }) =>
      colloquy.sessions.setOutsideId(params.sessionId, params.system, body.id, write),
    context: async ({ colloquy, params }) => (await colloquy.sessions.getContext(params.sessionId)) ?? null,
    updateContext({ colloquy, params, body: { gatherProject = false, ...inputs }, server }) {
      const root = colloquy.project === server.colloquy.project ? server.settings.root : colloquy.root
      // Never a folder that the caller names: a token is no right to read the machine.
      if (gatherProject && root === undefined) {
        throw new InvalidRequest([{ field: 'body.gatherProject', message: 'this project has no folder here' }])
      }
      return colloquy.sessions.updateContext(params.sessionId, { ...inputs, ...(gatherProject && { root }) })
    },
    description: ({ colloquy, params }) => colloquy.sessions.getAgentDescription(params.sessionId),
    describe: ({ colloquy, params, body }) => colloquy.sessions.setAgentDescription(params.sessionId, body),
    checkpoint: async ({ colloquy, params }) => (await colloquy.sessions.getCheckpoint(params.sessionId)) ?? null,
    checkpoints: async ({ colloquy, params }) => ({
      items: await colloquy.sessions.getCheckpointHistory(params.sessionId),
    }),
    compareCheckpoints: ({ colloquy, params }) =>
      colloquy.sessions.diffCheckpoints(params.sessionId, params.first, params.second),
    async checkpointItem({ colloquy, params }) {
      const { sessionId, itemId } = params
      const found = await colloquy.sessions.getCheckpointItem(sessionId, itemId)
      return { ...found, messages: await colloquy.sessions.expand(sessionId, itemId) }
    },
    compact: ({ colloquy, params, body }) => colloquy.sessions.forceCompact(params.sessionId, body),
    request: ({ colloquy, params, body: { message, ...options } }) =>
      colloquy.sessions.buildRequest(params.sessionId, message, options),
    async preview({ colloquy, params, body: { message, explain, ...options } }) {
      const request = await colloquy.sessions.previewRequest(params.sessionId, message, options)
      return explain ? explained(request) : request
    },
    compacting: async ({ colloquy, params }) => ({
      items: await colloquy.sessions.getCompacting(params.conversationId),
    }),
    metrics: ({ colloquy, params }) => colloquy.sessions.getMetrics(params.sessionId),
  }
}
