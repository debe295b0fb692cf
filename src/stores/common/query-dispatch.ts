/** Answers the queries of the port for heads and for searches by the list that serves each of them. */
import type { Directory, Listed } from '../../log/directory.ts'
import type { ConversationHeadQuery, HeadPage, HeadQuery, SessionHeadQuery } from '../../log/head-query.ts'
import type { Search, SearchResult, StoreSearch } from '../../log/search.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { SessionHead } from '../../log/views/session.ts'

export interface PageOf {
  limit: number
  cursor?: string
}

/** The lists that a store has for its heads. */
export interface HeadLists
  extends Pick<
    Directory,
    'conversation' | 'conversationOf' | 'conversations' | 'workItems' | 'session' | 'sessionByKey' | 'sessions'
  > {
  due(project: string, dueAt: number, page: PageOf): Promise<Listed<ConversationHead>>
  expired(project: string, expiredAt: number, page: PageOf): Promise<Listed<SessionHead>>
}

const defaultLimit = 50

export function headQueries(lists: HeadLists): <Q extends HeadQuery>(query: Q) => Promise<HeadPage<Q>> {
  return async <Q extends HeadQuery>(query: Q) =>
    (query.of === 'sessions' ? await sessionsOf(lists, query) : await conversationsOf(lists, query)) as HeadPage<Q>
}

async function conversationsOf(lists: HeadLists, whole: ConversationHeadQuery): Promise<Listed<ConversationHead>> {
  const { of: _, id, workItem, work, dueAt, ...query } = whole
  const { project, type: __, branchesOf: ___, ...page } = query
  if ('id' in whole) return only(isId(id) ? await lists.conversation(project, id) : undefined)
  if (workItem) return only(await lists.conversationOf(project, workItem))
  if (dueAt !== undefined) return lists.due(project, dueAt, pageOf(query))
  if (work) return lists.workItems({ project, ...page, ...work })
  return lists.conversations(query)
}

async function sessionsOf(lists: HeadLists, whole: SessionHeadQuery): Promise<Listed<SessionHead>> {
  const { of: _, id, key, expiredAt, ...query } = whole
  const { project } = query
  if ('id' in whole) return only(isId(id) ? await lists.session(project, id) : undefined)
  if ('key' in whole) return only(isId(key) ? await lists.sessionByKey(project, key) : undefined)
  if (expiredAt !== undefined) return lists.expired(project, expiredAt, pageOf(query))
  return lists.sessions(query)
}

/** An id that is no text finds nothing; without this, one that is undefined would find the first of all. */
function isId(id: unknown): id is string {
  return typeof id === 'string'
}

function pageOf({ limit = defaultLimit, cursor }: { limit?: number; cursor?: string }): PageOf {
  return { limit, ...(cursor !== undefined && { cursor }) }
}

function only<T>(head: T | undefined): Listed<T> {
  return { items: head === undefined ? [] : [head] }
}

export function searchQueries({
  search,
  searchTitles,
}: Search): <Q extends StoreSearch>(query: Q) => Promise<SearchResult<Q>> {
  return async <Q extends StoreSearch>(query: Q) =>
    (query.of === 'titles' ? await searchTitles(query) : await search(query)) as SearchResult<Q>
}
