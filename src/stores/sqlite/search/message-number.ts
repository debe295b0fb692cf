/** The number that the index finds a message by. */
import { createHash } from 'node:crypto'

const beginsWithTime = /^[0-9a-f]{8}-[0-9a-f]{4}-7/

/**
 * 48 bits for a look-up: of ids as we make them those that grow with time, so that the index over them is written at its
 * end; of all others a hash.
 */
export function messageNumber(messageId: string): number {
  if (beginsWithTime.test(messageId)) {
    return Number.parseInt(messageId.slice(0, 8), 16) * 0x10000 + Number.parseInt(messageId.slice(9, 13), 16)
  }
  return createHash('sha256').update(messageId).digest().readUIntBE(0, 6)
}
