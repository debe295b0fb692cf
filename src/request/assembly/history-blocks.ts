/**
 * Blocks of a window's history. Where older messages have to be left out, whole blocks go: the next requests
 * then begin with the same messages, and the provider finds them in its prompt cache.
 */
import type { Message } from '../../log/views/message.ts'

/** A block takes about this share of the room for history. */
const blockShare = 0.25

/** Tokens of the window before each message, by version. Only the log counts, not how a request shortens a message. */
export function positionsIn(messages: readonly Message[], tokensBefore: number): ReadonlyMap<number, number> {
  const positions = new Map<number, number>()
  let position = tokensBefore
  for (const { version, tokens } of messages) {
    positions.set(version, position)
    position += tokens.count
  }
  return positions
}

/**
 * Indexes of the messages with which a block begins, without the first message. Blocks are counted from the beginning of
 * the window, so requests that differ in their newest messages find the same ones.
 */
export function blockStarts(
  history: readonly Message[],
  { positions, room }: { positions: ReadonlyMap<number, number>; room: number },
): number[] {
  const size = powerOfTwo(room * blockShare)
  const blockOf = (message: Message) => Math.floor(positions.get(message.version)! / size)
  return history.flatMap((message, index) =>
    index > 0 && blockOf(message) > blockOf(history[index - 1]!) ? [index] : [],
  )
}

/** A power of two, so that a room that changes a little from request to request keeps its blocks. */
function powerOfTwo(tokens: number): number {
  return 2 ** Math.floor(Math.log2(Math.max(1, tokens)))
}
