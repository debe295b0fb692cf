/** The filters of a search for conversations, as conditions of SQL. */
import { workItemKey } from '../../../log/events/work-item.ts'
import type { SearchedConversations } from '../../../log/search.ts'
import type { Value } from '../statement.ts'

export type Where = (condition: string, ...values: Value[]) => void

/** Conditions that all must hold, and their values in order. */
export function conditions(): { where: Where; text(): string; values: Value[] } {
  const all: string[] = []
  const values: Value[] = []
  return {
    where(condition, ...more) {
      all.push(condition)
      values.push(...more)
    },
    text: () => all.join(' and '),
    values,
  }
}

/** Adds the conditions; `row` is the column with the number of the conversation. */
export function conversationConditions(
  { participant, agent, workItem, archived }: SearchedConversations,
  where: Where,
  row: string,
): void {
  if (participant !== undefined) {
    where(
      `exists (select 1 from participants p where p.conversation = ${row}
        and p.name = (select name from names where text = ?))`,
      participant,
    )
  }
  if (agent !== undefined) {
    where(`exists (select 1 from log.sessions s where s.conversation = ${row} and s.agent = ?)`, agent)
  }
  if (workItem) {
    where(`(select work_key from log.conversations w where w.conversation = ${row}) = ?`, workItemKey(workItem))
  }
  if (archived !== undefined) {
    where(`(select status = 'archived' from log.conversations a where a.conversation = ${row}) = ?`, archived ? 1 : 0)
  }
}
