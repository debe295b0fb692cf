/** Teams over HTTP. */
import { InvalidRequest } from '../../errors.ts'
import type { Handlers } from '../handler.ts'
import { explained } from './explained-request.ts'

export function teamHandlers(): Handlers<'teams'> {
  return {
    view: ({ colloquy, params, body: { agent, ...options } }) =>
      colloquy.conversations.buildAgentMessages(params.conversationId, agent, options),
    async previewView({ colloquy, params, body: { agent, explain, ...options } }) {
      const view = await colloquy.conversations.previewAgentMessages(params.conversationId, agent, options)
      return explain ? explained(view) : view
    },
    acknowledge: ({ colloquy, params, body, write }) =>
      colloquy.conversations.acknowledge(params.conversationId, body.agent, body.upTo, write),
    async claim({ colloquy, params, body: { agent, ...options } }) {
      const { sessionId, fence, expiresAt } = await colloquy.conversations.claim(params.conversationId, agent, options)
      return { sessionId, fence, expiresAt }
    },
    async renewClaim({ colloquy, body }) {
      refuseOtherLeases(body.fence.name)
      return { expiresAt: await colloquy.conversations.renewClaim(body.fence, body.forMs) }
    },
    async releaseClaim({ colloquy, body }) {
      refuseOtherLeases(body.fence.name)
      await colloquy.conversations.releaseClaim(body.fence)
      return { released: true }
    },
    phase: ({ colloquy, params }) => colloquy.conversations.getPhase(params.conversationId),
    transition: ({ colloquy, params, body, write }) =>
      colloquy.conversations.transitionPhase(params.conversationId, body, write),
    phases: ({ colloquy, params, query }) => colloquy.conversations.getPhaseHistory(params.conversationId, query),
    turns: ({ colloquy, params, query }) => colloquy.conversations.getTurns(params.conversationId, query),
    startTurn: ({ colloquy, params, body, write }) =>
      colloquy.conversations.startOrchestratorTurn(params.conversationId, body, write),
    completeTurn: ({ colloquy, params, body, write }) =>
      colloquy.conversations.addCompletionToTurn(params.conversationId, body, write),
    failTurn: ({ colloquy, params, body, write }) =>
      colloquy.conversations.failTurn(params.conversationId, body.reason, write),
    undoTurn: ({ colloquy, params, body = {}, write }) =>
      colloquy.conversations.undoTurn(params.conversationId, body, write),
    routing: ({ colloquy, params, query }) =>
      colloquy.conversations.buildOrchestratorRoutingContext(params.conversationId, query),
    async clearLoop({ colloquy, params, body, write }) {
      await colloquy.conversations.clearLoop(params.conversationId, body?.reason, write)
      return { cleared: true }
    },
    async releaseRouting({ colloquy, params, body }) {
      await colloquy.conversations.releaseRouting(params.conversationId, body?.orchestrator)
      return { released: true }
    },
    delegations: async ({ colloquy, params }) => ({
      items: await colloquy.conversations.getDelegations(params.conversationId),
    }),
    delegate: ({ colloquy, params, body, write }) =>
      colloquy.conversations.delegate(params.conversationId, body, write),
    abortDelegation: ({ colloquy, params, body, write }) =>
      colloquy.conversations.abortDelegation(params.conversationId, params.delegationId, body.reason, write),
    completeDelegation: ({ colloquy, params, body, write }) =>
      colloquy.conversations.completeDelegation(params.conversationId, body, write),
    readFiles: ({ colloquy, params }) => colloquy.conversations.getReadFiles(params.conversationId),
    recordReadFile: async ({ colloquy, params, body, write }) => ({
      path: await colloquy.conversations.recordReadFile(params.conversationId, body, write),
    }),
    async mayWrite({ colloquy, params, query }) {
      const { may, path, reason } = await colloquy.conversations.mayWrite(
        params.conversationId,
        query.agent,
        query.path,
      )
      return { may, path, reason }
    },
    executionTime: ({ colloquy, params }) => colloquy.conversations.getExecutionTime(params.conversationId),
    startExecution: ({ colloquy, params, body, write }) =>
      colloquy.conversations.startExecution(params.conversationId, body.agent, write),
    stopExecution: ({ colloquy, params, body, write }) =>
      colloquy.conversations.stopExecution(params.conversationId, body, write),
  }
}

/** Sweeps, compactions and orchestrators hold leases, too; those are not for callers to give away. */
function refuseOtherLeases(name: string): void {
  if (!name.startsWith('run ')) {
    throw new InvalidRequest([{ field: 'body.fence.name', message: 'is not the fence of a claim' }])
  }
}
