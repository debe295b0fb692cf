/** The port of full-text search over messages and fuzzy search over titles. No input is a syntax error. */
import { z } from 'zod'
import type { BranchPoint } from './events/conversation.ts'
import { Role } from './events/message.ts'
import { WorkItem } from './events/work-item.ts'
import { ConversationStatus } from './views/conversation.ts'
import type { Viewer } from './visibility.ts'

/** Which conversations to look in: those that pass all that is given. */
export interface SearchedConversations {
  /** This one. */
  conversationId?: string
  /** A message of it has this author. */
  participant?: string
  /** This agent has, or had, a session on it. */
  agent?: string
  /** It is about this. */
  workItem?: WorkItem
  /** Default: archived ones too. */
  archived?: boolean
}

export interface SearchQuery extends SearchedConversations {
  project: string
  /** The words that a person typed. Words are stemmed; "quoted words" stand together. */
  text: string
  /** The conversation to look in is a branch: what its parent says up to there is searched too. */
  branchOf?: BranchPoint
  author?: string
  role?: Role
  /** The phase the conversation was in when the message was written. */
  phase?: string
  /** Only messages before this version of the conversation. */
  before?: number
  /** ISO times, inclusive: a day alone is all of it, in UTC. */
  since?: string
  until?: string
  /** Default: the whole log. */
  viewer?: Viewer
  /** Default 20. */
  limit?: number
  offset?: number
}

export const SearchHit = z
  .object({
    conversationId: z.string(),
    title: z.string(),
    messageId: z.string(),
    version: z.int(),
    author: z.string(),
    role: Role,
    at: z.string(),
    archived: z.boolean(),
    /** The text around the match. */
    snippet: z.string(),
    /** The matched words in `snippet`: [start, end) pairs. */
    highlights: z.array(z.tuple([z.int(), z.int()]).readonly()).readonly(),
    /** Higher is better; comparable within one search only. */
    score: z.number(),
  })
  .meta({ id: 'SearchHit' })
export type SearchHit = z.infer<typeof SearchHit>

export const TitleHit = z
  .object({
    conversationId: z.string(),
    title: z.string(),
    status: ConversationStatus,
    workItem: WorkItem,
    /** 0 to 1: the likeness of title and query. */
    score: z.number(),
  })
  .meta({ id: 'TitleHit' })
export type TitleHit = z.infer<typeof TitleHit>

export interface TitleQuery extends SearchedConversations {
  project: string
  /**
   * The words that a person typed, mistakes included. Empty: every conversation that passes the filters, most recent first; without
   * any filter, none.
   */
  text: string
  /** The phase it is in now. */
  phase?: string
  /** ISO times, inclusive, as above: something happened in it not before, or it began not after. */
  since?: string
  until?: string
  /** Default 20. */
  limit?: number
  offset?: number
}

/** The queries of the port for stores. */
export type StoreSearch = ({ of: 'messages' } & SearchQuery) | ({ of: 'titles' } & TitleQuery)

export type SearchResult<Q extends StoreSearch> = Q['of'] extends 'messages' ? SearchHit[] : TitleHit[]

export interface Search {
  search(query: SearchQuery): Promise<SearchHit[]>
  /** Most alike first; as alike, most recent first. */
  searchTitles(query: TitleQuery): Promise<TitleHit[]>
}
