/** Makes a folder for a store's files, and the folders above it. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Step by step, because `mkdirSync` with `recursive` never ends where the system reports a missing parent for a folder
 * that cannot be made, as `/proc` does.
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
