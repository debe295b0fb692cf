/** The number by which the index finds a message. */
import { createHash } from 'node:crypto'

const beginsWithTime = /^[0-9a-f]{8}-[0-9a-f]{4}-7/

/**
 * Returns 48 bits of an id. Our own ids begin with their time, so that the index over the numbers grows at its end; other
 * ids are hashed.
 */
export function messageNumber(messageId: string): number {
  if (beginsWithTime.test(messageId)) {
    return Number.parseInt(messageId.slice(0, 8), 16) * 0x10000 + Number.parseInt(messageId.slice(9, 13), 16)
  }
  return createHash('sha256').update(messageId).digest().readUIntBE(0, 6)
}
