/** A folder for a store's files, and the folders above it. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Step by step, because Node's own `recursive` never ends where a system says of a folder that it cannot be made (as
 * `/proc` does) what it says of one whose parent is missing.
 */
export function makeFolder(folder: string): void {
  if (isFolder(folder)) return
  const parent = dirname(folder)
  if (parent !== folder && !isFolder(parent)) makeFolder(parent)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have been first.
    if (!isFolder(folder)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
