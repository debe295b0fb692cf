/** Archive files in a folder. */
import { createWriteStream } from 'node:fs'
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ColloquyError, NotFound, StoreFailed, StoreFull } from '../../errors.ts'
import type { ArchivePlace } from '../../log/archive-place.ts'
import { isDiskFull } from '../common/disk-full.ts'
import { makeFolder } from '../common/make-folder.ts'
import { linesOf, packed, unpacked } from './lines.ts'
import { archiveEnding, fileNameOf } from './name.ts'

const draftSuffix = '.part'
const draftEnding = `${archiveEnding}${draftSuffix}`

export function folderArchives(folder: string): ArchivePlace {
  return {
    /** Writes under another name, syncs, then renames: a file with its final name is whole. */
    async write(name, lines) {
      const path = resolve(join(folder, fileNameOf(name)))
      const draft = `${path}${draftSuffix}`
      try {
        makeFolder(resolve(folder))
        await removeAbandonedDrafts(folder)
        await pipeline(packed(lines), createWriteStream(draft, { flags: 'wx', flush: true }))
        await rename(draft, path)
        await syncFolder(folder)
      } catch (error) {
        await rm(draft, { force: true }).catch(() => undefined)
        // The source of the lines failed, not the file.
        if (error instanceof ColloquyError) throw error
        if (isDiskFull(error)) {
          const message = `The archive ${path} was not written: the disk is full. Nothing was purged; free some room and try again.`
          throw new StoreFull(message, { path }, { cause: error })
        }
        const message = error instanceof Error ? error.message : String(error)
        throw new StoreFailed(
          `The archive ${path} could not be written (${message}). Nothing was purged.`,
          { path },
          { cause: error },
        )
      }
      return path
    },

    remove: address => rm(address, { force: true }),

    async *read(address) {
      try {
        const file = await open(address, 'r')
        yield* linesOf((await isPacked(file)) ? unpacked(file.createReadStream()) : file.createReadStream())
      } catch (error) {
        if (error instanceof ColloquyError) throw error
        const code = error instanceof Error && 'code' in error ? error.code : undefined
        if (code === 'ENOENT') throw new NotFound('archive', address)
        const message = error instanceof Error ? error.message : String(error)
        throw new StoreFailed(
          `The archive ${address} cannot be read (${message}). Nothing was restored.`,
          { address },
          { cause: error },
        )
      }
    },
  }
}

/** The draft of a purge that was killed: no write for this long. */
const abandonedAfterMs = 60 * 60_000

/** Removes drafts of killed processes. Their content is in the store, and would stay here after it is erased there. */
async function removeAbandonedDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.endsWith(draftEnding)) continue
    const path = join(folder, name)
    // Another process may remove it, or finish it, at this moment.
    const status = await stat(path).catch(() => undefined)
    if (status && Date.now() - status.mtimeMs > abandonedAfterMs) await rm(path, { force: true })
  }
}

/** True for a gzip file, which starts with 1f 8b. An export may be plain JSON lines. */
async function isPacked(file: FileHandle): Promise<boolean> {
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0)
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Makes the new name survive a power loss, where the system can sync folders. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}
