/** Finds conversations and sessions, one by one or a page at a time. */
import type { HeadLists } from '../../common/query-dispatch.ts'
import type { Access } from '../access.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import { conversationLists } from './conversations.ts'
import { dueHeads } from './due-heads.ts'
import { sessionLists } from './sessions.ts'

export function directory({
  database,
  heads,
  reading,
}: { database: Database; heads: HeadStore } & Pick<Access, 'reading'>): HeadLists {
  const { conversations, workItems } = conversationLists({ database, heads })
  const sessions = sessionLists({ database, heads })
  return {
    conversation: (project, id) => reading(() => heads.conversation(project, id)?.head),
    conversationOf: (project, item) => reading(() => heads.conversationOf(project, item)?.head),
    conversations: query => reading(() => conversations(query)),
    workItems: query => reading(() => workItems(query)),
    session: (project, id) => reading(() => heads.session(project, id)?.head),
    sessionByKey: (project, key) => reading(() => heads.sessionByKey(project, key)?.head),
    sessions: query => reading(() => sessions(query)),
    ...dueHeads({ database, heads, reading }),
  }
}
