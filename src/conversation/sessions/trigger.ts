/** The message a request is for: a text, or a stored message, which then stands in the request once. */
import { InvalidInput, NotFound } from '../../errors.ts'
import type { Store } from '../../log/store.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { windowOf } from '../../log/windows.ts'
import { wholeSize } from '../../request/assembly/pack.ts'
import type { TextSection, Trigger } from '../../request/assembly/sections.ts'
import { labelOf } from '../../request/assembly/transcript.ts'
import { imagesIn } from '../../request/text/images.ts'
import { partsText } from '../../request/text/part-text.ts'
import { messagesAt } from './read-window.ts'

export interface TriggerInput {
  store: Store
  head: SessionHead
  asked: string | { messageId: string }
  /** What was read of the window. */
  read: readonly Message[]
  section: (text: string) => TextSection
}

/** @throws {InvalidInput} when it is neither a text nor a message by its id */
export function checkedTrigger<T extends string | { messageId: string }>(asked: T): T {
  const isOne = typeof asked === 'string' || (typeof asked === 'object' && typeof asked?.messageId === 'string')
  if (!isOne) throw new InvalidInput('message', 'must be a text, or a message by its id: { messageId }')
  return asked
}

/** A text that the newest unanswered message of the person has already is that message: it stands there once. */
export async function findTrigger({
  store,
  head,
  asked,
  read,
  section,
}: TriggerInput): Promise<{ trigger: Trigger; rest: readonly Message[] }> {
  const stored =
    typeof asked === 'string' ? unanswered(asked, read, head.agentName) : await byId(store, asked.messageId, read, head)
  if (!stored) return { trigger: { ...section(asked as string), author: 'user' }, rest: read }
  const { version, author } = stored
  // Calls and results are told as providers take them; other parts, and other people's words, as text with a name.
  const isWhole = stored.parts.some(part => part.type === 'tool-result' || part.type === 'tool-call')
  const label = labelOf(stored, head.agentName)
  const images = imagesIn(stored.parts)
  const told = isWhole
    ? { text: partsText(stored.parts), tokens: wholeSize(stored), message: stored }
    : {
        text: partsText(stored.parts),
        tokens: stored.tokens.count,
        ...(label !== undefined && { label }),
        ...(images.length > 0 && { images }),
      }
  return {
    trigger: { ...told, author, version },
    rest: read.filter(message => message.version !== version),
  }
}

async function byId(store: Store, messageId: string, read: readonly Message[], head: SessionHead): Promise<Message> {
  const near = read.findLast(message => message.id === messageId)
  if (near) return near
  const message = await store.message(head.project, messageId)
  // Whether the session sees it, and whether it stands in its line of branches, is for the window to say.
  const [seen] = message ? await messagesAt(store, windowOf(head), [message.version]) : []
  if (seen?.id !== messageId) throw new NotFound('message', messageId)
  return seen
}

function unanswered(text: string, read: readonly Message[], agentName: string): Message | undefined {
  // Nothing is asked; results of tools have no text either, and are no question.
  if (text === '') return undefined
  for (let index = read.length - 1; index >= 0; index--) {
    const message = read[index]!
    if (message.role === 'user' && message.content === text) return message
    if (message.author === agentName) return undefined
  }
  return undefined
}
