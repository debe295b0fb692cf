/** That a store's worker can be started. */
import { existsSync } from 'node:fs'
import { StoreUnusable } from '../../errors.ts'

/**
 * A worker is a file beside the one its store is built into, and a bundler that makes one file of a program leaves it
 * behind. Looked for at opening: appends would go on without it, until the first search fails and the write-ahead log
 * fills the disk. Once found it is not looked for again.
 *
 * @returns what throws `StoreUnusable` when it is not there
 */
export function needsWorker(file: () => URL): () => void {
  let wasFound = false
  return () => {
    wasFound ||= isThere(file)
    if (wasFound) return
    throw new StoreUnusable(
      'The worker of the store is not beside it: colloquy was bundled into another file. Keep the package external (esbuild: --external:colloquy; Next.js: serverExternalPackages) and installed where the program runs.',
    )
  }
}

function isThere(file: () => URL): boolean {
  try {
    return existsSync(file())
  } catch {
    // A bundle of CommonJS does not know its own address.
    return false
  }
}
