/** Projects: which there are, how much is in them, what was worked on, who did what, what it cost. */
import { z } from 'zod'
import { Id } from '../../log/events/id.ts'
import { Role } from '../../log/events/message.ts'
import { WorkItem, WorkItemType } from '../../log/events/work-item.ts'
import { SearchHit, TitleHit } from '../../log/search.ts'
import {
  api,
  inProject,
  Limit,
  listOf,
  Paging,
  Project,
  QueryFlag,
  QueryNumber,
  Time,
  WorkItemQuery,
} from './common.ts'
import { endpoint } from './endpoint.ts'
import { Conversation } from './shapes.ts'

const Spent = z.object({
  messages: z.int(),
  tokens: z.int(),
  input: z.int(),
  output: z.int(),
  /** In US dollars, of the calls whose price is known. */
  cost: z.number(),
  /** Calls that reported usage, and those of them whose price is unknown. */
  calls: z.int(),
  unpriced: z.int(),
})

export const projects = {
  list: endpoint({
    method: 'get',
    path: `${api}/projects`,
    scope: 'read',
    summary: 'Projects of the store that the token is valid for',
    answer: z.object({ items: z.array(z.object({ id: z.string() })) }),
  }),
  stats: endpoint({
    method: 'get',
    path: `${inProject}/stats`,
    scope: 'read',
    summary: 'Totals of the project',
    params: Project,
    answer: z.object({
      conversations: z.int(),
      sessions: z.int(),
      events: z.int(),
      compactions: z.int(),
      messages: z.int(),
      tokens: z.int(),
      input: z.int(),
      output: z.int(),
    }),
  }),
  totals: endpoint({
    method: 'get',
    path: `${inProject}/totals`,
    scope: 'read',
    summary: 'Tokens and cost by agent, model and conversation, as providers reported them; conversations in pages',
    params: Project,
    query: z.object(Paging),
    answer: z.object({
      project: Spent,
      agents: z.record(z.string(), Spent),
      models: z.record(z.string(), Spent),
      conversations: z.record(z.string(), Spent),
      next: z.string().optional(),
    }),
  }),
  audit: endpoint({
    method: 'get',
    path: `${inProject}/audit`,
    scope: 'read',
    summary:
      'Who did what, when and through what, newest first; a page may have few entries, or none, and still a next',
    params: Project,
    query: z.object({
      actor: Id.optional(),
      channel: Id.optional(),
      requestId: Id.optional(),
      type: Id.optional(),
      conversation: Id.optional(),
      since: Time.optional(),
      until: Time.optional(),
      ...Paging,
    }),
    answer: listOf(
      z.object({
        conversationId: z.string(),
        version: z.int(),
        at: z.string(),
        actor: z.string(),
        channel: z.string(),
        requestId: z.string().optional(),
        type: z.string(),
        sessionId: z.string().optional(),
      }),
    ),
  }),
  workItems: endpoint({
    method: 'get',
    path: `${inProject}/work-items`,
    scope: 'read',
    summary: 'Features, tasks, beads and threads with their conversations, most recently active first',
    params: Project,
    query: z.object({ type: WorkItemType.optional(), ...Paging }),
    answer: listOf(z.object({ workItem: WorkItem, conversationId: z.string(), title: z.string(), status: z.string() })),
  }),
  workItem: endpoint({
    method: 'get',
    path: `${inProject}/work-item`,
    scope: 'read',
    summary: 'The conversation of one work item, and the sessions that worked on it by state',
    params: Project,
    query: z.object({ ...WorkItemQuery, type: WorkItemType }),
    answer: z.object({
      workItem: WorkItem,
      conversation: Conversation.nullable(),
      states: z.record(z.string(), z.array(z.string())),
    }),
  }),
  search: endpoint({
    method: 'get',
    path: `${inProject}/search`,
    scope: 'read',
    summary: 'Messages by their words, conversations by their titles',
    params: Project,
    query: z.object({
      text: z.string().max(10_000),
      conversationId: Id.optional(),
      author: Id.optional(),
      role: Role.optional(),
      phase: Id.optional(),
      /** Only messages before this version; for one conversation. */
      before: QueryNumber.optional(),
      /** Conversations with a message by this name, or that this agent has a session, or about a work item. */
      participant: Id.optional(),
      agent: Id.optional(),
      ...WorkItemQuery,
      since: Time.optional(),
      until: Time.optional(),
      archived: QueryFlag.optional(),
      limit: Limit.optional(),
      offset: QueryNumber.optional(),
    }),
    answer: z.object({ messages: z.array(SearchHit), conversations: z.array(TitleHit) }),
  }),
}
