/** A conversation as turns: a request, and everything until the next one. */
import type { Message } from '../../../log/views/message.ts'

export interface Turn {
  /** Absent at the start of a range that begins in the middle of a turn. */
  request?: Message
  /** Messages after the request. */
  work: Message[]
  /** The range ends inside of it: more of it follows. */
  isCut?: boolean
}

/** `endsInsideTurn`: the messages behind the range belong to its last turn. */
export function turnsOf(messages: readonly Message[], endsInsideTurn = false): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    if (message.missing) continue
    if (isRequest(message)) turns.push({ request: message, work: [] })
    else if (turns.length > 0) turns.at(-1)!.work.push(message)
    else turns.push({ work: [message] })
  }
  const last = turns.at(-1)
  if (last && endsInsideTurn) last.isCut = true
  return turns
}

/** A user message that says something; those that only hand back tool results do not. */
function isRequest({ role, content }: Message): boolean {
  return role === 'user' && content.trim() !== ''
}
