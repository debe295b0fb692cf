/** Which store is meant, and that it is there: looking for something must not create a store. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { defaultStore, projectRoot } from '../../app/configuration/project-root.ts'
import { StoreUnusable } from '../../errors.ts'

interface StorePlace {
  url: string
  /** The file, for stores that are one. */
  file: string | undefined
}

/** @throws {StoreUnusable} when there is no store, unless one may be made */
export function storePlace(
  url = defaultStore(projectRoot()),
  { mayMake = false }: { mayMake?: boolean } = {},
): StorePlace {
  if (url === 'sqlite::memory:') {
    throw new StoreUnusable(
      'A store in memory is empty whenever it is opened. Name one that is a file: --store sqlite:PATH.',
    )
  }
  // openColloquy refuses other URLs.
  if (!url.startsWith('sqlite:') || url === 'sqlite:') return { url, file: undefined }
  const file = resolve(url.slice('sqlite:'.length))
  if (!mayMake && isEmpty(file)) {
    throw new StoreUnusable(`${file} is empty: there is no store in it yet.`, { path: file })
  }
  if (!mayMake && !isThere(file)) {
    throw new StoreUnusable(
      `There is no store at ${file}. Go to the folder of its project, or name one with --store sqlite:PATH. 'colloquy chat', 'colloquy feature add' and openColloquy make a new one.`,
      { path: file },
    )
  }
  return { url, file }
}

/** A file with a write-ahead log was a store, and opening it reports its damage. */
function isEmpty(file: string): boolean {
  const sizeOf = (path: string) => {
    const found = statSync(path, { throwIfNoEntry: false })
    return found?.isFile() ? found.size : undefined
  }
  try {
    return sizeOf(file) === 0 && !sizeOf(`${file}-wal`)
  } catch {
    return false
  }
}

/** Also what we may not look at: opening it says why, and there is something. */
export function isThere(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}
