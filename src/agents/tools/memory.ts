/** Memory tools: search messages, read the messages behind a summary, pin a text. */
import { z } from 'zod'
import type { Message } from '../../log/views/message.ts'
import { partsText } from '../../request/text/part-text.ts'
import { shorten, ToolRefused, tool } from './tool.ts'

export const recallTool = tool({
  name: 'recall',
  description: 'Searches earlier messages of this conversation by words, including summarised and omitted ones.',
  input: z.strictObject({
    words: z.string().min(1).max(500),
    count: z.int().min(1).max(20).optional().describe('default 8'),
  }),
  async run({ words, count = 8 }, { port, limits }) {
    const hits = await port.recall(words, count)
    if (hits.length === 0) return 'No message contains these words.'
    return shorten(
      hits.map(hit => `[message ${hit.version}, ${hit.author}] ${hit.snippet}`).join('\n\n'),
      limits.characters,
    )
  },
})

export const expandTool = tool({
  name: 'expand',
  description: 'Returns the messages behind an item of the checkpoint, or one whole message by its number.',
  input: z.strictObject({
    item: z.string().min(1).optional().describe("an item's id, as the checkpoint shows it"),
    message: z.int().positive().optional().describe("a message's number"),
  }),
  async run({ item, message }, { port, limits }) {
    if ((item === undefined) === (message === undefined)) throw new ToolRefused('Give either an item or a message.')
    const messages = item !== undefined ? await port.expand(item) : [await port.message(message!)]
    const texts = messages.flatMap(stored => (stored ? [messageText(stored)] : []))
    if (texts.length === 0) throw new ToolRefused('There is no such message in this conversation.')
    return shorten(texts.join('\n\n'), limits.characters)
  },
})

export const pinTool = tool({
  name: 'pin',
  description:
    'Keeps a message, or a text of yours, word for word in every later request. Use it for what must not be summarised.',
  input: z.strictObject({
    message: z.int().positive().optional().describe("a message's number"),
    text: z.string().min(1).max(8_000).optional(),
  }),
  async run({ message, text }, { port }) {
    if ((message === undefined) === (text === undefined)) throw new ToolRefused('Give either a message or a text.')
    return `Pinned as message ${await port.pin(message !== undefined ? { version: message } : { text: text! })}.`
  },
})

function messageText({ version, author, timestamp, parts }: Message): string {
  return `[message ${version}, ${author}, ${timestamp}]\n${partsText(parts)}`
}
