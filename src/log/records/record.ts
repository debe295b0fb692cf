/**
 * Turns events into bytes and back, and chains the bytes.
 *
 * Bodies are JSON text, because drivers cut or refuse strings with NUL bytes and lone surrogates. Hashes cover exactly
 * these bytes and a salt, so that erased content cannot be guessed from its digest. Every store uses the same bytes: a
 * copied conversation keeps its hashes.
 */
import { createHash, hash, randomBytes } from 'node:crypto'
import { type Audience, everyone } from '../events/audience.ts'
import { type ConversationEvent, revive, type StoredEvent, schemaOf } from '../events/event.ts'
import type { MessageAdded } from '../events/message.ts'
import type { Part } from '../events/part.ts'
import type { Origin } from '../events/recorded-event.ts'
import { type Message, textOf } from '../views/message.ts'
import { type Lane, type LaneSums, laneOf } from './lane.ts'

/** Parts whose JSON has more characters are stored as blobs, addressed by their content. */
export const blobThreshold = 256 * 1024

export interface Blob {
  /** Hex SHA-256 of `json`. */
  digest: string
  json: string
}

/** An event ready to be stored. */
export interface Encoded {
  type: string
  schema: number
  body: string
  blobs: readonly Blob[]
  messageId: string | undefined
  lane: Lane | undefined
  adds: LaneSums | undefined
}

/** The fields that the hash covers together with the content. They stay readable after an erase. */
export interface Header extends Omit<Origin, 'requestId'> {
  requestId?: string | undefined
  version: number
  type: string
  schema: number
  /** Milliseconds. */
  at: number
  messageId: string | undefined
  lane: Lane | undefined
  adds: LaneSums | undefined
}

/** A value that is in a blob: the index of its part, its field, and the digest of the blob. */
type BlobUse = [part: number, field: string, digest: string]

export function encode(event: ConversationEvent): Encoded {
  const place = laneOf(event)
  const blobs: Blob[] = []
  return {
    type: event.type,
    schema: schemaOf(event.type),
    body: JSON.stringify(event.type === 'message.added' ? packed(event, blobs) : { ...event, type: undefined }),
    blobs,
    messageId: event.type === 'message.added' ? event.messageId : undefined,
    lane: place?.lane,
    adds: place?.adds,
  }
}

/** A message as it is stored, without what its row or a default says. */
interface PackedMessage extends Omit<MessageAdded, 'type' | 'messageId' | 'author' | 'audience' | 'parts' | 'tokens'> {
  /** Omitted when it is the role. */
  author?: string
  /** Omitted for everyone; 'own' is the message's own session. */
  audience?: Audience | 'own'
  tokens: [count: number, by: string]
  /** Replaces `parts` when the only part is a text. */
  text?: string
  parts?: readonly Part[]
  blobs?: BlobUse[]
}

function packed(event: MessageAdded, blobs: Blob[]): Record<keyof PackedMessage, unknown> {
  const { audience } = event
  const { parts, uses } = takeOutBlobs(event.parts, blobs)
  const only = parts.length === 1 && uses.length === 0 && parts[0]?.type === 'text' ? parts[0].text : undefined
  const isOwn = audience.to === 'session' && audience.sessionId === event.sessionId
  return {
    role: event.role,
    author: event.author === event.role ? undefined : event.author,
    sessionId: event.sessionId,
    audience: audience.to === 'everyone' ? undefined : isOwn ? 'own' : audience,
    agentType: event.agentType,
    featureId: event.featureId,
    taskId: event.taskId,
    iteration: event.iteration,
    addressees: event.addressees,
    mentions: event.mentions,
    replyTo: event.replyTo,
    internal: event.internal,
    pinned: event.pinned,
    usage: event.usage,
    metadata: event.metadata,
    resolves: event.resolves,
    envelope: event.envelope,
    redacted: event.redacted,
    tokens: [event.tokens.count, event.tokens.by],
    text: only,
    parts: only === undefined ? parts : undefined,
    blobs: uses.length > 0 ? uses : undefined,
  }
}

/** Fields that have another form in a message that is not packed. */
const packedFields: ReadonlySet<string> = new Set(['role', 'author', 'audience', 'tokens', 'text', 'parts', 'blobs'])

function unpacked(body: string, messageId: string, loadBlob: LoadBlob): MessageAdded {
  const stored = JSON.parse(body) as PackedMessage
  const event: MessageAdded = {
    type: 'message.added',
    messageId,
    role: stored.role,
    author: stored.author ?? stored.role,
    audience: audienceIn(stored),
    parts: partsIn(stored, loadBlob),
    tokens: { count: stored.tokens[0], by: stored.tokens[1] },
  }
  return withOtherFields(event, stored)
}

/** Reads a stored body as the message of a window. */
export function unpackedMessage(
  body: string,
  place: { id: string; conversationId: string; version: number; timestamp: string },
  loadBlob: LoadBlob,
): Message {
  const stored = JSON.parse(body) as PackedMessage
  const parts = partsIn(stored, loadBlob)
  const message: Message = {
    id: place.id,
    conversationId: place.conversationId,
    version: place.version,
    timestamp: place.timestamp,
    role: stored.role,
    author: stored.author ?? stored.role,
    audience: audienceIn(stored),
    parts,
    tokens: { count: stored.tokens[0], by: stored.tokens[1] },
    content: stored.text ?? textOf(parts),
  }
  return withOtherFields(message, stored)
}

/** Returns the JSON of a blob, or undefined when it is missing. */
export type LoadBlob = (digest: string) => string | undefined

function audienceIn({ audience, sessionId }: PackedMessage): Audience {
  return audience === 'own' ? { to: 'session', sessionId: sessionId! } : (audience ?? everyone)
}

function partsIn(stored: PackedMessage, loadBlob: LoadBlob): Part[] {
  if (stored.text !== undefined) return [{ type: 'text', text: stored.text }]
  const parts = [...(stored.parts ?? [])]
  for (const [index, field, digest] of stored.blobs ?? []) {
    const json = loadBlob(digest)
    if (json === undefined) throw new Error(`its blob ${digest} is missing or damaged`)
    parts[index] = { ...parts[index], [field]: JSON.parse(json) } as Part
  }
  return parts
}

function withOtherFields<T extends object>(target: T, stored: PackedMessage): T {
  for (const field in stored) {
    if (!packedFields.has(field)) (target as Record<string, unknown>)[field] = stored[field as keyof PackedMessage]
  }
  return target
}

/** The schema version whose messages are packed as above. */
export const packedSchema = 1

const blobFields = ['text', 'input', 'output'] as const

function takeOutBlobs(parts: readonly Part[], blobs: Blob[]): { parts: readonly Part[]; uses: BlobUse[] } {
  const uses: BlobUse[] = []
  if (parts.every(part => part.type === 'text' && part.text.length <= blobThreshold)) return { parts, uses }
  const smallParts = parts.map((part, index) => {
    const fields: Record<string, unknown> = { ...part }
    for (const field of blobFields) {
      const value = fields[field]
      if (value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean') continue
      if (typeof value === 'string' && value.length <= blobThreshold) continue
      const json = JSON.stringify(value)
      if (json.length <= blobThreshold) continue
      const digest = hash('sha256', json)
      blobs.push({ digest, json })
      uses.push([index, field, digest])
      fields[field] = null
    }
    return fields as unknown as Part
  })
  return { parts: smallParts, uses }
}

/** Returns the digests of the blobs that a stored body uses; none for a damaged body. */
export function blobsIn(body: string): string[] {
  if (!body.includes('"blobs":[[')) return []
  try {
    const data = JSON.parse(body) as { blobs?: BlobUse[] }
    return (data.blobs ?? []).map(use => use[2])
  } catch {
    return []
  }
}

/** True when the JSON of a blob has this digest. */
export function isBlob(json: string, digest: string): boolean {
  return hash('sha256', json) === digest
}

/** Turns a stored body back into the event. */
export function decode(
  stored: { type: string; schema: number; body: string | null; messageId: string | undefined },
  loadBlob: LoadBlob,
): StoredEvent {
  const { type, schema, body, messageId } = stored
  if (body === null) return { type: 'erased', storedType: type, messageId }
  try {
    if (type === 'message.added' && schema === packedSchema) {
      return revive(type, schema, unpacked(body, messageId ?? '', loadBlob))
    }
    return revive(type, schema, JSON.parse(body))
  } catch (error) {
    return {
      type: 'damaged',
      storedType: type,
      messageId,
      reason: error instanceof Error ? error.message : String(error),
    }
  }
}

/** The hash before version 1, which ties the chain to its project and conversation. */
export function genesis(project: string, conversationId: string): Buffer {
  return createHash('sha256')
    .update(JSON.stringify(['colloquy', 1, project, conversationId]))
    .digest()
}

/** The digest of the content alone, which stays when the content is erased. */
export function digestOf(salt: Uint8Array, body: string): Buffer {
  return createHash('sha256').update(salt).update(body).digest()
}

/** The next link of the chain. */
export function hashOf(previous: Uint8Array, header: Header, digest: Uint8Array): Buffer {
  return createHash('sha256').update(previous).update(headerText(header)).update(digest).digest()
}

function headerText(header: Header): string {
  const { version, type, schema, at, actor, channel, requestId = null, messageId = null, lane, adds } = header
  return JSON.stringify([
    version,
    type,
    schema,
    at,
    actor,
    channel,
    requestId,
    messageId,
    lane ? [lane.audience, lane.kind] : null,
    adds ? [adds.messages, adds.tokens, adds.input, adds.output] : null,
  ])
}

export function freshSalt(): Buffer {
  return randomBytes(16)
}
