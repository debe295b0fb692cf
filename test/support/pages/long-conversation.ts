/** A conversation of any length, quickly: its messages share commits. */
import type { Colloquy } from 'colloquy'

export async function longConversation(colloquy: Colloquy, messages: number): Promise<string> {
  const { id } = await colloquy.conversations.createConversation({ title: `${messages} messages` })
  const atOnce = 1000
  for (let start = 0; start < messages; start += atOnce) {
    const some = Math.min(atOnce, messages - start)
    await Promise.all(
      Array.from({ length: some }, (_, n) => {
        const number = start + n + 1
        return colloquy.conversations.addEvent(id, {
          role: number % 2 === 0 ? 'assistant' : 'user',
          author: number % 2 === 0 ? 'dev' : 'owner',
          content: `Message number ${number}. ${'Some words follow. '.repeat(number % 7)}`,
        })
      }),
    )
  }
  return id
}
