/** Opens the index next to the store's file, and replaces one that cannot be used. */
import { accessSync, constants, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { StoreDamaged, StoreUnusable } from '../../../errors.ts'
import { openDatabase } from '../database.ts'
import { asStoreError } from '../errors.ts'
import type { WorkerSettings } from '../worker/protocol.ts'
import { SearchIndex } from './search-index.ts'
import { prepareSchema } from './search-tables.ts'

type IndexSettings = WorkerSettings & { busyTimeoutMs: number }

export function openSearchIndex(settings: IndexSettings): SearchIndex {
  if (!mayWriteIn(dirname(settings.path))) return connectElsewhere(settings)
  const path = `${settings.path}-search`
  try {
    return connect(path, settings)
  } catch (error) {
    // Damaged, or no database at all: it can be built again.
    if (!isDamaged(error)) throw error
    removeSearchIndex(settings.path)
    return connect(path, settings)
  }
}

/** Makes an index in the system's temporary folder, because the store's own cannot be written. Closing removes it. */
function connectElsewhere(settings: IndexSettings): SearchIndex {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-search-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    return connect(join(folder, 'index'), settings, remove)
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

/** The next index that is opened is built from the whole log. */
export function removeSearchIndex(logPath: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${logPath}-search${suffix}`, { force: true })
}

export function isDamaged(error: unknown): boolean {
  if (error instanceof StoreUnusable || error instanceof StoreDamaged) return true
  return asStoreError(error, '') instanceof StoreDamaged
}

function connect(path: string, settings: IndexSettings, onClose = () => {}): SearchIndex {
  // Entries that a power loss takes are read again from the log.
  const database = openDatabase({ path, durability: 'relaxed', busyTimeoutMs: settings.busyTimeoutMs })
  try {
    database.prepareToWrite()
    // Texts of hits are kept for a moment, and must not reach a file outside the store.
    database.exec('pragma wal_autocheckpoint = 4000; pragma temp_store = memory')
    prepareSchema(database, settings.epoch)
    // But for `meta`, the tables of the two files have different names, so queries of the log may omit its name.
    database.prepare('attach ? as log').run(logAddress(settings.path))
    return new SearchIndex(database, settings.path, onClose)
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Read-only, because `begin immediate` on the index would otherwise take the log's write lock too. In a folder that cannot
 * be written there is no room for shared memory, and no writer either: the file is read as it is.
 */
function logAddress(path: string): string {
  const hasWal = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  const isStill = !hasWal && !mayWriteIn(dirname(path))
  return `${pathToFileURL(path)}?${isStill ? 'immutable=1' : 'mode=ro'}`
}
