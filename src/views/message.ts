/** A message as callers see it: the event's content with its place in the log, and its text in one string. */
import type { MessageAdded } from '../events/message.ts'
import type { Part } from '../events/part.ts'
import type { RecordedEvent } from '../events/recorded.ts'

export interface Message extends Omit<MessageAdded, 'type' | 'messageId'> {
  id: string
  conversationId: string
  version: number
  /** ISO time. */
  timestamp: string
  /** The text parts, joined by blank lines. */
  content: string
  /** Set when the content is not what was said: it was erased on demand, or its record is damaged. */
  missing?: { because: 'erased' | 'damaged'; reason: string }
}

export function textOf(parts: readonly Part[]): string {
  if (parts.length === 1 && parts[0]?.type === 'text') return parts[0].text
  const texts: string[] = []
  for (const part of parts) if (part.type === 'text') texts.push(part.text)
  return texts.join('\n\n')
}

/** The message a recorded event is, or undefined if it is none. */
export function messageOf(
  recorded: Pick<RecordedEvent, 'conversationId' | 'version' | 'at' | 'event'>,
): Message | undefined {
  const { event } = recorded
  const place = {
    conversationId: recorded.conversationId,
    version: recorded.version,
    timestamp: recorded.at,
  }
  if (event.type === 'message.added') {
    const { type: _, messageId, ...said } = event
    return { id: messageId, ...place, ...said, content: textOf(event.parts) }
  }
  if ((event.type === 'erased' || event.type === 'damaged') && event.storedType === 'message.added') {
    return {
      id: event.messageId ?? '',
      ...place,
      role: 'system',
      author: 'unknown',
      audience: { to: 'internal' },
      parts: [],
      tokens: { count: 0, by: 'none' },
      content: '',
      missing:
        event.type === 'erased'
          ? { because: 'erased', reason: 'its content was erased on demand' }
          : { because: 'damaged', reason: event.reason },
    }
  }
  return undefined
}
