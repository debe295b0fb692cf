/** Checks that a store's worker can be started. */
import { existsSync } from 'node:fs'
import { StoreUnusable } from '../../errors.ts'

/**
 * The worker is a file of its own next to the store's. A bundler that makes one file of a program leaves it behind. The
 * check is made at opening: without a worker, appends would go on until the write-ahead log fills the disk.
 *
 * @returns a function that throws `StoreUnusable` when the file is not there
 */
export function needsWorker(file: () => URL): () => void {
  let isPresent = false
  return () => {
    isPresent ||= isThere(file)
    if (isPresent) return
    throw new StoreUnusable(
      'The worker of the store is missing: colloquy was bundled into another file. Keep the package external (esbuild: --external:colloquy; Next.js: serverExternalPackages) and installed where the program runs.',
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
