/** The message a request is for: a text, or a stored message, which then stands in the request once. */
import type { Message } from '../../log/views/message.ts'
import { imagesIn } from '../text/images.ts'
import { partsText } from '../text/part-text.ts'
import { wholeSize } from '../text/sizes.ts'
import type { TextSection, Trigger } from './sections.ts'
import { labelOf } from './transcript.ts'

/** Finds the person's newest message if it has this text and the agent has not answered since. */
export function unansweredMessage(text: string, messages: readonly Message[], agentName: string): Message | undefined {
  // Results of tools have no text, and an empty trigger is none of them.
  if (text === '') return undefined
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]!
    if (message.role === 'user' && message.content === text) return message
    if (message.author === agentName) return undefined
  }
  return undefined
}

export function triggerSection(
  trigger: string | Message,
  agentName: string,
  count: (text: string) => TextSection,
): Trigger {
  if (typeof trigger === 'string') return { ...count(trigger), author: 'user' }
  const { parts, author, version, tokens } = trigger
  const text = partsText(parts)
  // Tool calls and results keep the form that providers take. Everything else becomes text with a label.
  if (parts.some(part => part.type === 'tool-result' || part.type === 'tool-call'))
    return { text, tokens: wholeSize(trigger), message: trigger, author, version }
  const label = labelOf(trigger, agentName)
  const images = imagesIn(parts)
  return {
    text,
    tokens: tokens.count,
    ...(label !== undefined && { label }),
    ...(images.length > 0 && { images }),
    author,
    version,
  }
}
