/** Small builders of facts and proposals: a test names what matters to it, the rest is filled in. */

import type { Proposal } from '../log/event-log.ts'
import type { Audience } from '../log/events/audience.ts'
import type { ConversationEvent } from '../log/events/event.ts'
import type { MessageAdded } from '../log/events/message.ts'
import type { RecordedEvent } from '../log/events/recorded-event.ts'
import type { Lease } from '../log/leases.ts'

export const origin = { actor: 'holder', channel: 'test' }
export const everyone: Audience = { to: 'everyone' }

type Created = Extract<ConversationEvent, { type: 'conversation.created' }>
type SessionCreated = Extract<ConversationEvent, { type: 'session.created' }>

let lastNumber = 0

/** Returns a name that no other test uses. */
export function freshName(kind: string): string {
  return `${kind}-${++lastNumber}`
}

/** The fact that a conversation began. */
export function conversationCreated(more: Partial<Created> = {}): Created {
  return {
    type: 'conversation.created',
    title: 'Login page',
    workItem: { type: 'thread', threadId: freshName('thread') },
    ...more,
  }
}

/** A message, to everyone unless `more` says otherwise. */
export function messageAdded(text: string, more: Partial<MessageAdded> = {}): MessageAdded {
  const { role = 'user' } = more
  return {
    type: 'message.added',
    messageId: freshName('message'),
    role,
    author: role,
    audience: everyone,
    parts: [{ type: 'text', text }],
    tokens: { count: text.length, by: 'characters' },
    ...more,
  }
}

/** The fact that an agent has a session. */
export function sessionCreated(sessionId: string, more: Partial<SessionCreated> = {}): SessionCreated {
  return {
    type: 'session.created',
    sessionId,
    agentName: sessionId,
    agentType: 'dev',
    sharing: 'messages',
    expiresInMs: null,
    ...more,
  }
}

/** A proposal to record `what` in a conversation, after whatever is there. */
export function proposal(
  conversationId: string,
  what: ConversationEvent | readonly ConversationEvent[] | Proposal['decide'],
  more: Partial<Proposal> = {},
): Proposal {
  return {
    project: 'shop',
    conversation: { id: conversationId },
    expected: 'any',
    decide: typeof what === 'function' ? what : () => [what].flat() as ConversationEvent[],
    origin,
    ...more,
  }
}

/** Returns the text of a recorded message; undefined for other events. */
export function textIn({ event }: RecordedEvent): string | undefined {
  if (event.type !== 'message.added') return undefined
  return event.parts.map(part => (part.type === 'text' ? part.text : '')).join('')
}

export function textsIn(events: readonly RecordedEvent[]): string[] {
  return events.flatMap(event => textIn(event) ?? [])
}

/** Returns the part of a lease that a fenced append carries. */
export function fenceOf({ name, generation }: Lease): { name: string; generation: number } {
  return { name, generation }
}

/** The next `count` events of a subscription. */
export async function nextEvents(events: AsyncIterator<RecordedEvent>, count: number): Promise<RecordedEvent[]> {
  const collected: RecordedEvent[] = []
  while (collected.length < count) {
    const { done, value } = await events.next()
    if (done) break
    collected.push(value)
  }
  return collected
}

/** Returns the error of an operation, or undefined when it succeeded. */
export async function errorOf(operation: () => unknown): Promise<unknown> {
  try {
    await operation()
    return undefined
  } catch (error) {
    return error
  }
}

export async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

export async function* asyncItems<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}
