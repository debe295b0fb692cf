/**
 * Rescues the rows of a damaged file that SQLite still gives into a new file. The damaged file is only read.
 *
 * A conversation that lost rows keeps the others, and `verify` on the new file names the gaps. A file of which SQLite
 * cannot read the list of tables is refused.
 */
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { StoreUnusable } from '../../../errors.ts'
import { repair } from '../../../log/upkeep/repair.ts'
import { makeFolder } from '../../common/make-folder.ts'
import { type Database, openDatabase } from '../database.ts'
import { asStoreError, isBroken, sqliteCode } from '../errors.ts'
import { makeSchema } from '../open-schema.ts'
import { rescueTables } from './rescued-tables.ts'
import { rowStore } from './row-store.ts'
import { changedTables } from './table-definitions.ts'

export interface Salvaged {
  conversations: number
  events: number
  /** Descriptions of what could not be rescued. */
  losses: string[]
}

/**
 * Writes what can be read of the store at `from` to the new file `to`.
 *
 * @throws {StoreUnusable} when SQLite cannot read which tables the file has, or it has none of a store, or `to` exists
 */
export async function salvage(from: string, to: string): Promise<Salvaged> {
  refuseExisting(to)
  const source = openDamaged(from)
  try {
    const unreadable = tablesToSkip(source)
    // The file gets its name when it is whole: half of it would pass for a store.
    const folder = draftFolder(to)
    try {
      const draft = join(folder, 'new.db')
      const salvaged = await writeDraft(source, draft, unreadable)
      // Another process may have made it meanwhile.
      refuseExisting(to)
      renameSync(draft, to)
      removeKilledDrafts(to)
      return salvaged
    } catch (error) {
      throw asStoreError(error, to)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  } finally {
    close(source)
  }
}

async function writeDraft(source: Database, path: string, unreadable: readonly string[]): Promise<Salvaged> {
  const target = openDatabase({ path, durability: 'full' })
  try {
    makeSchema(target)
    const losses = rescueTables(source, target, unreadable)
    await repairHeads(path)
    const count = target.prepare('select (select count(*) from conversations), (select count(*) from events)')
    const [conversations, events] = count.get() as [number, number]
    // A write-ahead log would keep the name of the draft.
    target.exec('pragma wal_checkpoint(truncate)')
    return { conversations, events, losses }
  } finally {
    close(target)
  }
}

async function repairHeads(path: string): Promise<void> {
  const rows = rowStore({ path, durability: 'full', epoch: '', busyTimeoutMs: 1000, reindex: async () => 0 })
  try {
    await repair(rows, {})
  } finally {
    rows.close()
  }
}

/** @throws {StoreUnusable} when the file, or what it says of its tables, cannot be read */
function openDamaged(from: string): Database {
  try {
    return openDatabase({ path: from, durability: 'full', readOnly: true, cutOff: true })
  } catch (error) {
    if (isBroken(error)) throw beyondReading(from, error)
    throw error
  }
}

function beyondReading(from: string, cause: unknown): StoreUnusable {
  return new StoreUnusable(
    `${from} is not a Colloquy store, or its first page or its list of tables is damaged. Nothing was written. Put back a backup, or try 'sqlite3 ${from} .recover'.`,
    { path: from },
    { cause },
  )
}

/** The tables whose definition was damaged. Without conversations and events there is nothing to rescue. */
function tablesToSkip(source: Database): string[] {
  try {
    // One state of the file, if it is still in use.
    source.exec('begin')
    const changed = changedTables(source)
    if (!changed.includes('events') && !changed.includes('conversations')) return changed
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error
  }
  throw beyondReading(source.path, undefined)
}

function refuseExisting(to: string): void {
  if (existsSync(to)) throw new StoreUnusable(`${to} exists already; salvage writes a new file.`, { path: to })
  const wal = `${to}-wal`
  if ((statSync(wal, { throwIfNoEntry: false })?.size ?? 0) === 0) return
  // SQLite would read it as the log of the new file.
  throw new StoreUnusable(
    `${wal} is the write-ahead log of an earlier file of this name. Nothing was written; move it away, or name another file.`,
    { path: to },
  )
}

const folderMark = '-salvage-'

/** A folder on the same disk as the new file. */
function draftFolder(to: string): string {
  try {
    makeFolder(dirname(to))
    return mkdtempSync(`${to}${folderMark}`)
  } catch (error) {
    throw asStoreError(error, to)
  }
}

/** Removes the folders of earlier salvages of this file that were killed: each is as large as the store. */
function removeKilledDrafts(to: string): void {
  const folder = dirname(resolve(to))
  const prefix = `${basename(to)}${folderMark}`
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const isDraft =
        entry.isDirectory() && entry.name.startsWith(prefix) && /^\w{6}$/.test(entry.name.slice(prefix.length))
      if (isDraft && readdirSync(join(folder, entry.name)).every(name => name.startsWith('new.db'))) {
        rmSync(join(folder, entry.name), { recursive: true, force: true })
      }
    }
  } catch {
    // The new file is there; a folder that stays is no failure.
  }
}

function close(database: Database): void {
  try {
    database.close()
  } catch {
    // An earlier error says more.
  }
}
