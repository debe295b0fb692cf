/** The text of live events on the wire (SSE). */
import type { LiveUpdate, RecordedEvent, Update } from '../../index.ts'

const encoder = new TextEncoder()
/** Larger events are sent without their content: it can be fetched by version. */
const maxEventCharacters = 256 * 1024

export const greeting = encoder.encode('retry: 1000\n\n')
export const heartbeat = encoder.encode(': alive\n\n')
export const stopping = encoder.encode('retry: 500\nevent: server:stopping\ndata: {}\n\n')

/** Listeners share the text of an event: writing it out costs more than sending it. */
const eventTexts = new WeakMap<RecordedEvent, Uint8Array>()
const deltaTexts = new WeakMap<LiveUpdate, Uint8Array>()

export function eventText(update: Update): Uint8Array {
  return cached(eventTexts, update.event, () => {
    const data = eventData(update)
    return `id: ${update.position}\nevent: ${update.name}\ndata: ${data}\n\n`
  })
}

/** Has no id: a client that reconnects goes on after its last event, and gets the whole answer so far again. */
export function deltaText(update: LiveUpdate): Uint8Array {
  return cached(deltaTexts, update, () => `event: run:live\ndata: ${JSON.stringify(update)}\n\n`)
}

function eventData(update: Update): string {
  const { name, action, project, conversationId, version, position, at, event: recorded } = update
  const { actor, channel, requestId, event } = recorded
  const place = {
    name,
    action,
    project,
    conversationId,
    ...('sessionId' in update && { sessionId: update.sessionId }),
    ...('item' in update && { item: update.item }),
    version,
    position,
    at,
    actor,
    channel,
    ...(requestId !== undefined && { requestId }),
  }
  const data = JSON.stringify({ ...place, type: event.type, event })
  return data.length <= maxEventCharacters ? data : JSON.stringify({ ...place, type: event.type, isLarge: true })
}

function cached<K extends object>(texts: WeakMap<K, Uint8Array>, key: K, write: () => string): Uint8Array {
  const text = texts.get(key) ?? encoder.encode(write())
  texts.set(key, text)
  return text
}
