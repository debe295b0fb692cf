import { StoreClosed } from '../errors.ts'

/** A place for archive files: a folder, or a bucket. Files are written whole or not at all. */
export interface ArchivePlace {
  /** Writes `lines` to a new file called `name` and returns its address, for people and for `read`. */
  write(name: string, lines: AsyncIterable<string>): Promise<string>
  /** Removes the file at `address`, written for a purge that then did not happen. */
  remove(address: string): Promise<void>
  /** The lines of the file at `address`. */
  read(address: string): AsyncIterable<string>
}

/** The same place, in which a file that is being written can be broken off. One that is whole stays. */
export function breakable(place: ArchivePlace, signal: AbortSignal): ArchivePlace {
  async function* until(lines: AsyncIterable<string>) {
    for await (const line of lines) {
      signal.throwIfAborted()
      yield line
    }
  }
  return { ...place, write: (name, lines) => place.write(name, until(lines)) }
}

/**
 * Purges what was written to `archive`. If that fails, the file goes: no record names it, and a later erase could not tell
 * of it. In doubt it stays, because it may be all that is left.
 */
export async function purgedInto<T>(
  {
    to,
    archive,
    recorded,
  }: { to: ArchivePlace; archive: string; recorded: () => Promise<ReadonlyArray<{ archive: string }>> },
  purge: () => Promise<T>,
): Promise<T> {
  try {
    return await purge()
  } catch (error) {
    // A store that was closed meanwhile was not even asked.
    const known = error instanceof StoreClosed ? [] : await recorded().catch(() => undefined)
    if (known && !known.some(one => one.archive === archive)) await to.remove(archive).catch(() => undefined)
    throw error
  }
}
