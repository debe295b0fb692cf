/** Where the index stands, and what becomes of one that cannot be used. */
import { accessSync, constants, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { StoreDamaged, StoreUnusable } from '../../../errors.ts'
import { openDatabase } from '../database.ts'
import { asStoreError } from '../errors.ts'
import type { WorkerSettings } from '../worker/protocol.ts'
import { type SearchIndex, searchIndex } from './search-index.ts'
import { prepareSchema } from './search-tables.ts'

export function openSearchIndex(settings: WorkerSettings & { busyTimeoutMs: number }): SearchIndex {
  if (!mayWriteIn(dirname(settings.path))) return connectElsewhere(settings)
  const path = `${settings.path}-search`
  try {
    return connect(path, settings)
  } catch (error) {
    // Damaged or no database at all: it is only an index.
    if (!isDamaged(error)) throw error
    removeSearchIndex(settings.path)
    return connect(path, settings)
  }
}

/** In a folder that cannot be written: an index for as long as it is open, in the system's temporary folder. */
function connectElsewhere(settings: WorkerSettings & { busyTimeoutMs: number }): SearchIndex {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-search-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const index = connect(join(folder, 'index'), settings)
    return {
      ...index,
      close() {
        index.close()
        remove()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

function mayWriteIn(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** The log is asked for everything again when it is next opened. */
export function removeSearchIndex(logPath: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${logPath}-search${suffix}`, { force: true })
}

export function isDamaged(error: unknown): boolean {
  if (error instanceof StoreUnusable || error instanceof StoreDamaged) return true
  return asStoreError(error, '') instanceof StoreDamaged
}

function connect(path: string, settings: WorkerSettings & { busyTimeoutMs: number }): SearchIndex {
  // What a power loss takes from the index is read again from the log.
  const database = openDatabase({ path, durability: 'relaxed', busyTimeoutMs: settings.busyTimeoutMs })
  try {
    database.prepareToWrite()
    // Texts that a search shows are kept for a moment: in no file outside the store.
    database.exec('pragma wal_autocheckpoint = 4000; pragma temp_store = memory')
    prepareSchema(database, settings.epoch)
    // The tables of the two files have different names, but for `meta`: what is asked of the log may leave its name out.
    database.prepare('attach ? as log').run(logAddress(settings.path))
    return searchIndex(database, settings.path)
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Read-only, because `begin immediate` on the index would otherwise take the log's write lock too. Where the shared memory
 * of a write-ahead log has no room, nobody writes, and the file is read as it is.
 */
function logAddress(path: string): string {
  const hasWal = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  const isStill = !hasWal && !mayWriteIn(dirname(path))
  return `${pathToFileURL(path)}?${isStill ? 'immutable=1' : 'mode=ro'}`
}
