/** Parts of queries over the events of a conversation. */
import { expiryEvent } from '../../../log/views/conversation.ts'

/** The position of a conversation's newest event, as an expression of SQL. */
export function newestPosition(conversation: string): string {
  return `(select position from events where conversation = ${conversation} order by version desc limit 1)`
}

/** The time of a conversation's last use, as an expression of SQL. */
export function lastUse(conversation: string): string {
  return `(select at from events where conversation = ${conversation} and type <> '${expiryEvent}'
    order by version desc limit 1)`
}

/** The events of conversation ?1 with versions from ?2 to ?3, as `e`. */
export function inVersionOrder(columns: string, direction: 'asc' | 'desc' = 'asc'): string {
  return `
    select ${columns} from events e
    where e.conversation = ?1 and e.version between ?2 and ?3 order by e.version ${direction}`
}
