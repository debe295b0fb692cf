/**
 * Who did what, when and through what: a question to the envelopes of the log. No second record is kept.
 *
 * Conversation by conversation, the most recently active first, so that a question about the last hour looks at what
 * was touched in the last hour and no further.
 */
import type { z } from 'zod'
import { InvalidRequest } from '../errors.ts'
import { type Colloquy, type Conversation, type RecordedEvent, sessionOf } from '../index.ts'
import type { projects } from './contract/projects.ts'

type Question = z.output<typeof projects.audit.query>
type Page = z.input<typeof projects.audit.answer>

/** Where the next page goes on: which page of conversations, which of them, and down from which version. */
interface Place {
  list?: string
  id?: string
  to?: number
}

const listSize = 50
const readSize = 500
/** A question that finds little must not read the whole log in one go. */
const mostRead = 20_000

export async function auditPage(colloquy: Colloquy, question: Question): Promise<Page> {
  const { limit = 100, conversation, since, until } = question
  const items: Page['items'] = []
  let place = placeOf(question.cursor)
  let read = 0
  const sinceMs = since === undefined ? undefined : Date.parse(since)
  const untilMs = until === undefined ? undefined : Date.parse(until)
  const isWanted = ({ event, actor, channel, requestId, at }: RecordedEvent) =>
    (question.actor === undefined || actor === question.actor) &&
    (question.channel === undefined || channel === question.channel) &&
    (question.requestId === undefined || requestId === question.requestId) &&
    (question.type === undefined || event.type === question.type) &&
    (sinceMs === undefined || Date.parse(at) >= sinceMs) &&
    (untilMs === undefined || Date.parse(at) <= untilMs)

  for (;;) {
    const { items: conversations, next } = await page(colloquy, conversation, place.list)
    let isReached = place.id === undefined
    for (const { id, version, activeAt, branchOf } of conversations) {
      if (!isReached && id !== place.id) continue
      const start = !isReached ? (place.to ?? version) : version
      isReached = true
      if (sinceMs !== undefined && Date.parse(activeAt) < sinceMs) continue
      let to = start
      // What a branch shares with its parent is told there.
      const from = (branchOf?.version ?? 0) + 1
      while (to >= from) {
        if (items.length >= limit || read >= mostRead) return { items, next: cursorOf({ ...place, id, to }) }
        const events = await colloquy.conversations.getEvents(id, { from, to, backwards: true, limit: readSize })
        read += events.length
        if (events.length === 0) break
        for (const recorded of events) {
          to = recorded.version - 1
          if (isWanted(recorded)) items.push(entryOf(recorded))
          if (items.length >= limit) break
        }
        const oldest = events.at(-1)!
        if (sinceMs !== undefined && Date.parse(oldest.at) < sinceMs && items.length < limit) break
      }
    }
    if (next === undefined) return { items }
    place = { list: next }
  }
}

async function page(colloquy: Colloquy, conversation: string | undefined, cursor: string | undefined) {
  if (conversation !== undefined) {
    return { items: [await colloquy.conversations.getConversation(conversation)] as Conversation[], next: undefined }
  }
  const listed = await colloquy.conversations.listConversations({ limit: listSize, ...(cursor && { cursor }) })
  return { items: listed.items, next: listed.next }
}

function entryOf(recorded: RecordedEvent): Page['items'][number] {
  const { conversationId, version, at, actor, channel, requestId, event } = recorded
  const sessionId = event.type === 'message.added' ? event.sessionId : sessionOf(recorded)
  return {
    conversationId,
    version,
    at,
    actor,
    channel,
    ...(requestId !== undefined && { requestId }),
    type: event.type,
    ...(sessionId !== undefined && { sessionId }),
  }
}

function cursorOf(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

function placeOf(cursor: string | undefined): Place {
  if (cursor === undefined) return {}
  try {
    const { list, id, to } = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as Place
    return {
      ...(typeof list === 'string' && { list }),
      ...(typeof id === 'string' && { id }),
      ...(Number.isSafeInteger(to) && { to: to! }),
    }
  } catch {
    throw new InvalidRequest([{ field: 'query.cursor', message: 'is not one of ours' }])
  }
}
