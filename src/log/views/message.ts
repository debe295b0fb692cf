/** A message as callers see it: the event's content with its position in the log, and its text as one string. */
import { z } from 'zod'
import type { DamagedEvent, ErasedEvent, UnknownEvent } from '../events/event.ts'
import { MessageAdded } from '../events/message.ts'
import type { Part } from '../events/part.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'

export const Message = MessageAdded.omit({ type: true, messageId: true })
  .extend({
    id: z.string(),
    conversationId: z.string(),
    version: z.int(),
    /** ISO time. */
    timestamp: z.string(),
    /** The text parts, joined by blank lines. */
    content: z.string(),
    /**
     * Set when the content is unavailable: erased on request, damaged, or written by a newer program. Role, author and
     * audience are then placeholders. The event `message.erased` has the reason of an erasure.
     */
    missing: z.object({ because: z.enum(['erased', 'damaged', 'unknown']), reason: z.string() }).optional(),
  })
  .meta({ id: 'Message' })
export type Message = z.infer<typeof Message>

/** Fields of an event that a message names differently or does not have. */
const omittedFields: ReadonlySet<string> = new Set(['type', 'messageId'])

export function textOf(parts: readonly Part[]): string {
  if (parts.length === 1 && parts[0]?.type === 'text') return parts[0].text
  const texts: string[] = []
  for (const part of parts) if (part.type === 'text') texts.push(part.text)
  return texts.join('\n\n')
}

/**
 * Returns the message of a recorded event, or undefined for other events. `storedId` is used when the record has no id.
 */
export function messageOf(
  recorded: Pick<RecordedEvent, 'conversationId' | 'version' | 'at' | 'event'>,
  storedId = '',
): Message | undefined {
  const { event } = recorded
  const { conversationId, version, at: timestamp } = recorded
  const position = { conversationId, version, timestamp }
  if (event.type === 'message.added') {
    const message: Message & Record<string, unknown> = {
      id: event.messageId,
      ...position,
      role: event.role,
      author: event.author,
      audience: event.audience,
      parts: event.parts,
      tokens: event.tokens,
      content: textOf(event.parts),
    }
    // Copied field by field, because spreading the event costs more than reading its row.
    for (const field in event)
      if (!(field in message) && !omittedFields.has(field)) message[field] = event[field as keyof MessageAdded]
    return message
  }
  if ('storedType' in event && event.storedType === 'message.added') {
    return {
      id: ('messageId' in event ? event.messageId : undefined) ?? storedId,
      ...position,
      role: 'system',
      author: 'unknown',
      audience: { to: 'internal' },
      parts: [],
      tokens: { count: 0, by: 'none' },
      content: '',
      missing: { because: event.type, reason: reasonOf(event) },
    }
  }
  return undefined
}

function reasonOf(event: ErasedEvent | DamagedEvent | UnknownEvent): string {
  switch (event.type) {
    case 'erased':
      return 'its content was erased on request'
    case 'damaged':
      return event.reason
    case 'unknown':
      return `it was written by a newer version (schema ${event.storedSchema})`
  }
}
