/** Projects over HTTP. */
import { InvalidRequest } from '../../errors.ts'
import { WorkItem } from '../../index.ts'
import { auditPage } from '../audit.ts'
import type { Handlers } from '../handler.ts'
import { usageTotals } from '../usage-totals.ts'

export function projectHandlers(): Handlers<'projects'> {
  const totals = usageTotals()
  return {
    async list({ colloquy, principal }) {
      const { projects } = principal
      const all = await colloquy.projects()
      const visible = projects === 'all' ? all : all.filter(project => projects.includes(project))
      return { items: visible.map(id => ({ id })) }
    },
    stats: ({ colloquy }) => colloquy.stats(),
    totals: ({ colloquy }) => totals(colloquy),
    audit: ({ colloquy, query }) => auditPage(colloquy, query),
    async workItems({ colloquy, query }) {
      const { items, next } = await colloquy.conversations.listConversations(query)
      return {
        items: items.map(({ workItem, id, title, status }) => ({ workItem, conversationId: id, title, status })),
        ...(next !== undefined && { next }),
      }
    },
    async workItem({ colloquy, query }) {
      const meant = WorkItem.safeParse(query)
      if (!meant.success) {
        const errors = meant.error.issues.map(({ path, message }) => ({ field: `query.${path.join('.')}`, message }))
        throw new InvalidRequest(errors)
      }
      const workItem = meant.data
      const conversation = await colloquy.conversations.findConversation(workItem)
      const { states } = await colloquy.sessions.getSessionLinks(workItem)
      return { workItem, conversation: conversation ?? null, states }
    },
    search: ({ colloquy, query }) => colloquy.conversations.search(query),
  }
}
