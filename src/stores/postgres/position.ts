/**
 * Positions as callers hold them: opaque, and checked when they come back.
 *
 * A position names the store (its epoch), the transaction and the place in it, and a few characters of the hash found
 * there: a server that was put back to an earlier time has another event there, and the resuming reader is told.
 */
import { PositionUnknown } from '../../errors.ts'

/** The place of an event: in the order of transactions, then of places in one. */
export interface Place {
  tx: number
  n: number
}

export const theStart: Place = { tx: 0, n: 0 }

export function positionText(epoch: string, { tx, n }: Place, hash: Uint8Array | undefined): string {
  return `${epoch}.${tx.toString(36)}.${n.toString(36)}.${hash ? checkOf(hash) : ''}`
}

export function checkOf(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, Math.min(6, hash.length)).toString('base64url')
}

export function positionParts(position: string): Place & { epoch: string; check: string } {
  const match = /^([\w-]+)\.([0-9a-z]+)\.([0-9a-z]+)\.([\w-]*)$/.exec(position)
  const [tx, n] = [match?.[2], match?.[3]].map(digits => Number.parseInt(digits ?? '', 36))
  if (!match || !Number.isSafeInteger(tx) || !Number.isSafeInteger(n)) {
    throw new PositionUnknown(position, 'it is not a position')
  }
  return { epoch: match[1]!, tx: tx!, n: n!, check: match[4]! }
}

export function isAfter(a: Place, b: Place): boolean {
  return a.tx > b.tx || (a.tx === b.tx && a.n > b.n)
}
