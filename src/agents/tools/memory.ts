/** The memory tools: find what was said, read what a summary stands for, keep something word for word. */
import { z } from 'zod'
import type { Message } from '../../log/views/message.ts'
import { partsText } from '../../request/text/part-text.ts'
import { shortened, ToolRefused, tool } from './tool.ts'

export const recallTool = tool({
  name: 'recall',
  description:
    'Finds earlier messages of this conversation by their words, also those that are summarised or left out.',
  input: z.strictObject({
    words: z.string().min(1).max(500),
    count: z.int().min(1).max(20).optional().describe('default 8'),
  }),
  async run({ words, count = 8 }, { desk, limits }) {
    const hits = await desk.recall(words, count)
    if (hits.length === 0) return 'Nothing said here has these words.'
    return shortened(
      hits.map(hit => `[message ${hit.version}, ${hit.author}] ${hit.snippet}`).join('\n\n'),
      limits.characters,
    )
  },
})

export const expandTool = tool({
  name: 'expand',
  description: 'Gives the messages behind an item of the checkpoint, or one message in full by its number.',
  input: z.strictObject({
    item: z.string().min(1).optional().describe("an item's id, as the checkpoint shows it"),
    message: z.int().positive().optional().describe("a message's number"),
  }),
  async run({ item, message }, { desk, limits }) {
    if ((item === undefined) === (message === undefined))
      throw new ToolRefused('Give an item or a message, one of them.')
    const found = item !== undefined ? await desk.expand(item) : [await desk.message(message!)]
    const texts = found.flatMap(one => (one ? [written(one)] : []))
    if (texts.length === 0) throw new ToolRefused('There is no such message here.')
    return shortened(texts.join('\n\n'), limits.characters)
  },
})

export const pinTool = tool({
  name: 'pin',
  description:
    'Keeps a message, or a text of yours, word for word in every later request. For what must not be summarised.',
  input: z.strictObject({
    message: z.int().positive().optional().describe("a message's number"),
    text: z.string().min(1).max(8_000).optional(),
  }),
  async run({ message, text }, { desk }) {
    if ((message === undefined) === (text === undefined))
      throw new ToolRefused('Give a message or a text, one of them.')
    return `Pinned as message ${await desk.pin(message !== undefined ? { version: message } : { text: text! })}.`
  },
})

function written({ version, author, timestamp, parts }: Message): string {
  return `[message ${version}, ${author}, ${timestamp}]\n${partsText(parts)}`
}
