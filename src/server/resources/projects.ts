/** Projects over HTTP. */
import type { Handlers } from '../handler.ts'
import { demandWorkItem, workItemIn } from './work-item-query.ts'

export function projectHandlers(): Handlers<'projects'> {
  return {
    async list({ colloquy, principal }) {
      const { projects } = principal
      const all = await colloquy.projects()
      const visible = projects === 'all' ? all : all.filter(project => projects.includes(project))
      return { items: visible.map(id => ({ id })) }
    },
    stats: ({ colloquy }) => colloquy.stats(),
    totals: ({ colloquy, query }) => colloquy.totals(query),
    audit: ({ colloquy, query: { conversation, ...query } }) =>
      colloquy.audit({ ...query, ...(conversation !== undefined && { conversationId: conversation }) }),
    async workItems({ colloquy, query }) {
      const { items, next } = await colloquy.conversations.listConversations(query)
      return {
        items: items.map(({ workItem, id, title, status }) => ({ workItem, conversationId: id, title, status })),
        ...(next !== undefined && { next }),
      }
    },
    async workItem({ colloquy, query }) {
      const workItem = demandWorkItem(query)
      const conversation = await colloquy.conversations.findConversation(workItem)
      const { states } = await colloquy.sessions.getSessionLinks(workItem)
      return { workItem, conversation: conversation ?? null, states }
    },
    search({ colloquy, query: { type, featureId, taskId, beadId, threadId, ...query } }) {
      const workItem = workItemIn({ type, featureId, taskId, beadId, threadId })
      return colloquy.conversations.search({ ...query, ...(workItem && { workItem }) })
    },
  }
}
