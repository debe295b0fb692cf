/** The conversations that a search looks in, as conditions of SQL on `c`, the conversation's row. */
import type { SearchedConversations } from '../../../log/search.ts'
import { workHash } from '../heads.ts'
import type { conditions } from '../read/conditions.ts'

/** Participants are found in the index, once it was fed. */
export function conversationConditions(
  { participant, agent, workItem, archived }: SearchedConversations,
  where: ReturnType<typeof conditions>['where'],
): void {
  if (participant !== undefined) {
    where(
      `exists (select 1 from docs p where p.project = c.project and p.conversation = c.conversation and p.author = ?)`,
      participant,
    )
  }
  if (agent !== undefined) {
    where(
      `exists (select 1 from sessions s where s.project = c.project and s.conversation = c.conversation and s.agent = ?)`,
      agent,
    )
  }
  if (workItem) where('c.work_key = ?', workHash(workItem))
  if (archived !== undefined) where(`(c.status = 'archived') = ?`, archived)
}
