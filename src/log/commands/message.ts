/** Somebody says something: a caller's message checked, and the fact that is recorded of it. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { ContentTooLarge, InvalidInput } from '../../errors.ts'
import { type Audience, everyone } from '../events/audience.ts'
import type { ConversationEvent } from '../events/event.ts'
import { Id } from '../events/id.ts'
import { type MessageAdded, Role, type TokenCount } from '../events/message.ts'
import type { Metadata } from '../events/metadata.ts'
import type { Part } from '../events/part.ts'
import type { ConversationHead } from '../views/conversation.ts'
import type { SessionHead } from '../views/session.ts'
import { type Decision, openConversationIn, openSessionIn } from './decision.ts'
import { parseInput } from './input.ts'
import { jsonCopy } from './json.ts'
import { MessageInput, Tokens } from './message-input.ts'
import { withoutUndefined } from './omit-undefined.ts'
import { completionIn } from './turn.ts'

/** A message that passed every check, before it is counted and placed. */
export type CheckedMessage = Omit<
  MessageAdded,
  'type' | 'messageId' | 'author' | 'audience' | 'tokens' | 'sessionId' | 'resolves'
> & {
  author?: string
  audience?: Audience
}

const SeedMetadata = z.object({
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

/** Checks a caller's message. `callId` names the tool call when it comes in the seeds' `toolUse` form. */
export function checkMessage(input: MessageInput, limits: { maxMessageBytes: number; callId: string }): CheckedMessage {
  if (isPlain(input)) {
    const plain: CheckedMessage = { role: input.role, parts: [{ type: 'text', text: input.content }] }
    refuseOversize(plain, limits.maxMessageBytes)
    return plain
  }
  const { content, parts: given = [], metadata: _, envelope, ...rest } = parseInput(MessageInput, input)
  // As it was given: the schema's copy has lost a key called `__proto__`.
  const { known, left } = fromSeed(input)
  const { tokens, toolUse, ...fields } = known
  const first: Part[] = content === undefined || content === '' ? [] : [{ type: 'text', text: content }]
  const parts = [...first, ...given.map(plainPart)]
  if (toolUse) parts.push(...toolParts(toolUse, limits.callId))
  if (!parts.some(part => !('text' in part) || part.text !== '' || part.type === 'file')) {
    throw new InvalidInput('content', 'must not be empty: give content, or at least one part')
  }
  const checked = withoutUndefined({
    ...fields,
    ...rest,
    parts,
    usage: rest.usage ?? tokens,
    metadata: left,
    envelope: envelope === undefined ? undefined : jsonCopy(envelope, 'envelope'),
  }) as CheckedMessage
  refuseOversize(checked, limits.maxMessageBytes)
  return checked
}

/** Most messages are a role and a text: looking at the two says as much as the schema would, in a tenth of the time. */
function isPlain(input: MessageInput): input is { role: Role; content: string } {
  if (typeof input !== 'object' || input === null) return false
  for (const key in input) if (key !== 'role' && key !== 'content') return false
  const { role, content } = input
  return typeof content === 'string' && content !== '' && roles.has(role)
}

const roles: ReadonlySet<unknown> = new Set(Role.options)

/**
 * Seed 000 puts some of these into `metadata`; they are taken from there, and the rest stays free metadata: what the
 * message says itself too, and what has more in it than the seed knows.
 */
function fromSeed({ metadata, ...own }: MessageInput): {
  known: z.output<typeof SeedMetadata>
  left: Metadata | undefined
} {
  if (metadata === undefined) return { known: {}, left: undefined }
  const { tokens, ...known } = SeedMetadata.parse(metadata)
  const taken = withoutUndefined({
    ...Object.fromEntries(Object.entries(known).filter(([key]) => own[key as keyof typeof own] === undefined)),
    ...(own.usage === undefined && { tokens }),
  })
  const left = jsonCopy(metadata, 'metadata') as Metadata
  for (const [key, value] of Object.entries(taken)) {
    if (isDeepStrictEqual(jsonCopy(value, 'metadata'), left[key])) delete left[key]
  }
  return { known: taken, left: Object.keys(left).length > 0 ? left : undefined }
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
  const [only] = parts
  const isAlone = parts.length === 1 && !message.metadata && message.envelope === undefined
  // Three bytes are the most a UTF-16 unit takes: what is short enough by that need not be measured.
  if (isAlone && only?.type === 'text' && only.text.length * 3 <= limit) return
  let bytes = 0
  for (const part of parts) bytes += Buffer.byteLength(part.type === 'text' ? part.text : JSON.stringify(part))
  if (message.metadata) bytes += Buffer.byteLength(JSON.stringify(message.metadata))
  if (message.envelope !== undefined) bytes += Buffer.byteLength(JSON.stringify(message.envelope))
  if (bytes > limit) throw new ContentTooLarge({ bytes, limit })
}

/** A checked message with its id and size. */
export interface Placed {
  message: CheckedMessage
  messageId: string
  tokens: TokenCount
}

/** Adds a message through a session. */
export function addToSession(sessionId: string, { message, messageId, tokens }: Placed): Decision {
  return (heads, now) => {
    const session = openSessionIn(heads, sessionId, now)
    const conversation = openConversationIn(heads, session.conversationId)
    const said: MessageAdded = {
      type: 'message.added',
      messageId,
      ...message,
      author: message.author ?? (message.role === 'assistant' ? session.agentName : message.role),
      audience: message.audience ?? audienceOf(session),
      tokens,
      sessionId,
    }
    return withWhatItMeans(conversation, said)
  }
}

/** Adds a message to the conversation itself. */
export function addToConversation(conversationId: string, placed: Placed): Decision {
  return heads => {
    const conversation = openConversationIn(heads, conversationId)
    return withWhatItMeans(conversation, saidToConversation(placed))
  }
}

function withWhatItMeans(conversation: ConversationHead, said: MessageAdded): ConversationEvent[] {
  return [...withPin(conversation.version, said), ...completionIn(conversation, said)]
}

/** The first message of a new conversation, right behind the fact that it was made. */
export function opening(placed: Placed): ConversationEvent[] {
  return withPin(1, saidToConversation(placed))
}

/** A message that comes pinned leaves a fact of its own, so that pins are known without reading messages. */
function withPin(newest: number, message: MessageAdded): ConversationEvent[] {
  if (!message.pinned) return [message]
  return [message, { type: 'message.pinned', messageId: message.messageId, version: newest + 1, pinned: true }]
}

/** A message outside any session: everyone sees it unless it says otherwise. */
export function saidToConversation({ message, messageId, tokens }: Placed): MessageAdded {
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

/** Sessions that share their messages speak to everyone; the others to themselves. */
function audienceOf(session: SessionHead): Audience {
  return session.sharing === 'messages' ? everyone : { to: 'session', sessionId: session.id }
}
