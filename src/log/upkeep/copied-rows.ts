/** Rows of a store as the records that are copied. Shared by the stores. */

import { infoIn, nameless, sessionHeadIn } from '../fold.ts'
import { blobsIn, type LoadBlob } from '../records/record.ts'
import type { ConversationInfo } from '../views/conversation.ts'
import { teamDueAt } from '../views/conversation-state.ts'
import { type SessionHead, sessionKey } from '../views/session.ts'
import { type ArchiveRow, laneInBody } from './archived-rows.ts'
import { type CopiedConversation, type CopiedEvent, type CopiedSession, plainText } from './copy.ts'

/** A lane's own row: key, kind, audience; nulls where it is lost. */
export type LaneColumns = [audienceKey: string | null, kind: string | null, audience: string | null]

export function copiedEvent({
  conversationId,
  row,
  lane,
  isDamaged,
  load,
}: {
  conversationId: string
  row: ArchiveRow
  lane: LaneColumns
  isDamaged: boolean
  load: LoadBlob
}): CopiedEvent {
  const [version, type, schema, at, actor, channel, request, message, laneRow] = row
  const [messages, tokens, input, output, salt, body, digest, hash] = row.slice(9) as unknown[]
  // What is damaged may hold anything; it only has to find its place.
  const text = isDamaged ? plainText : (value: unknown) => value as string
  const whole = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : 0)
  const optional = (value: unknown) => (value === null ? null : text(value))
  const event = {
    conversationId,
    version,
    type: text(type),
    schema: whole(schema),
    at: whole(at),
    actor: text(actor),
    channel: text(channel),
    requestId: optional(request),
    messageId: optional(message),
    sums: laneRow === null ? null : ([messages, tokens, input, output].map(whole) as [number, number, number, number]),
    salt: salt === null ? null : base64(salt),
    body: optional(body),
    digest: base64(digest),
    hash: base64(hash),
    isDamaged,
  }
  const blobs = event.body === null ? [] : [...new Set(blobsIn(event.body))]
  return {
    ...event,
    lane: laneRow === null ? null : laneIn(lane, event),
    blobs: blobs.flatMap(name => {
      const json = load(name)
      return json === undefined ? [] : [{ digest: name, json: plainText(json) }]
    }),
  }
}

function base64(bytes: unknown): string {
  return Buffer.from(bytes instanceof Uint8Array ? bytes : String(bytes)).toString('base64')
}

function laneIn(
  [audienceKey, kind, audience]: LaneColumns,
  { type, schema, body, messageId }: Pick<CopiedEvent, 'type' | 'schema' | 'body' | 'messageId'>,
): NonNullable<CopiedEvent['lane']> {
  if (audienceKey !== null && kind !== null && audience !== null) return { audienceKey, kind, audience }
  const said = laneInBody(type, schema, body, messageId)
  return { ...said, audience: JSON.stringify(said.audience) }
}

export interface ConversationColumns {
  id: string
  createdAt: number
  recentAt: number
  status: string
  workType: string
  info: string
  version: number
  hash: Uint8Array
  activeAt: number
}

/** `refolded` says what the log says, for a head that cannot be read. */
export function copiedConversation(
  columns: ConversationColumns,
  project: string,
  refolded: () => ConversationInfo,
): CopiedConversation {
  const info = infoIn(columns.info, refolded)
  const { workItem, title } = info.workItem ? info : nameless({ project, conversationId: columns.id })
  return {
    ...columns,
    info: plainText(columns.info),
    workItem,
    title: String(title),
    work: info.work ? { state: info.work.state, priority: 'priority' in info.work ? info.work.priority : 0 } : null,
    dueAt: teamDueAt(info) ?? null,
    branchOf: info.branchOf ?? null,
    hash: base64(columns.hash),
  }
}

export interface SessionColumns {
  id: string
  conversationId: string
  agent: string
  status: string
  expiresAt: number | null
  head: string
}

export function copiedSession(columns: SessionColumns, refolded: () => SessionHead | undefined): CopiedSession {
  const head = sessionHeadIn(columns.head, refolded)
  return {
    ...columns,
    head: plainText(columns.head),
    // A head that nothing can be said about is in nobody's way.
    key: head ? sessionKey(head) : `damaged ${columns.id}`,
    compactions: head?.compactions ?? 0,
  }
}
