/** Finds conversations and sessions, one by one or a page at a time. */
import type { HeadLists } from '../../common/query-dispatch.ts'
import type { Database } from '../database.ts'
import type { Projects } from '../projects.ts'
import { conversationDirectory } from './conversations.ts'
import { dueHeads } from './due-heads.ts'
import { sessionDirectory } from './sessions.ts'

export function directory(parts: { database: Database; projects: Projects }): HeadLists {
  const heads = { ...conversationDirectory(parts), ...sessionDirectory(parts) }
  return { ...heads, ...dueHeads({ ...parts, heads }) }
}
