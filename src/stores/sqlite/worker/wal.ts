/**
 * Grows the write-ahead log once, with zeros that SQLite takes for the end of its log.
 *
 * A log that is overwritten in place needs no new blocks, so its sync does not wait for the file system's journal.
 */
import { closeSync, fsyncSync, openSync, statSync, writeSync } from 'node:fs'

const targetBytes = 16 * 1024 * 1024

/** A short program that writes a few messages does not need a grown log. */
export const commitsBeforeGrowth = 50

/** Has to be called under the write lock: no other process may write behind the end of the file meanwhile. */
export function growWal(path: string): void {
  const file = `${path}-wal`
  let descriptor: number | undefined
  try {
    const { size } = statSync(file)
    if (size >= targetBytes) return
    descriptor = openSync(file, 'r+')
    const zeros = Buffer.alloc(1024 * 1024)
    for (let at = size; at < targetBytes; at += zeros.length) {
      writeSync(descriptor, zeros, 0, Math.min(zeros.length, targetBytes - at), at)
    }
    fsyncSync(descriptor)
  } catch {
    // The append may still fit on a full disk. If it does not, SQLite says so.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
