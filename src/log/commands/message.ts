/** Checks messages of callers, and decides the events that record them. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { ContentTooLarge, InvalidInput } from '../../errors.ts'
import { type Audience, everyone } from '../events/audience.ts'
import type { ConversationEvent } from '../events/event.ts'
import { Id } from '../events/id.ts'
import type { MessageAdded, TokenCount } from '../events/message.ts'
import type { Metadata } from '../events/metadata.ts'
import type { Part } from '../events/part.ts'
import type { ConversationHead } from '../views/conversation.ts'
import type { SessionHead } from '../views/session.ts'
import { type Decision, openConversationIn, openSessionIn } from './decision.ts'
import { parseInput } from './input.ts'
import { jsonCopy } from './json.ts'
import { MessageInput, Tokens } from './message-input.ts'
import { withoutUndefined } from './omit-undefined.ts'
import { acknowledged } from './session.ts'
import { completionIn } from './turn.ts'

/** A message that passed every check, before its tokens are counted. */
export type CheckedMessage = Omit<
  MessageAdded,
  'type' | 'messageId' | 'author' | 'audience' | 'tokens' | 'sessionId' | 'resolves'
> & {
  author?: string
  audience?: Audience
}

/** Fields that dagent's callers put into `metadata`. Values of other types stay free metadata. */
const KnownMetadata = z.object({
  agentType: Id.optional().catch(undefined),
  featureId: Id.optional().catch(undefined),
  taskId: Id.optional().catch(undefined),
  iteration: z.int().nonnegative().optional().catch(undefined),
  internal: z.boolean().optional().catch(undefined),
  tokens: z.object({ input: Tokens, output: Tokens }).optional().catch(undefined),
  toolUse: z
    .object({ name: z.string().min(1), input: z.unknown().optional(), result: z.unknown().optional() })
    .optional()
    .catch(undefined),
})

/** Checks a caller's message. `callId` is the id of a tool call given as `metadata.toolUse`, which has none. */
export function checkMessage(input: MessageInput, limits: { maxMessageBytes: number; callId: string }): CheckedMessage {
  const { content, parts: partsInput = [], metadata: _, envelope, ...fields } = parseInput(MessageInput, input)
  // From the input itself: the schema's copy lacks a key called `__proto__`.
  const { known, free } = splitMetadata(input)
  const { tokens, toolUse, ...knownFields } = known
  const text: Part[] = content === undefined || content === '' ? [] : [{ type: 'text', text: content }]
  const parts = [...text, ...partsInput.map(plainPart)]
  if (toolUse) parts.push(...toolParts(toolUse, limits.callId))
  if (!parts.some(part => !('text' in part) || part.text !== '' || part.type === 'file')) {
    throw new InvalidInput('content', 'must not be empty: give content, or at least one part')
  }
  const checked = withoutUndefined({
    ...knownFields,
    ...fields,
    parts,
    usage: fields.usage ?? tokens,
    metadata: free,
    envelope: envelope === undefined ? undefined : jsonCopy(envelope, 'envelope'),
  }) as CheckedMessage
  refuseOversize(checked, limits.maxMessageBytes)
  return checked
}

/**
 * Splits metadata into known fields and free metadata. A field that the message also has itself, or a value with
 * additional keys, stays free.
 */
function splitMetadata({ metadata, ...message }: MessageInput): {
  known: z.output<typeof KnownMetadata>
  free: Metadata | undefined
} {
  if (metadata === undefined) return { known: {}, free: undefined }
  const { tokens, ...fields } = KnownMetadata.parse(metadata)
  const known = withoutUndefined({
    ...Object.fromEntries(Object.entries(fields).filter(([key]) => message[key as keyof typeof message] === undefined)),
    ...(message.usage === undefined && { tokens }),
  })
  const free = jsonCopy(metadata, 'metadata') as Metadata
  for (const [key, value] of Object.entries(known)) {
    if (isDeepStrictEqual(jsonCopy(value, 'metadata'), free[key])) delete free[key]
  }
  return { known, free: Object.keys(free).length > 0 ? free : undefined }
}

function plainPart(part: Part, index: number): Part {
  if (part.type === 'tool-call') return { ...part, input: jsonCopy(part.input ?? null, `parts.${index}.input`) }
  if (part.type === 'tool-result') return { ...part, output: jsonCopy(part.output ?? null, `parts.${index}.output`) }
  return part
}

function toolParts(toolUse: { name: string; input?: unknown; result?: unknown }, callId: string): Part[] {
  const { name, input, result } = toolUse
  const call: Part = { type: 'tool-call', callId, name, input: jsonCopy(input ?? {}, 'metadata.toolUse.input') }
  if (result === undefined) return [call]
  return [call, { type: 'tool-result', callId, name, output: jsonCopy(result, 'metadata.toolUse.result') }]
}

function refuseOversize(message: CheckedMessage, limit: number): void {
  const { parts } = message
  let bytes = 0
  for (const part of parts) bytes += Buffer.byteLength(part.type === 'text' ? part.text : JSON.stringify(part))
  if (message.metadata) bytes += Buffer.byteLength(JSON.stringify(message.metadata))
  if (message.envelope !== undefined) bytes += Buffer.byteLength(JSON.stringify(message.envelope))
  if (bytes > limit) throw new ContentTooLarge({ bytes, limit })
}

/** A checked message with its id and token count. */
export interface PreparedMessage {
  message: CheckedMessage
  messageId: string
  tokens: TokenCount
}

/** Adds a message through a session. */
export function addToSession(sessionId: string, prepared: PreparedMessage, acknowledges?: number): Decision {
  return addAllToSession(sessionId, [prepared], acknowledges)
}

/**
 * Adds messages through a session, in order, all of them or none. The words of its agent acknowledge what the agent was
 * sent: up to `acknowledges`, or up to the newest request of a session that has a cursor.
 */
export function addAllToSession(
  sessionId: string,
  messages: readonly PreparedMessage[],
  acknowledges?: number,
): Decision {
  return (heads, now) => {
    const session = openSessionIn(heads, sessionId, now)
    const conversation = openConversationIn(heads, session.conversationId)
    const events: ConversationEvent[] = []
    for (const { message, messageId, tokens } of messages) {
      const added: MessageAdded = {
        type: 'message.added',
        messageId,
        ...message,
        author: message.author ?? (message.role === 'assistant' ? session.agentName : message.role),
        audience: message.audience ?? audienceOf(session),
        tokens,
        sessionId,
      }
      const head = { ...conversation, version: conversation.version + events.length }
      const isCompleted = events.some(event => event.type === 'completion.recorded')
      events.push(...(isCompleted ? withPin(head.version, added) : withConsequences(head, added)))
    }
    const isAnswer = events.some(event => event.type === 'message.added' && isWordOf(session, event))
    const upTo = acknowledges ?? (isAnswer ? sentUpTo(session) : undefined)
    return upTo === undefined ? events : [...events, ...acknowledged(heads, session, upTo)]
  }
}

function isWordOf({ agentName }: SessionHead, { role, author }: MessageAdded): boolean {
  return role === 'assistant' && author === agentName
}

/** An agent that never acknowledged anything has no cursor: everything is history to it. */
function sentUpTo({ acknowledged: cursor, lastRequest }: SessionHead): number | undefined {
  return cursor === undefined ? undefined : lastRequest?.upTo
}

/** Adds a message outside any session. */
export function addToConversation(conversationId: string, message: PreparedMessage): Decision {
  return heads => {
    const conversation = openConversationIn(heads, conversationId)
    return withConsequences(conversation, messageOutsideSessions(message))
  }
}

/** A message may also pin itself, or complete the open turn. */
function withConsequences(conversation: ConversationHead, message: MessageAdded): ConversationEvent[] {
  return [...withPin(conversation.version, message), ...completionIn(conversation, message)]
}

/** Returns the events of the first message, which follows `conversation.created`. */
export function firstMessage(message: PreparedMessage): ConversationEvent[] {
  return withPin(1, messageOutsideSessions(message))
}

/** A pin is an event of its own, so that the head lists pins without reading messages. */
function withPin(newest: number, message: MessageAdded): ConversationEvent[] {
  if (!message.pinned) return [message]
  return [message, { type: 'message.pinned', messageId: message.messageId, version: newest + 1, pinned: true }]
}

/** A message outside any session is for everyone by default. */
export function messageOutsideSessions({ message, messageId, tokens }: PreparedMessage): MessageAdded {
  const { author = message.role, audience = everyone } = message
  return { type: 'message.added', messageId, ...message, author, audience, tokens }
}

export function pinMessage(
  conversationId: string,
  { messageId, version, pinned }: { messageId: string; version: number; pinned: boolean },
): Decision {
  return heads => {
    const { info } = openConversationIn(heads, conversationId)
    if ((info.pins ?? []).includes(version) === pinned) return []
    return [{ type: 'message.pinned', messageId, version, pinned }]
  }
}

function audienceOf(session: SessionHead): Audience {
  return session.sharing === 'messages' ? everyone : { to: 'session', sessionId: session.id }
}
