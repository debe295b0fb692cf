/**
 * Whether the file that is open still stands at its path. One that was removed, moved or replaced takes what is written
 * without an error on most systems, and all of it is gone when the file is closed.
 */
import { type Stats, statSync } from 'node:fs'
import { StoreUnusable } from '../../errors.ts'

/** @returns what throws when it does not any more */
export function sameFile(path: string): () => void {
  const opened = found(path)?.ino
  return () => {
    if (found(path)?.ino === opened) return
    throw new StoreUnusable(
      `${path} was removed, moved or replaced while it was open. Nothing was written. What it held can be read as long as it stays open; put the file back, or open the store again.`,
      { path },
    )
  }

  function found(path: string): Pick<Stats, 'ino'> | undefined {
    try {
      return statSync(path, { throwIfNoEntry: false })
    } catch {
      // A folder that may not be looked into any more says nothing of its files.
      return opened === undefined ? undefined : { ino: opened }
    }
  }
}
