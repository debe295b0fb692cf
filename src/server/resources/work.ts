/** Work items over HTTP. */
import type { WorkItemState } from '../../conversation/work/work-manager.ts'
import type { Handlers } from '../handler.ts'
import { demandWorkItem } from './work-item-query.ts'

export function workHandlers(): Handlers<'work'> {
  return {
    features: ({ colloquy, query }) => colloquy.work.listFeatures(query),
    addFeature: ({ colloquy, body, write }) => colloquy.work.addFeature(body, write),
    feature: ({ colloquy, params }) => colloquy.work.getFeature(params.featureId),
    describeFeature: ({ colloquy, params, body, write }) =>
      colloquy.work.describeFeature(params.featureId, body, write),
    moveFeature: ({ colloquy, params, body: { to, ...move }, write }) =>
      colloquy.work.moveFeature(params.featureId, to, move, write),
    graph: ({ colloquy, params }) => colloquy.work.graph(params.featureId),
    plan: ({ colloquy, params, body, write }) => colloquy.work.planTasks(params.featureId, body, write),
    tasks: async ({ colloquy, params, query }) => ({ items: await colloquy.work.listTasks(params.featureId, query) }),
    task: ({ colloquy, params }) => colloquy.work.getTask(params.featureId, params.taskId),
    moveTask: ({ colloquy, params, body: { to, ...move }, write }) =>
      colloquy.work.moveTask(params.featureId, params.taskId, to, move, write),
    beads: ({ colloquy, query }) => colloquy.work.listBeads(query),
    addBead: ({ colloquy, body, write }) => colloquy.work.addBead(body, write),
    bead: ({ colloquy, params }) => colloquy.work.getBead(params.beadId),
    describeBead: ({ colloquy, params, body, write }) => colloquy.work.describeBead(params.beadId, body, write),
    moveBead: ({ colloquy, params, body: { to, ...move }, write }) =>
      colloquy.work.moveBead(params.beadId, to, move, write),
    ready: async ({ colloquy, query }) => ({ items: await colloquy.work.ready(query) }),
    state: async ({ colloquy, query }) => shown(await colloquy.work.stateOf(demandWorkItem(query))),
    session: ({ colloquy, body: { item, agentType, agentName } }) =>
      colloquy.work.sessionOf(item, agentType, agentName),
    report: async ({ colloquy, body: { item, ...report }, write }) =>
      shown(await colloquy.work.report(item, report, write)),
    recordAttempt: async ({ colloquy, body: { item, ...attempt }, write }) =>
      shown(await colloquy.work.recordAttempt(item, attempt, write)),
    recordWorktree: async ({ colloquy, body: { item, ...worktree }, write }) =>
      shown(await colloquy.work.recordWorktree(item, worktree, write)),
    forgetWorktree: async ({ colloquy, body: { item, reason }, write }) =>
      shown(await colloquy.work.forgetWorktree(item, reason, write)),
  }
}

function shown({ item, conversationId, version, work }: WorkItemState) {
  return { item, ...(conversationId !== undefined && { conversationId }), version, work: work ? { ...work } : null }
}
