/**
 * Checks that the open file is still the one at its path. Most systems accept writes to a file that was removed, moved or
 * replaced, and lose them when it is closed.
 */
import { statSync } from 'node:fs'
import { StoreUnusable } from '../../errors.ts'

/** @returns a function that throws when another file, or none, is at the path */
export function sameFile(path: string): () => void {
  const openInode = inodeAt(path, undefined)
  return () => {
    if (inodeAt(path, openInode) === openInode) return
    throw new StoreUnusable(
      `${path} was removed, moved or replaced while it was open. Nothing was written. Its messages can be read until it is closed; put the file back, or open the store again.`,
      { path },
    )
  }
}

/** `unreadable` stands for a file in a folder that can no longer be read. */
function inodeAt(path: string, unreadable: number | undefined): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.ino
  } catch {
    return unreadable
  }
}
