/** Finds conversations and sessions, one by one or a page at a time. */
import type { Directory } from '../../../log/directory.ts'
import { maximumIdBytes } from '../../../log/events/id.ts'
import type { Access } from '../access.ts'
import type { Database } from '../database.ts'
import type { HeadStore } from '../heads.ts'
import { conversationLists } from './conversations.ts'
import { sessionLists } from './sessions.ts'

export type Lists = Omit<Directory, 'totals' | 'landmark'>

export function directory({ database, heads, reading }: { database: Database; heads: HeadStore } & Access): Lists {
  const { conversations, workItems } = conversationLists({ database, heads })
  const sessions = sessionLists({ database, heads })
  const projects = database.prepare(
    `select id from projects where length(cast(id as blob)) <= ${maximumIdBytes} order by id`,
  )
  return {
    conversation: (project, id) => reading(() => heads.conversation(project, id)?.head),
    conversationOf: (project, item) => reading(() => heads.conversationOf(project, item)?.head),
    conversations: query => reading(() => conversations(query)),
    workItems: query => reading(() => workItems(query)),
    session: (project, id) => reading(() => heads.session(project, id)?.head),
    sessionByKey: (project, key) => reading(() => heads.sessionByKey(project, key)?.head),
    sessions: query => reading(() => sessions(query)),
    projects: () => reading(() => (projects.all() as Array<[string]>).map(([id]) => id)),
  }
}
