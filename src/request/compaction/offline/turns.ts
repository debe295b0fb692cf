/** A conversation as turns: what somebody asked, and all that was said and done about it until the next question. */
import type { Message } from '../../../log/views/message.ts'

export interface Turn {
  /** Absent at the start of a range that begins in the middle of a turn. */
  request?: Message
  /** What followed, the request itself not included. */
  work: Message[]
}

export function turnsOf(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    if (message.missing) continue
    if (isRequest(message)) turns.push({ request: message, work: [] })
    else if (turns.length > 0) turns.at(-1)!.work.push(message)
    else turns.push({ work: [message] })
  }
  return turns
}

/** A user message that says something; those that only hand back tool results do not. */
function isRequest({ role, content }: Message): boolean {
  return role === 'user' && content.trim() !== ''
}
